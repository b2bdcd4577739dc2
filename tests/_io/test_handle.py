"""Handle: opened once, passed by reference, and not reopened if files changed."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from sk_metaembed._io._handle import Handle, file_states, shared


class TextSpec(NamedTuple):
    path: str
    upper: bool = False


class Text(Handle, keep=1):
    """The text of a file; `opened` counts the times that a file was read."""

    _kind, _Spec, opened = "text", TextSpec, 0

    def __init__(self, spec, path):
        Text.opened += 1
        self._spec = spec
        with open(path, encoding="utf-8") as file:
            self.fingerprint = file.read().upper() if spec.upper else file.read()

    @classmethod
    def _find(cls, spec, local):
        path = os.path.abspath(spec.path)
        return spec._replace(path=path), file_states([path]), path

    def _files(self):
        return {"text.txt": self._spec.path}

    @classmethod
    def _unpacked(cls, spec, folder):
        return spec._replace(path=os.path.join(folder, "text.txt"))


@pytest.fixture
def file(tmp_path):
    Text._handles.clear()
    (tmp_path / "text.txt").write_text("tea", "utf-8")
    return tmp_path / "text.txt"


def test_equal_specs_share_a_handle_until_the_file_changes(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    first = shared(Text, TextSpec("text.txt"))
    n_opened = Text.opened
    assert shared(Text, TextSpec(str(file))) is first
    assert shared(Text, TextSpec(str(file), upper=True)).fingerprint == "TEA"
    assert Text.opened == n_opened + 1
    file.write_text("milk", "utf-8")
    assert shared(Text, TextSpec("text.txt")).fingerprint == "milk"
    assert first.fingerprint == "tea"


def test_copies_and_pickles_are_the_handle(file):
    handle = shared(Text, TextSpec(str(file)))
    assert copy.copy(handle) is copy.deepcopy([handle])[0] is handle
    data = pickle.dumps(handle)
    assert pickle.loads(data) is handle
    file.write_text("milk", "utf-8")
    with pytest.raises(
        ValueError, match="saved text had fingerprint tea, .* have milk"
    ):
        pickle.loads(data)


def test_a_saved_file_refers_to_the_files_or_includes_them(file, tmp_path):
    content = shared(Text, TextSpec(str(file), upper=True))._reference()
    assert content == {"path": str(file), "upper": True, "fingerprint": "TEA"}
    assert Text._from_reference(content) is shared(Text, TextSpec(str(file), True))
    (tmp_path / "bundle").mkdir()
    file.rename(tmp_path / "bundle" / "text.txt")
    again = Text._from_reference({**content, "bundled": "x"}, tmp_path / "bundle")
    assert again.fingerprint == "TEA"
    with pytest.raises(FileNotFoundError):
        Text._from_reference(content)


def test_threads_open_a_file_once(file):
    n_opened = Text.opened
    with ThreadPoolExecutor(8) as pool:
        handles = [*pool.map(lambda _: shared(Text, TextSpec(str(file))), range(8))]
    assert len({*map(id, handles)}) == 1
    assert Text.opened == n_opened + 1
