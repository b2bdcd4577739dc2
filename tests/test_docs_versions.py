"""The site with one folder per version that tools/docs_versions.py writes."""

import json
import sys

import pytest

from tests.test_check_release import ROOT

URL = "https://docs.org/here/"


@pytest.fixture
def add_version(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from docs_versions import add_version

    yield add_version
    sys.modules.pop("docs_versions", None)


def test_index_leads_to_the_newest_release(tmp_path, add_version):
    site = tmp_path / "site"
    for version in ("0.9.0", "0.10.0", "1.0.0rc1", "0.9.0"):
        built = tmp_path / "html"
        built.mkdir(exist_ok=True)
        (built / "index.html").write_text(f"pages of {version}")
        add_version(built, site, URL, version)
    entries = json.loads((site / "versions.json").read_text())
    assert [entry["version"] for entry in entries] == ["1.0.0rc1", "0.10.0", "0.9.0"]
    assert [entry["preferred"] for entry in entries] == [False, True, False]
    assert entries[1]["url"] == "https://docs.org/here/0.10.0/"
    for entry in entries:
        page = (site / entry["version"] / "index.html").read_text()
        assert page == f"pages of {entry['version']}"
    assert 'url=0.10.0/"' in (site / "index.html").read_text()
