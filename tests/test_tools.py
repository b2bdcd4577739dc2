"""The scripts in tools/: checks of a release, versions of docs, packages for a GPU."""

import importlib.metadata
import json
import re
import shutil
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest
from packaging.requirements import Requirement

sys.path.append(str(Path(__file__).parents[1] / "tools"))
import check_release as release
import docs_versions
import gpu_packages

ROOT = Path(__file__).resolve().parents[1]
TODAY = date(2027, 1, 31)
VERSION = release.find_version(ROOT)
needs_git = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="an sdist has no repository",
)


@pytest.mark.slow  # builds both
@needs_git
def test_the_wheel_and_the_sdist_of_this_tree(tmp_path):
    """Every file of the package is in the wheel, every other one in the sdist."""
    tracked = [n for n in release._git(ROOT, "ls-files") if (ROOT / n).exists()]
    wheel, sdist = release.build(ROOT, tracked, tmp_path)
    assert [*release.check_wheel(wheel, VERSION, tracked)] == []
    assert [*release.check_sdist(sdist, VERSION, tracked)] == []
    (found,) = release.check_wheel(wheel, VERSION, [*tracked, "sk_metaembed/lost.py"])
    assert found == "the wheel lacks 1 files, such as sk_metaembed/lost.py"
    (found,) = release.check_sdist(sdist, VERSION, tracked[:-1])
    assert found == f"the sdist also has 1 files, such as {tracked[-1]}"
    (found,) = release.check_wheel(wheel, "9.9.9", tracked)
    assert found == f"{wheel.name} is not the wheel of version 9.9.9"
    (found,) = release.check_sdist(sdist, "9.9.9", tracked)
    assert found == f"{sdist.name} is not the sdist of version 9.9.9"


def test_a_wheel_without_a_license(tmp_path):
    path = tmp_path / "w.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("sk_metaembed-1.0.0.dist-info/METADATA", "Name: sk_metaembed\n")
        wheel.writestr("sk_metaembed/__init__.py", "")
    found = [*release.check_wheel(path, "1.0.0", ["sk_metaembed/__init__.py"])]
    assert "LICENSE" in found[0]
    assert "Markdown" in found[1]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "## 1.0.0 (2027-01-31)\n\n## 0.10.0 (2026-12-01)\n## 0.9.0 (2025-01-01)\n",
            None,
        ),
        ("## 1.0.0 (unreleased)\n", r"1.0.0 has no date but \(unreleased\)"),
        ("## 0.9.0 (2026-12-01)\n", "first release .* is 0.9.0, not 1.0.0"),
        ("## 1.0.0 (2027-02-01)\n", "1.0.0 is dated 2027-02-01, after today"),
        ("## 1.0.0 (2027-01-01)\n## 1.2.0 (2027-01-01)\n", "are not in order"),
    ],
)
def test_changelog(text, match):
    found = "; ".join(release.check_changelog(text, "1.0.0", TODAY))
    assert re.search(match, found) if match else not found


README = "# Name\n\n![A plot](https://a.org/p.png) and [docs](https://a.org).\n"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (README, None),
        (README + "\n[a](#name) [b](mailto:a@b.org) `[c](d)`\n\n    [e](f)\n", None),
        (README.replace("https://a.org/p.png", "p.png"), "the link p.png is relative"),
        (README.replace("(https://a.org)", "(docs/a.rst)"), "link docs/a.rst is rel"),
        (README.replace("# Name", "Name"), "no heading"),
        (README + "```python\nx = 1\n", "a block of code is not closed"),
    ],
)
def test_readme(text, match):
    found = "; ".join(release.check_readme(text))
    assert (match in found) if match else not found


def test_links_of_the_readme_become_absolute():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    result = release.absolute_links(text, "https://a.org/b", "1.0.0")
    assert [*release.check_readme(result)] == []
    assert "](https://a.org/b/raw/v1.0.0/docs/images/demo.png)" in result
    assert "](https://a.org/b/blob/v1.0.0/docs/start.rst)" in result
    url = "https://skrub-data.org"
    assert result.count(url) == text.count(url)
    assert release.absolute_links(result, "https://other.org", "2.0.0") == result


GOOD = {
    **dict.fromkeys(("authors", "classifiers", "keywords"), ["x"]),
    "description": "x",
    "license": "x",
    "urls": dict.fromkeys(("Documentation", "Issues", "Repository"), "https://a.org"),
}


def test_metadata():
    assert [*release.check_metadata(GOOD)] == []
    assert [*release.check_metadata({**GOOD, "authors": []})] == [
        "pyproject.toml has no authors"
    ]
    urls = {**GOOD["urls"], "Issues": "https://example.org/a"}
    (found,) = release.check_metadata({**GOOD, "urls": urls})
    assert found == "the URL Issues is a placeholder: https://example.org/a"
    (found,) = release.check_metadata({**GOOD, "urls": {**urls, "Issues": "a.org"}})
    assert found == "pyproject.toml has no URL Issues"


def test_version(tmp_path):
    assert [*release.check_version(ROOT, VERSION)] == []
    (tmp_path / "CITATION.cff").write_text("a: b\nversion: 1.0.0\n", encoding="utf-8")
    (found,) = release.check_version(tmp_path, "1.0.0")
    assert "has no saved files: python -m tests.persistence.write_fixtures" in found
    found = [*release.check_version(tmp_path, "1.0.0.dev1")]
    assert "is not a version of a release" in found[0]
    assert "CITATION.cff has no line 'version: 1.0.0.dev1'" in found[1]


def test_index_leads_to_the_newest_release(tmp_path):
    site = tmp_path / "site"
    for version in ("0.9.0", "0.10.0", "1.0.0rc1", "0.9.0"):
        built = tmp_path / "html"
        built.mkdir(exist_ok=True)
        (built / "index.html").write_text(f"pages of {version}")
        docs_versions.add_version(built, site, "https://docs.org/here/", version)
    entries = json.loads((site / "versions.json").read_text())
    assert [entry["version"] for entry in entries] == ["1.0.0rc1", "0.10.0", "0.9.0"]
    assert [entry["preferred"] for entry in entries] == [False, True, False]
    assert entries[1]["url"] == "https://docs.org/here/0.10.0/"
    for entry in entries:
        page = (site / entry["version"] / "index.html").read_text()
        assert page == f"pages of {entry['version']}"
    assert 'url=0.10.0/"' in (site / "index.html").read_text()


@pytest.mark.parametrize("optional", [False, True])
def test_each_missing_package_is_one_word(optional, monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(gpu_packages, "version", version)
    listed = gpu_packages.packages(optional)
    assert len(listed) >= 5
    for package in listed:
        assert not set(package) & set(" ;[]")
        assert Requirement(package).specifier


def test_installed_packages_and_those_of_other_pythons_are_left_out(monkeypatch):
    assert gpu_packages.packages(False) == []
    assert not gpu_packages.is_missing("absent>=1; python_version < '3'")
    assert gpu_packages.is_missing("absent>=1")
