"""The server of the studio: its port, and how it ends."""

import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import httpx
import pytest

from incrowd.studio import serving
from incrowd.studio.projects import Projects
from tests.oracles.locked_survey import SURVEY


@pytest.fixture
def started(monkeypatch):
    """Start the studio of a folder without serving; return what it prints."""
    doors = []
    monkeypatch.setattr(serving, "serve", lambda _, door, **more: doors.append(door))

    def start(folder, **more):
        lines = []
        serving.run(folder, browser=False, print_line=lines.append, **more)
        return lines

    def ended():
        while doors:
            doors.pop().close()

    start.end = ended
    yield start
    ended()


def port_of(line):
    return int(re.match(r"http://127\.0\.0\.1:(\d+)/\?token=", line)[1])


def test_a_folder_has_the_same_port_each_time_and_a_new_token(started, tmp_path):
    (first,) = started(tmp_path)
    started.end()
    (second,) = started(tmp_path)
    assert port_of(first) == port_of(second) and first != second
    assert Projects(tmp_path).names() == ()


def test_two_folders_have_different_ports(started, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert port_of(*started(tmp_path / "a")) != port_of(*started(tmp_path / "b"))


def test_a_taken_port_is_named_and_comes_back(started, tmp_path):
    (first,) = started(tmp_path)  # and goes on
    second, notice = started(tmp_path)
    assert port_of(second) != port_of(first)
    assert str(port_of(first)) in notice and str(port_of(second)) in notice and "in use" in notice
    started.end()
    assert port_of(*started(tmp_path)) == port_of(first)


@pytest.mark.parametrize("content", ["", "x", "80", "99999", "-1", "1e9"])
def test_a_damaged_file_is_replaced(started, tmp_path, content):
    (tmp_path / ".studio").mkdir()
    file = tmp_path / ".studio" / "port"
    file.write_text(content)
    (line,) = started(tmp_path)
    assert file.read_text() == str(port_of(line))


def test_a_chosen_port_is_not_remembered(started, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        chosen = free.getsockname()[1]
    assert port_of(*started(tmp_path, port=chosen)) == chosen
    assert not (tmp_path / ".studio").exists()


def test_a_folder_that_cannot_be_written_to_can_be_read(started, tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(serving, "private_folder", refused)
    assert len(started(tmp_path)) == 1


@pytest.mark.slow
def test_ctrl_c_during_a_request_is_quiet(tmp_path):
    text = SURVEY.replace('options_file = "drinks.txt"', 'options = ["tea", "coffee"]')
    text = text.replace("crowd = 1000", "crowd = 100_000")
    Projects(tmp_path).create("Smoking", text)
    command = [sys.executable, "-m", "incrowd", "studio", str(tmp_path), "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        address = process.stdout.readline().strip()
        origin = address.partition("/?")[0]
        with httpx.Client(base_url=origin, headers={"Origin": origin}, timeout=60) as client:
            client.get(address)
            page = client.get("/p/smoking/precision").text
            seen = {"seen": re.search('name="seen" value="(.*?)"', page)[1]}
            asked = threading.Event()

            def ask():
                asked.set()
                with suppress(httpx.HTTPError):
                    client.post("/p/smoking/precision/certify", data=seen)

            thread = threading.Thread(target=ask)
            thread.start()
            asked.wait()
            threading.Event().wait(0.5)  # until the request has arrived
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
            thread.join()
    assert (process.returncode, error) == (0, "")
