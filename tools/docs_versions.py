"""Add the built documentation to a site that has one folder per version.

    make docs DOCS_URL=https://docs.org/sk_metaembed  # the address of the site
    python tools/docs_versions.py SITE --url https://docs.org/sk_metaembed

writes SITE/<version>, SITE/versions.json, which the menu of versions on each page
reads, and SITE/index.html, which leads to the newest release. Upload SITE as a whole;
pages of earlier versions remain as they are.
"""

import argparse
import json
import shutil
from pathlib import Path

from check_release import ROOT, find_version
from packaging.version import InvalidVersion, Version

BUILT = ROOT / "docs" / "_build" / "html"
INDEX = """<!DOCTYPE html>
<meta charset="utf-8">
<title>sk_metaembed</title>
<meta http-equiv="refresh" content="0; url={0}/">
<a href="{0}/">sk_metaembed {0}</a>
"""


def find_versions(site):
    """Return the versions that a site has, newest first."""
    found = []
    for path in Path(site).iterdir():
        try:
            found.append(Version(path.name))
        except InvalidVersion:
            continue
    return sorted(found, reverse=True)


def add_version(built, site, url, version):
    """Copy built pages to the folder of a version, and update the list of versions."""
    site = Path(site)
    folder = site / version
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(built, folder)
    versions = find_versions(site)
    newest = next((v for v in versions if not v.is_prerelease), versions[0])
    entries = [
        {
            "name": f"{each} (stable)" if each == newest else str(each),
            "version": str(each),
            "url": f"{url.rstrip('/')}/{each}/",
            "preferred": each == newest,
        }
        for each in versions
    ]
    text = json.dumps(entries, indent=2) + "\n"
    (site / "versions.json").write_text(text, encoding="utf-8")
    (site / "index.html").write_text(INDEX.format(newest), encoding="utf-8")


def main():
    """Add the pages of this checkout."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--url", required=True, help="address of the site")
    arguments = parser.parse_args()
    if not (BUILT / "index.html").exists():
        parser.error(f"{BUILT} has no pages: make docs DOCS_URL={arguments.url}")
    add_version(BUILT, arguments.site, arguments.url, find_version(ROOT))


if __name__ == "__main__":
    main()
