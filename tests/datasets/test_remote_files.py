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

SICK = "pair_ID\ta\tb\tscore\tjudgment\n7\tA man\tA boy\t3.5\tNEUTRAL\n"


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


def serve(server, table, split, content, monkeypatch, **changes):
    """Have a data set come from the server, with the checksum of what it serves."""
    remote = table[split]
    server.files[f"/{remote.download_name}"] = content
    sums = {"sha256": digest(content)} if remote.sha256 else {}
    own = {"urls": (f"{server.url}/{remote.download_name}",), "member_sha256": None}
    own = remote._replace(**(own | sums | changes))
    monkeypatch.setitem(table, split, own)


def test_sick_and_sts_come_from_archives(server, cache, monkeypatch):
    content = zipped(**{"SICK_trial.txt": SICK, "readme.txt": "read me"})
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
    row = b"main-news\tx\t2016\t0012\t4.5\tA man.\tB man.\n"
    content = tarred(("stsbenchmark/sts-dev.csv", row, tarfile.REGTYPE))
    table = _evaluation_sets._STS
    archive = tmp_path / "stsb" / table["dev"].download_name
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    archive.parent.mkdir()
    archive.write_bytes(content)
    serve(server, table, "dev", content, monkeypatch, sha256="0" * 64)
    with pytest.raises(ValueError, match=rf"{archive.name} has SHA-256 .* Move it"):
        fetch_sts_benchmark("dev")
    serve(server, table, "dev", content, monkeypatch)
    assert fetch_sts_benchmark("dev").target.tolist() == [4.5]
    assert (cache / "stsb" / "sts-dev.csv").read_bytes() == row
    assert os.listdir(archive.parent) == [archive.name]
    assert server.requests == []


def test_member_with_wrong_checksum_is_deleted(server, cache, monkeypatch):
    wrong = {"member_sha256": "0" * 64}
    content = zipped(**{"SICK_trial.txt": SICK})
    serve(server, _evaluation_sets._SICK, "trial", content, monkeypatch, **wrong)
    with pytest.raises(ValueError, match=r"SICK_trial.txt in .* has SHA-256 .* Move"):
        fetch_sick("trial")
    assert os.listdir(cache / "sick") == ["sick_trial.zip"]


def test_error_without_network_says_what_to_do(server, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    url = "http://127.0.0.1:9/sick_trial.zip"
    serve(server, _evaluation_sets._SICK, "trial", b"", monkeypatch, urls=(url,))
    with pytest.raises(FileNotFoundError) as raised:
        fetch_sick("trial")
    message = str(raised.value)
    assert message.startswith(f"fetch_sick: {url} cannot be")
    names = "SICK_trial.txt or sick_trial.zip"
    assert f"copy {names} into the folder sick below" in message
    assert f"(it is {tmp_path})" in message
    assert str(cache / "sick" / "sick_trial.zip") in message


@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "good/../../evil.txt"])
def test_paths_in_archives_are_ignored(server, cache, tmp_path, monkeypatch, name):
    kind, text = tarfile.REGTYPE, SICK.encode()
    for content in (zipped(**{name: SICK, "a": "a"}), tarred((name, text, kind))):
        own = {"member": name}
        serve(server, _evaluation_sets._SICK, "trial", content, monkeypatch, **own)
        assert len(fetch_sick("trial").data) == 1
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert {path.parent for path in written} == {cache / "sick"}
        for path in written:
            path.unlink()
    assert not os.path.exists("/evil.txt")


def test_unknown_split():
    for function in (fetch_sick, fetch_sts_benchmark, fetch_wnut17):
        with pytest.raises(ValueError, match=r"split must be one of .* got 'valid'"):
            function("valid")
