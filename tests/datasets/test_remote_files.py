"""Data sets to download, from a local server or from small test folders."""

import hashlib
import io
import os
import tarfile
import zipfile

import pytest

from sk_metaembed.datasets import (
    _conll,
    _evaluation_sets,
    fetch_sick,
    fetch_sts_benchmark,
    fetch_wnut17,
)
from sk_metaembed.datasets._files import RemoteFile, copy_member, data_file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fetched"


def digest(content):
    return hashlib.sha256(content).hexdigest()


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(*members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(content)
            if kind == tarfile.SYMTYPE:
                info.linkname, info.size = content.decode(), 0
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def serve(server, table, split, content, monkeypatch):
    """Have a data set come from the server, with the checksum of what it serves."""
    remote = table[split]
    server.files[f"/{remote.download_name}"] = content
    sums = {"sha256": digest(content)} if remote.sha256 else {}
    own = remote._replace(
        urls=(f"{server.url}/{remote.download_name}",), member_sha256=None, **sums
    )
    monkeypatch.setitem(table, split, own)
    return own


def test_sick_and_sts_come_from_archives(server, cache, monkeypatch):
    text = "pair_ID\ta\tb\tscore\tjudgment\n7\tA man\tA boy\t3.5\tNEUTRAL\n"
    content = zipped(**{"SICK_trial.txt": text, "readme.txt": "read me"})
    serve(server, _evaluation_sets._SICK, "trial", content, monkeypatch)
    assert fetch_sick("trial").data.tolist() == [["A man", "A boy"]]
    (cache / "sick" / "sick_trial.zip").unlink()
    assert len(fetch_sick("trial").data) == len(server.requests) == 1
    row = b"main-news\tx\t2016\t0012\t4.5\tA man.\tB man.\n"
    content = tarred(("stsbenchmark/sts-dev.csv", row, tarfile.REGTYPE))
    serve(server, _evaluation_sets._STS, "dev", content, monkeypatch)
    assert fetch_sts_benchmark("dev").target.tolist() == [4.5]


def test_wnut17_is_not_an_archive(server, cache, monkeypatch):
    text = b"To\tO\nRome\tB-location\n\t\nAda\tB-person\n\n"
    serve(server, _conll._FILES, "dev", text, monkeypatch)
    bunch = fetch_wnut17("dev")
    assert bunch.data.to_list() == [["To", "Rome"], ["Ada"]]
    assert bunch.target.tolist() == [["O", "B-location"], ["B-person"]]
    assert sorted(bunch) == ["data", "target"]
    assert fetch_wnut17("dev", return_X_y=True)[0] == bunch.data
    assert len(server.requests) == 1


def test_the_local_folder_comes_first(server, cache, tmp_path, monkeypatch):
    text = b"Ada\tB-person\n"
    serve(server, _conll._FILES, "dev", b"Bob\tB-person\n", monkeypatch)
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    (tmp_path / "wnut17").mkdir()
    (tmp_path / "wnut17" / "emerging.dev.conll").write_bytes(text)
    assert fetch_wnut17("dev").data.to_list() == [["Ada"]]
    assert server.requests == []


def test_local_archive_is_read(server, cache, tmp_path, monkeypatch):
    text = "pair_ID\ta\tb\tscore\tjudgment\n7\tA man\tA boy\t3.5\tNEUTRAL\n"
    remote = RemoteFile("own", (f"{server.url}/own.zip",), "0" * 64, "in/own.txt")
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    (tmp_path / "own").mkdir()
    content = zipped(**{"in/own.txt": text})
    (tmp_path / "own" / "own.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"own.zip has SHA-256 .* Move it"):
        data_file(remote)
    path = data_file(remote._replace(sha256=digest(content)))
    assert (path, path.read_text("utf-8")) == (cache / "own" / "own.txt", text)
    assert os.listdir(tmp_path / "own") == ["own.zip"]
    assert server.requests == []


def test_member_with_wrong_checksum_is_deleted(server, cache):
    server.files["/own.zip"] = zipped(**{"own.txt": "text"})
    remote = RemoteFile("own", (f"{server.url}/own.zip",), None, "own.txt", "0" * 64)
    with pytest.raises(ValueError, match=r"own.txt in .* has SHA-256 .* Move"):
        data_file(remote)
    assert os.listdir(cache / "own") == ["own.zip"]


def test_error_without_network_says_what_to_do(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    remote = RemoteFile("own", ("http://127.0.0.1:9/own.zip",), None, "in/own.txt")
    with pytest.raises(FileNotFoundError) as raised:
        data_file(remote)
    message = str(raised.value)
    assert message.startswith("http://127.0.0.1:9/own.zip cannot be")
    assert "copy own.txt or own.zip into the folder own below" in message
    assert f"(it is {tmp_path})" in message
    assert str(cache / "own" / "own.zip") in message


@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "good/../../evil.txt"])
def test_paths_in_archives_are_ignored(tmp_path, name):
    inside = tmp_path / "in"
    inside.mkdir()
    kind = tarfile.REGTYPE
    for content in (zipped(**{name: "evil", "a": "a"}), tarred((name, b"evil", kind))):
        archive = inside / "archive"
        archive.write_bytes(content)
        copy_member(archive, name, inside / "target")
        assert (inside / "target").read_text() == "evil"
        assert sorted(path.name for path in tmp_path.rglob("*.txt")) == []
    assert not os.path.exists("/evil.txt")


def test_unknown_split():
    for function in (fetch_sick, fetch_sts_benchmark, fetch_wnut17):
        with pytest.raises(ValueError, match=r"split must be one of .* got 'valid'"):
            function("valid")
