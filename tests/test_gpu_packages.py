"""The list of packages that `make gpu` installs is one that a shell can pass to pip."""

import importlib.metadata
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

sys.path.append(str(Path(__file__).parents[1] / "tools"))
import gpu_packages


@pytest.fixture
def bare_machine(monkeypatch):
    """Hide all installed packages."""

    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(gpu_packages, "version", version)


@pytest.mark.parametrize("optional", [False, True])
def test_each_missing_package_is_one_word(bare_machine, optional):
    listed = gpu_packages.packages(optional)
    assert len(listed) >= 5
    for package in listed:
        assert not set(package) & set(" ;[]")
        assert Requirement(package).specifier


def test_installed_packages_and_those_of_other_pythons_are_left_out(monkeypatch):
    assert gpu_packages.packages(False) == []
    assert not gpu_packages.is_missing("absent>=1; python_version < '3'")
    assert gpu_packages.is_missing("absent>=1")
