"""Data sets to download: archives, checksums, and what to do without a network."""

import hashlib
import io
import os
import tarfile
import zipfile

import pytest

from sk_metaembed.datasets import fetch_sentence_pairs, fetch_wnut17

FILES = "sk_metaembed.datasets._files"
SICK = "pair_ID\ta\tb\tscore\tjudgment\n7\tA man\tA boy\t3.5\tNEUTRAL\n"
STS = b"main-news\tx\t2016\t0012\t4.5\tA man.\tB man.\n"
ARCHIVE = "Stsbenchmark.tar.gz"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("SK_METAEMBED_DATA", raising=False)
    monkeypatch.setenv("SK_METAEMBED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fetched"


@pytest.fixture
def web(cache, monkeypatch):
    """Return a dict of files by name, each of which can be downloaded once."""
    files = {}

    def download(urls, digest, target, *, hint):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(files.pop(target.name))
        return hashlib.sha256(target.read_bytes()).hexdigest()

    monkeypatch.setattr(f"{FILES}.download", download)
    return files


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(*members):
    """Return a tar archive of (name, content) pairs; a str content is a link."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname, content = tarfile.SYMTYPE, content, b""
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def written(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def unchecked(monkeypatch):
    """Accept any checksum."""
    monkeypatch.setattr(f"{FILES}._check", lambda *checked: None)


def test_one_member_of_an_archive_is_read_and_kept(web, cache, unchecked, tmp_path):
    content = zipped(**{"../evil.txt": "x", "SICK_trial.txt": SICK, "readme": "x"})
    web["sick_trial.zip"] = content
    assert fetch_sentence_pairs("sick", "dev").data.tolist() == [["A man", "A boy"]]
    web[ARCHIVE] = tarred(("stsbenchmark/sts-dev.csv", STS), ("/evil.txt", b"x"))
    assert fetch_sentence_pairs("stsb", "dev").target.tolist() == [4.5]
    names = "sick/SICK_trial.txt", "sick/sick_trial.zip", f"stsb/{ARCHIVE}"
    assert written(tmp_path) == [
        *map(cache.joinpath, names),
        cache / "stsb/sts-dev.csv",
    ]
    (cache / "sick" / "sick_trial.zip").unlink()
    assert len(fetch_sentence_pairs("sick", "dev").data) == 1


def test_a_link_in_an_archive_is_not_followed(web, cache, unchecked):
    web[ARCHIVE] = tarred(("stsbenchmark/sts-dev.csv", "/etc/passwd"))
    with pytest.raises(ValueError, match="is not a regular file.*Move it elsewhere"):
        fetch_sentence_pairs("stsb", "dev")
    assert written(cache) == [cache / "stsb" / ARCHIVE]


def test_wnut17_is_not_an_archive(web, unchecked):
    web["emerging.dev.conll"] = b"To\tO\nRome\tB-location\n\t\nAda\tB-person\n\n"
    bunch = fetch_wnut17("dev")
    assert bunch.data.to_list() == [["To", "Rome"], ["Ada"]]
    assert bunch.target.tolist() == [["O", "B-location"], ["B-person"]]
    assert sorted(bunch) == ["data", "target"]
    assert fetch_wnut17("dev", return_X_y=True)[0] == bunch.data


def test_local_files_come_first_and_archives_in_the_cache_are_checked(
    web, cache, tmp_path, monkeypatch
):
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    (tmp_path / "wnut17").mkdir()
    (tmp_path / "wnut17" / "emerging.dev.conll").write_bytes(b"Ada\tB-person\n")
    assert fetch_wnut17("dev").data.to_list() == [["Ada"]]
    web[ARCHIVE] = tarred(("stsbenchmark/sts-dev.csv", STS))
    with pytest.raises(ValueError, match=rf"{ARCHIVE} has SHA-256 .* Move the down"):
        fetch_sentence_pairs("stsb", "dev")


def test_member_with_wrong_checksum_is_deleted(web, cache):
    web["sick_trial.zip"] = zipped(**{"SICK_trial.txt": SICK})
    with pytest.raises(ValueError, match=r"SICK_trial.txt in .* has SHA-256 .* Move"):
        fetch_sentence_pairs("sick", "dev")
    assert os.listdir(cache / "sick") == ["sick_trial.zip"]


def test_error_without_network_says_what_to_do(cache, tmp_path, monkeypatch):
    def no_network(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr("sk_metaembed._io._download.urlopen", no_network)
    monkeypatch.setenv("SK_METAEMBED_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as raised:
        fetch_sentence_pairs("sick", "dev")
    message = str(raised.value)
    assert message.startswith("fetch_sentence_pairs: https://")
    assert "copy SICK_trial.txt into the folder sick below" in message
    assert f"(it is {tmp_path})" in message
    assert str(cache / "sick" / "sick_trial.zip") in message
