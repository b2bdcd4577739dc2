"""Check that a checkout can be released; "Releasing" in CONTRIBUTING.md has the steps.

    python tools/check_release.py                # before the tag: builds and checks
    python tools/check_release.py --tag          # also the tag on HEAD
    python tools/check_release.py --write-links  # make the links of README.md absolute

The wheel and the sdist are built without network from the tracked files, by the
installed setuptools. The exit status is the number of failed checks.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from datetime import date
from email.parser import Parser
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "sk_metaembed"
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
RELEASED = re.compile(r"^## (\S+) \((.*)\)$", re.MULTILINE)
# Tracked, and of no use outside the repository.
REPOSITORY_ONLY = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml")
ABSOLUTE = ("https://", "http://", "mailto:", "#")


def find_version(root):
    """Return the version of the package, without importing it."""
    text = (root / PACKAGE / "_version.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)[1]


def check_version(root, version):
    """Yield problems of the version and of the files that repeat it."""
    if not VERSION.fullmatch(version):
        yield f"{version!r} is not a version of a release such as 1.0.0 or 1.0.0rc1"
    cited = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in cited:
        yield f"CITATION.cff has no line 'version: {version}'"
    saved = root / "tests" / "persistence" / "data" / version
    if not any(saved.glob("*.skm")):
        yield f"{saved} has no saved files: python -m tests.persistence.write_fixtures"


def check_changelog(text, version, today):
    """Yield problems of the changelog's headings, of which the first is the release."""
    headings = RELEASED.findall(text)
    if not headings or headings[0][0] != version:
        first = headings[0][0] if headings else "nothing"
        yield f"the first release of CHANGELOG.md is {first}, not {version}"
    for name, day in headings:
        try:
            late = date.fromisoformat(day) > today
        except ValueError:
            yield f"{name} has no date but ({day}): write ({today})"
        else:
            if late:
                yield f"{name} is dated {day}, after today"
    numbers = [tuple(map(int, re.findall(r"\d+", name)[:3])) for name, _ in headings]
    if numbers != sorted(set(numbers), reverse=True):
        yield "the releases of CHANGELOG.md are not in order, newest first"


def check_metadata(project):
    """Yield problems of the table [project] of pyproject.toml."""
    for name in ("authors", "classifiers", "description", "keywords", "license"):
        if not project.get(name):
            yield f"pyproject.toml has no {name}"
    urls = project.get("urls", {})
    for name in ("Documentation", "Issues", "Repository"):
        if not urls.get(name, "").startswith("https://"):
            yield f"pyproject.toml has no URL {name}"
    for name, url in urls.items():
        if "example.org" in url:
            yield f"the URL {name} is a placeholder: {url}"


def check_readme(text):
    """Yield problems of a README that an index of packages shows."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    if not any(token.type == "heading_open" and token.tag == "h1" for token in tokens):
        yield "README.md has no heading"
    if any(token.type in ("html_block", "html_inline") for token in [*tokens, *inline]):
        yield "README.md has HTML, which an index may not show"
    for token in inline:
        place = token.attrGet("src" if token.type == "image" else "href")
        if place and not str(place).startswith(ABSOLUTE):
            yield f"the link {place} is relative: --write-links makes it absolute"
        if token.type == "image" and not token.content:
            yield f"the image {place} has no text in its place"
        if token.type == "text" and "](" in token.content:
            yield f"a link is not closed: {token.content}"
    fences = [token for token in tokens if token.type == "fence"]
    if len(re.findall(r"^ *```", text, re.MULTILINE)) != 2 * len(fences):
        yield "a block of code is not closed"


def absolute_links(text, repository, version):
    """Return a README whose relative links lead to the tag of a version."""

    def absolute(match):
        place = match["place"]
        if place.startswith(ABSOLUTE):
            return match[0]
        kind = "raw" if match["image"] else "blob"
        return f"{match['start']}{repository}/{kind}/v{version}/{place})"

    link = r"(?P<start>(?P<image>!)?\[[^\]]*\]\()(?P<place>[^)\s]+)\)"
    return re.sub(link, absolute, text)


def check_wheel(path, version, tracked):
    """Yield problems of a wheel; `tracked` are the files of the repository."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        info = f"{PACKAGE}-{version}.dist-info"
        if f"{info}/METADATA" not in names:
            yield f"{path.name} is not the wheel of version {version}"
            return
        metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    package = {name for name in names if not name.startswith(f"{info}/")}
    expected = {name for name in tracked if name.startswith(f"{PACKAGE}/")}
    yield from _differences("the wheel", package, expected)
    if f"{info}/licenses/LICENSE" not in names:
        yield "the wheel has no LICENSE"
    if metadata["Description-Content-Type"] != "text/markdown":
        yield "the wheel does not say that README.md is Markdown"


