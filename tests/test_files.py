"""What commands write to, and how they end: nothing but files is replaced, nothing is left behind.

Real pipes, devices, sockets and signals. A wrong variant of each stands beside.
"""

import io
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import incrowd
from incrowd import files
from incrowd.errors import UsageError
from incrowd.files import replaced
from tests.conftest import slowly

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")

RUN = [sys.executable, "-c", "from incrowd.cli import main; main()"]
TOML = """name = "t"
crowd = 40
[privacy]
epsilon = 4.0
delta = 1e-2
[[question]]
id = "a"
type = "yesno"
"""


def write(path, text="after"):
    with replaced(path) as temporary:
        temporary.write_text(text)


def test_a_file_is_replaced_with_its_mode(tmp_path):
    path = tmp_path / "x"
    path.write_text("before")
    path.chmod(0o640)
    kept = path.open()
    write(path)
    assert path.read_text() == "after" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert kept.read() == "before"  # replaced, not written over
    kept.close()
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_a_new_file_has_the_usual_mode(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_of_a_link_its_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/x")
    for text in ("new", "again"):  # it leads nowhere at first
        write(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "x").read_text() == text
    assert len(list((tmp_path / "there").iterdir())) == 1


# --- faults --------------------------------------------------------------------------------------

STEPS = ["os.open", "os.fsync", "os.link", "os.chmod", "os.replace", "os.rename"]


def stopping(monkeypatch, after, error=KeyboardInterrupt):
    """The step of that number raises. Returns the names of the steps that were done."""
    done = []

    def around(name, right):
        def step(*arguments, **named):
            if len(done) == after:
                raise error
            done.append(name)
            return right(*arguments, **named)

        return step

    for name in STEPS:
        monkeypatch.setattr(name, around(name, getattr(os, name.partition(".")[2])))
    return done


WAYS = {  # each as the file is before, and what writes it
    "output": ("before", lambda path: files.write_text(path, "after")),
    "new output": (None, lambda path: files.write_text(path, "after")),
    "secret": (None, lambda path: files.write_private(path, b"after")),
    "secret again": ("before", lambda path: files.write_private(path, b"after", overwrite=True)),
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_step_fails_the_file_is_old_or_new_and_nothing_else_is_there(
    tmp_path, monkeypatch, way
):
    before, write = WAYS[way]
    path, after, ended = tmp_path / "x", 0, False
    while not ended:
        path.unlink(missing_ok=True)
        if before:
            path.write_text(before)
        with monkeypatch.context() as patched:
            steps = stopping(patched, after)
            try:
                write(path)
                ended = True
            except KeyboardInterrupt:
                after += 1
        left = {file.name: file.read_text() for file in tmp_path.iterdir()}
        assert left in ([{"x": before}] if before else [{}]) + [{"x": "after"}], after
    assert left == {"x": "after"} and after > 3
    name = "os.link" if way == "secret" else "os.replace"
    assert "os.fsync" in steps[: steps.index(name)], "the content is on the disk before the name"
    assert "os.fsync" in steps[steps.index(name) :], "the name is on the disk in the end"


@pytest.mark.parametrize("links", [True, False])
def test_a_secret_is_not_overwritten(tmp_path, monkeypatch, links):
    """Also on a disk that has no links, such as a memory card's."""
    if not links:
        monkeypatch.setattr("os.link", lambda *_: os.open(tmp_path, os.O_WRONLY))  # an OSError
    before = os.umask(0)
    try:
        files.write_private(tmp_path / "new" / "key", b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "key").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        files.write_private(tmp_path / "new" / "key", b"two")
    assert [file.read_bytes() for file in (tmp_path / "new").iterdir()] == [b"one"]


def test_an_output_can_be_private(tmp_path):
    for _ in range(2):
        files.write_text(tmp_path / "x", "codes", mode=files.PRIVATE)
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
        (tmp_path / "x").chmod(0o644)


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), files.new_folder(tmp_path / "made") as folder:
            (folder / "a").write_text("a")
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            raise error
        assert list(tmp_path.iterdir()) == []
    with files.new_folder(tmp_path / "made") as folder:
        (folder / "a").write_text("a")
        assert not (tmp_path / "made").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["made"]
    assert (tmp_path / "made" / "a").read_text() == "a"


def test_a_destroyed_file_is_overwritten_first(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"secret" * 5)
    with path.open("rb") as opened:
        files.destroy(path)
        content = opened.read()
    assert not path.exists() and len(content) == 30 and b"secret" not in content
    files.destroy(path)  # again: nothing happens


# --- pipes, devices, links -----------------------------------------------------------------------


def null_device(folder):
    """A character device like /dev/null, or a link to that where making one is not allowed."""
    try:
        os.mknod(folder / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (folder / "null").open("wb").close()
    except OSError:
        (folder / "null").unlink(missing_ok=True)
        (folder / "null").symlink_to("/dev/null")
    return folder / "null"


def test_devices_are_written_to(tmp_path):
    """Wrong: what replaced everything, as it was."""
    device = null_device(tmp_path)
    write(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [file.name for file in tmp_path.iterdir()] == ["null"]
    (tmp_path / "wrong").write_text("")
    (tmp_path / "wrong").replace(device)
    assert not stat.S_ISCHR(device.stat().st_mode)


def test_a_pipe_is_written_to(tmp_path):
    """Parquet, which is written from its end, as well; nothing comes if the block fails."""
    pipe, found = tmp_path / "p", []
    os.mkfifo(pipe)
    table = pa.table({"x": [1, 2]})
    for fails in (False, True):
        reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
        reader.start()
        try:
            with replaced(pipe) as temporary:
                pa.parquet.write_table(table, temporary)
                if fails:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert fails
        reader.join(10)
    assert pa.parquet.read_table(io.BytesIO(found[0])).equals(table) and found[1] == b""
    assert stat.S_ISFIFO(pipe.stat().st_mode) and len(list(tmp_path.iterdir())) == 1


def test_an_open_file_goes_on_where_it_is(tmp_path):
    """As with >> : what is there stays, and the name is the same file. Links lead there too."""
    with (tmp_path / "log").open("w") as log:
        log.write("before, ")
        log.flush()
        (tmp_path / "link").symlink_to(f"/dev/fd/{log.fileno()}")
        write(f"/dev/fd/{log.fileno()}", "one, ")
        write(tmp_path / "link", "two, ")
        log.write("after")
        log.flush()
    assert (tmp_path / "log").read_text() == "before, one, two, after"


def test_nothing_else_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        for name, kind in (("folder", "a folder"), ("s", "a socket")):
            with pytest.raises(UsageError, match=f"path: got.*{name}'; it is {kind}; name a file"):
                write(tmp_path / name)
    assert {file.name for file in tmp_path.iterdir()} == {"folder", "s"}
    with pytest.raises(UsageError, match="cannot be written: Bad file descriptor"):
        write("/dev/fd/987")


@pytest.mark.slow
def test_commands_write_through(tmp_path):
    """Standard output gets the plan alone; what is shown goes to standard error then. By way of
    a link here, so that code that replaces it does the machine no harm."""
    (tmp_path / "out").symlink_to("/dev/stdout")
    (tmp_path / "s.toml").write_text(f"tables = 'any'\n{TOML}")
    plan = [*RUN, "plan", "s.toml", "--no-side-by-side", "-o"]
    done = subprocess.run([*plan, "out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and incrowd.Plan.loads(done.stdout).survey.name == "t"
    assert "noise" in done.stderr
    (tmp_path / "p.json").write_text(done.stdout)
    (tmp_path / "a.csv").write_text("a\n" + "yes\nno\n" * 20)
    randomize = [*RUN, "randomize", "p.json", "a.csv", "-o", "out"]
    done = subprocess.run(randomize, cwd=tmp_path, capture_output=True)
    assert pa.parquet.read_table(io.BytesIO(done.stdout)).num_rows == 40
    assert {file.name for file in tmp_path.iterdir()} == {"s.toml", "p.json", "a.csv", "out"}
    assert (tmp_path / "out").is_symlink()


SLOWED = """
import os, signal, sys
from incrowd.sampling import streaming
streaming.BATCH_ROWS = 200
from incrowd.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [*slowly((signal.SIGTERM, 143)), *slowly((signal.SIGHUP, 129)), (signal.SIGKILL, -9)],
)
def test_a_signal_leaves_nothing(tmp_path, number, code):
    """Told to stop once the output's place is made; the key that was made is taken back too.
    Wrong: a process that is killed cannot, which also shows that there was something."""
    (tmp_path / "s.toml").write_text(TOML)
    made = incrowd.plan(incrowd.Survey.load(tmp_path / "s.toml"))
    (tmp_path / "p.json").write_text(made.dumps())
    pa.csv.write_csv(pa.table({"a": ["yes", "no"] * 400_000}), tmp_path / "a.csv")
    before = set(tmp_path.iterdir())
    command = ["randomize", "p.json", "a.csv", "-o", "r.parquet", "--device-key", "key"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWED, *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while not (tmp_path / "key").exists() or not list(tmp_path.glob(".incrowd-*")):
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.005)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == code and error == ""
    left = set(tmp_path.iterdir()) - before
    assert bool(left) == (number == signal.SIGKILL)


def test_an_ignored_hangup_stays_ignored(tmp_path):
    """As nohup asks for."""
    told = "import os, signal, incrowd.cli as c; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    told += "import incrowd.cli.app as a; a.main = lambda: os.kill(os.getpid(), signal.SIGHUP)\n"
    done = subprocess.run([sys.executable, "-c", told + "c.main(); print('went on')"], text=True,
                          capture_output=True, cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_folders_that_were_made_are_removed_again(tmp_path):
    raw = {"name": "t", "crowd": 40, "privacy": {"epsilon": 4.0, "delta": 1e-2}}
    raw["question"] = [{"id": id, "type": "yesno"} for id in "ab"]
    raw["message"] = [{"questions": ["a"]}, {"questions": ["b"]}]
    made = incrowd.plan(incrowd.Survey.of(raw))
    reports = incrowd.randomize(made, pa.table({"a": ["yes"], "b": ["no"]}))
    from incrowd.reports import folder

    with pytest.raises(KeyboardInterrupt), folder.new_files(tmp_path / "x" / "y", [(), ()]):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    assert len(folder.save_reports(reports, tmp_path / "x" / "y")) == 2
    assert Path(tmp_path / "x" / "y" / "message-2.parquet").exists()


def test_reports_of_one_message_are_written_to_a_folder_or_a_file(tmp_path):
    """The same command works for every survey: a name without an ending is a folder."""
    raw = {"name": "t", "crowd": 40, "privacy": {"epsilon": 4.0, "delta": 1e-2}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": [{"id": "a", "type": "yesno"}]}))
    reports = incrowd.randomize(made, pa.table({"a": ["yes"]}))
    assert incrowd.save_reports(reports, tmp_path / "r") == (tmp_path / "r" / "message-1.parquet",)
    assert incrowd.load_reports(tmp_path / "r")[0].plan == made.digest
    assert incrowd.save_reports(reports, tmp_path / "r.parquet") == (tmp_path / "r.parquet",)
    with pytest.raises(incrowd.UsageError, match="already contains reports"):
        incrowd.save_reports(reports, tmp_path / "r")


@pytest.mark.slow
def test_reports_of_several_messages_are_written_to_a_folder(tmp_path):
    """A folder that the command itself has just made is not standard output."""
    survey = """
name = "Two"
crowd = 200
[privacy]
epsilon = 3.0
delta = 1e-3
[[question]]
id = "a"
type = "yesno"
[[question]]
id = "b"
type = "yesno"
[[message]]
questions = ["a"]
[[message]]
questions = ["b"]
"""
    (tmp_path / "s.toml").write_text(survey)
    (tmp_path / "a.csv").write_text("a,b\n" + "yes,no\n" * 200)
    for arguments in (
        ("plan", "s.toml", "-o", "p.json"),
        ("randomize", "p.json", "a.csv", "-o", "reports"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", "from incrowd.cli import main; main()", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "reports").iterdir())) == 2
