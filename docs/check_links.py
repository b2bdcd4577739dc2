"""Follow every link of the built site within itself, and list those that lead out.

    python docs/check_links.py docs/_build/html

Ends with 1 if a link leads nowhere, or there is none. The network is not asked.
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
    """Return the ids that a page has."""
    return set(re.findall(r'\bid="([^"]+)"', text(page)))


def leads_somewhere(page, link):
    """Return whether a link's file is there, and has its anchor."""
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".html" or unquote(anchor) in anchors(target)


def main(root):
    """Check all pages below a folder; return how many links are broken, or why none."""
    pages = [
        p for p in Path(root).resolve().rglob("*.html") if "_static" not in p.parts
    ]
    links = [
        (page, unescape(link)) for page in pages for link in LINK.findall(text(page))
    ]
    out = sorted({link for _, link in links if link.startswith(ELSEWHERE)})
    inside = [(p, link) for p, link in links if not link.startswith(ELSEWHERE)]
    broken = [(p, link) for p, link in inside if not leads_somewhere(p, link)]
    for page, link in broken:
        sys.stdout.write(f"{page.relative_to(Path(root).resolve())}: {link}\n")
    sys.stdout.write(f"{len(inside)} links, {len(broken)} broken. Leading out:\n")
    sys.stdout.writelines(f"  {link}\n" for link in out)
    return len(broken) if inside else "There is no page: the build ended early."


if __name__ == "__main__":
    found = main(sys.argv[1])
    sys.exit(found if isinstance(found, str) else bool(found))