def check_sdist(path, version, tracked):
    """Yield problems of an sdist, which has what the tests and the docs need."""
    with tarfile.open(path) as sdist:
        files = [member.name for member in sdist.getmembers() if member.isfile()]
    inside = {name.partition("/")[2] for name in files}
    expected = {name for name in tracked if not name.startswith(REPOSITORY_ONLY)}
    built = {name for name in inside if f"{PACKAGE}.egg-info/" in name}
    yield from _differences(
        "the sdist", inside - built - {"PKG-INFO", "setup.cfg"}, expected
    )
    if {name.partition("/")[0] for name in files} != {f"{PACKAGE}-{version}"}:
        yield f"{path.name} is not the sdist of version {version}"


def _differences(what, present, expected):
    for verb, names in (
        ("lacks", expected - present),
        ("also has", present - expected),
    ):
        if names:
            first = sorted(names)[:3]
            yield f"{what} {verb} {len(names)} files, such as {', '.join(first)}"


def check_tag(root, version):
    """Yield problems of the tag of HEAD and of the working tree."""
    tags = _git(root, "tag", "--points-at", "HEAD")
    if f"v{version}" not in tags:
        yield f"HEAD has no tag v{version}, but {tags or 'none'}: git tag v{version}"
    changed = _git(root, "status", "--porcelain")
    if changed:
        yield f"{len(changed)} files are not committed, such as {changed[0]}"


def _git(root, *arguments):
    run = ["git", "-C", str(root), *arguments]
    return subprocess.run(
        run, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def build(root, tracked, folder):
    """Build in a copy of the tracked files; return the paths of the wheel and sdist."""
    copy = folder / "source"
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy / name)
    code = (
        "from setuptools import build_meta\n"
        "build_meta.build_sdist('../dist')\nbuild_meta.build_wheel('../dist')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copy, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stderr[-2000:]}")
    dist = folder / "dist"
    return next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))


def problems(root, tag, today):
    """Yield the name and the problems of each check."""
    version = find_version(root)
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    tracked = [name for name in _git(root, "ls-files") if (root / name).exists()]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "version", [*check_version(root, version)]
    yield "changelog", [*check_changelog(changelog, version, today)]
    yield "metadata", [*check_metadata(project)]
    yield "README", [*check_readme((root / "README.md").read_text(encoding="utf-8"))]
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = build(root, tracked, Path(folder))
        yield "wheel", [*check_wheel(wheel, version, tracked)]
        yield "sdist", [*check_sdist(sdist, version, tracked)]
    if tag:
        yield "tag", [*check_tag(root, version)]


def main(arguments=None, root=ROOT):
    """Print the checks and return the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tag", action="store_true", help="also check the tag of HEAD")
    parser.add_argument("--write-links", action="store_true", help="rewrite README.md")
    options = parser.parse_args(arguments)
    if options.write_links:
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        file, repository = root / "README.md", project["urls"]["Repository"]
        text = file.read_text(encoding="utf-8")
        text = absolute_links(text, repository, find_version(root))
        file.write_text(text, encoding="utf-8")
        return 0
    failed = 0
    for name, found in problems(root, options.tag, date.today()):
        failed += bool(found)
        print(f"{name}: {'; '.join(found) or 'ok'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
