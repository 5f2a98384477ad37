"""Archives become reproducible without another content, and every difference of two is found."""

import gzip
import io
import os
import subprocess
import tarfile
import zipfile

import pytest

from releasing.archives import differences, files_in, normalize, unwanted
from releasing.distributions import time_of

FILES = {
    "a/__init__.py": b"one = 1\n",
    "a-1.0.dist-info/METADATA": b"Name: a\n",
    "a-1.0.dist-info/RECORD": b"",
}


def wheel(path, files=FILES, mode=0o644, year=2020):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    return path


def source_archive(path, files=FILES, mode=0o644, time=10**9, owner="her"):
    with (
        gzip.GzipFile(path, "wb", mtime=time) as packed,
        tarfile.open(None, "w", packed) as archive,
    ):
        for name, content in files.items():
            entry = tarfile.TarInfo(f"a-1.0/{name}")
            entry.size, entry.mode, entry.mtime, entry.uname = len(content), mode, time, owner
            archive.addfile(entry, io.BytesIO(content))
    return path


OTHERS = {  # what another machine, user, or hour changes
    "a-1.0-py3-none-any.whl": (wheel, {"mode": 0o664}, {"year": 2021}),
    "a-1.0.tar.gz": (source_archive, {"mode": 0o600}, {"time": 2 * 10**9}, {"owner": "his"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_archives_of_the_same_files_become_the_same(name, tmp_path):
    write, *changes = OTHERS[name]
    (tmp_path / "first").mkdir()
    first = write(tmp_path / "first" / name)
    before = files_in(first)
    for number, change in enumerate([{"files": dict(reversed(FILES.items()))}, *changes]):
        (folder := tmp_path / str(number)).mkdir()
        other = write(folder / name, **change)
        write(first)
        assert differences(first, other), "or there is nothing to normalize"
        for each in (first, other):
            normalize(each, 1_700_000_000)
        assert differences(first, other) == []
        assert files_in(first) == before


def test_the_list_of_files_stays_the_last_of_a_wheel(tmp_path):
    path = wheel(tmp_path / "a.whl", dict(reversed(FILES.items())))
    normalize(path, 0)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [*FILES]
        assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0), "none can be older"


def test_programs_in_a_source_archive_stay_executable(tmp_path):
    path = source_archive(tmp_path / "a.tar.gz", mode=0o700)
    normalize(path, 1_700_000_005)
    with tarfile.open(path) as archive:
        assert {entry.mode for entry in archive} == {0o755}
        assert {entry.mtime for entry in archive} == {1_700_000_005}


def test_a_link_in_a_source_archive_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(ValueError, match="a/link is neither a file nor a folder"):
        normalize(tmp_path / "a.tar.gz", 0)


def test_another_content_is_named(tmp_path):
    (tmp_path / "b").mkdir()
    first = wheel(tmp_path / "a.whl")
    second = wheel(tmp_path / "b" / "a.whl", FILES | {"a/__init__.py": b"two\n", "new.py": b""})
    assert differences(first, second) == [
        "a.whl: new.py is only in one of them",
        "a.whl: a/__init__.py has another content",
    ]


def test_caches_and_backups_are_unwanted():
    bad = ["a/__pycache__/b.py", "a/b.pyc", "js/node_modules/x/y.js", ".venv/bin/a", "a.py.orig"]
    bad += [".pytest_cache/a", "b.py~", ".DS_Store"]
    assert unwanted([*bad, "a/b.py", "docs/caches.md", "a/node_modules.md"]) == sorted(bad)


def test_the_time_of_archives_is_that_of_the_commit_or_of_the_unpacked_files(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    (tmp_path / "pyproject.toml").touch()
    os.utime(tmp_path / "pyproject.toml", (7, 7))
    assert time_of(tmp_path) == 7
    commit = {"GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_CONFIG_GLOBAL": "/dev/null"}
    names = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run(["git", *names, *words], cwd=tmp_path, env=os.environ | commit, check=True)
    assert time_of(tmp_path) == 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "9")
    assert time_of(tmp_path) == 9
