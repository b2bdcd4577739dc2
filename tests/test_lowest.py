"""Lower bounds in pyproject.toml are the versions in lowest.txt, which are tested."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LINES = (ROOT / "lowest.txt").read_text().splitlines()
LOWEST = dict(line.split("==") for line in LINES if not line.startswith("#"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"docs", "examples", "nightly", "test"}
USERS = {name: EXTRAS[name] for name in EXTRAS.keys() - OURS}
BOUNDS = {
    requirement.name: str(requirement.specifier).removeprefix(">=")
    for line in [*PROJECT["dependencies"], *sum(USERS.values(), [])]
    if (requirement := Requirement(line)).specifier
}


def test_tested_versions_are_lower_bounds():
    # skrub is needed by tests and examples only.
    for name in LOWEST.keys() - {"distributed", "pyparsing", "skrub", "torch"}:
        bound, tested = BOUNDS[name], Version(LOWEST[name])
        assert tested.release[: len(bound.split("."))] == Version(bound).release, name
    recipe = (ROOT / "Makefile").read_text()
    assert f"transformers=={BOUNDS['transformers']}." in recipe


def test_every_dependency_is_tested():
    names = {re.split(r"[>=\[ ]", line)[0] for line in PROJECT["dependencies"]}
    assert names <= LOWEST.keys()
