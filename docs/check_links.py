"""Check the internal links of the built site and list the external ones.

    python docs/check_links.py docs/_build/html

The exit status is 1 if a link is broken or no link exists. The network is not used.
"""

import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"')
ELSEWHERE = ("http:", "https:", "mailto:", "data:", "javascript:")


@cache
def text(page):
    """Return a page's HTML."""
    return page.read_text("utf-8", errors="replace")


@cache
def anchors(page):
    """Return the ids of a page."""
    return set(re.findall(r'\bid="([^"]+)"', text(page)))


def resolves(page, link):
    """Return whether the file of a link exists and has its anchor."""
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".html" or unquote(anchor) in anchors(target)


def main(root):
    """Check all pages in a folder; return the number of broken links or a message."""
    pages = [
        p for p in Path(root).resolve().rglob("*.html") if "_static" not in p.parts
    ]
    links = [
        (page, unescape(link)) for page in pages for link in LINK.findall(text(page))
    ]
    out = sorted({link for _, link in links if link.startswith(ELSEWHERE)})
    inside = [(p, link) for p, link in links if not link.startswith(ELSEWHERE)]
    broken = [(p, link) for p, link in inside if not resolves(p, link)]
    for page, link in broken:
        sys.stdout.write(f"{page.relative_to(Path(root).resolve())}: {link}\n")
    sys.stdout.write(f"{len(inside)} links, {len(broken)} broken. External links:\n")
    sys.stdout.writelines(f"  {link}\n" for link in out)
    return len(broken) if inside else "No page found: the build did not finish."


if __name__ == "__main__":
    problems = main(sys.argv[1])
    sys.exit(problems if isinstance(problems, str) else bool(problems))
