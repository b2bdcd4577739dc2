"""The container of the guide "Deploying", step by step, without a container.

The commands of its Dockerfile run in a folder, as the users that it names. Packages are
linked from the environment of the tests instead of installed, and then the disk is
read-only.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import numpy as np
import pytest

import sk_metaembed
from sk_metaembed import load

from .processes import restricted, shared_folder
from .test_without_torch import GUIDE, distributions_of

pytestmark = pytest.mark.slow


def blocks(language):
    """Return the blocks of code of the guide."""
    pattern = rf"\.\. code-block:: {language}\n((?:\n|    .*\n)+)"
    return [textwrap.dedent(b) for b in re.findall(pattern, GUIDE.read_text("utf-8"))]


class Container:
    """Runs the instructions of a Dockerfile in a folder."""

    def __init__(self, folder, context):
        self.root, self.context = folder, context
        self.user, self.folder = "root", folder
        self.env = {"PATH": os.environ["PATH"]}
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        self.packages = next(folder.glob("venv/lib/*/site-packages"))

    def path(self, text):
        return self.root / text.lstrip("/")

    def run(self, instruction):
        name, _, rest = instruction.partition(" ")
        getattr(self, f"run_{name.lower()}")(rest)

    def run_from(self, image):
        assert image.startswith("python:3.")

    def run_run(self, commands):
        for command in re.split(r"&&", commands):
            words = shlex.split(command)
            if words[:2] == ["pip", "install"]:
                self.install([w for w in words[2:] if w[0] != "-"], words)
            else:
                assert words[0] == "python"
                self.call(self.python, *words[1:])

    def install(self, names, words):
        if "--no-deps" in words:
            assert names == ["sk_metaembed"]
            source = Path(sk_metaembed.__file__).parent
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, self.packages / source.name, ignore=ignore)
            return
        for package in distributions_of(names):
            for part in {file.parts[0] for file in package.files} - {"..", "bin"}:
                target = self.packages / part
                if part != "__pycache__" and not target.exists():
                    target.symlink_to(Path(package.locate_file(part)))

    def run_env(self, settings):
        values = dict(setting.split("=") for setting in settings.split())
        for name, value in values.items():
            is_path = value.startswith("/")
            self.env[name] = str(self.path(value)) if is_path else value

    def run_copy(self, names):
        *sources, target = names.split()
        self.path(target).mkdir(parents=True)
        for name in sources:
            shutil.copy(self.context / name, self.path(target))

    def run_workdir(self, folder):
        self.folder = self.path(folder)

    def run_user(self, name):
        self.user = name

    def run_cmd(self, command):
        assert json.loads(command)[0] == "python"

    def call(self, *command, prefix=()):
        done = subprocess.run(
            [*prefix, *command],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


SERVE = """
import json, sys, threading
from urllib.error import HTTPError
from urllib.request import urlopen
from wsgiref.simple_server import WSGIRequestHandler, make_server
from serve import application
class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass
server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
answers = []
for body in (b'["a fine plot", "a sad film"]', b'["a fine plot", 3]'):
    try:
        answers.append(json.load(urlopen(url, body)))
    except HTTPError as error:
        answers.append(json.load(error)["error"])
print(json.dumps(answers))
"""


def test_the_container_of_the_guide_serves(monkeypatch):
    if sys.platform != "linux":
        pytest.skip("the commands are those of Linux")
    with shared_folder() as folder:
        context, root = folder / "context", folder / "root"
        context.mkdir()
        root.mkdir()
        monkeypatch.chdir(context)
        make_model, serve, *_ = blocks("python")
        exec(make_model, {})
        (context / "serve.py").write_text(serve, "utf-8")
        container = Container(root, context)
        (dockerfile,) = blocks("docker")
        for instruction in dockerfile.replace("\\\n", "").strip().splitlines():
            container.run(instruction)
        assert container.user == "nobody"
        assert any(container.path("var/cache/model/bundles").iterdir())
        shutil.rmtree(context / "vectors.store")
        prefix = restricted(root, user=True, disk=True)
        shown = container.call(container.python, "-c", SERVE, prefix=prefix)
        predictions, message = json.loads(shown)
        texts = ["a fine plot", "a sad film"]
        expected = load(context / "model.skm").predict_proba(texts)
        np.testing.assert_allclose(predictions, expected, atol=1e-6)
        assert "row 1 is of type int: 3" in message
