"""Look at HTML in a real browser, if there is one, without a window or a network."""

import json
import os
import re
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

_PAGE = """{html}<script>
const found = (() => {{ {script} }})();
const pre = document.createElement('pre');
pre.id = 'found';
pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
document.body.append(pre);
</script>"""


def find_browser():
    """Return the path of a browser that runs without a window, or None.

    The variable SK_METAEMBED_BROWSER names one that is not on the path.
    """
    named = os.environ.get("SK_METAEMBED_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def measure(browser, html, script, folder, *, width=1000, height=700):
    """Open a page, run a script in it that returns something, and return that."""
    import base64

    path = folder / "page.html"
    path.write_text(_PAGE.format(html=html, script=script), encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},{height}",
        "--dump-dom",
        path.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, timeout=120, check=True)
    result = re.search(rb'<pre id="found">(.*?)</pre>', run.stdout, flags=re.DOTALL)
    assert result, run.stdout[-2000:]
    return json.loads(base64.b64decode(result[1]))
