"""Print the packages of pyproject.toml that ``make gpu`` has to install, one per line.

Those that this interpreter has are left out: pip would check the requirements of each,
and a torch that works may lack one that it names.

``--link FOLDER`` makes the packages of this interpreter importable in a virtual
environment, also where this interpreter is itself that of an environment.

Run: python tools/gpu_packages.py [--optional] [--link FOLDER]
"""

import argparse
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# Tests that need another one are skipped.
OPTIONAL = ("transformers", "elmo", "subwords")
PATHS = "import sysconfig; print(sysconfig.get_path('purelib'))"


def is_missing(package):
    """Return whether this interpreter needs a package, and no version suffices."""
    needed = Requirement(package)
    if needed.marker and not needed.marker.evaluate():
        return False
    try:
        return not needed.specifier.contains(version(needed.name), prereleases=True)
    except PackageNotFoundError:
        return True


def without_marker(package):
    """Return a requirement as one word, which a shell can pass to pip."""
    needed = Requirement(package)
    return f"{needed.name}{needed.specifier}"


def packages(optional):
    """Return missing requirements, without those on extras of this package."""
    with open(ROOT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)["project"]
    extras = project["optional-dependencies"]
    chosen = project["dependencies"]
    chosen = [*chosen, *(p for p in extras["test"] if p.startswith("pytest>"))]
    if optional:
        named = (package for extra in OPTIONAL for package in extras[extra])
        # Weights with attention_weights need pandas.
        pandas = (p for p in extras["frames"] if p.startswith("pandas"))
        chosen = list(dict.fromkeys([*named, *pandas]))
    own = project["name"]
    chosen = [package for package in chosen if not package.startswith(own)]
    return [without_marker(package) for package in chosen if is_missing(package)]


def link(folder):
    """Add the packages of this interpreter to a virtual environment."""
    python = Path(folder, "bin", "python")
    found = subprocess.run([python, "-c", PATHS], check=True, capture_output=True)
    inner = Path(found.stdout.decode().strip())
    outer = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    lines = sorted(path for path in outer if Path(path) != inner)
    (inner / "outer_packages.pth").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--optional", action="store_true")
    parser.add_argument("--link", metavar="FOLDER")
    args = parser.parse_args()
    if args.link:
        return link(args.link)
    print("\n".join(packages(args.optional)))


if __name__ == "__main__":
    sys.exit(main())
