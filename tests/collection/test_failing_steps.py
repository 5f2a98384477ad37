"""Failures of a service that nobody watches: one line in the log, a metric, and /ready."""

import logging
import os
import re
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from incrowd.collection.delivery import courier
from incrowd.collection.inviter.keeper import INVITATIONS
from tests.oracles.inviting import CODES, Inviter, pending
from tests.oracles.mixing import INVITED, MERGED, Site, code, upload

MIB = 1 << 20


@contextmanager
def small_disk(folder):
    """A file system of 4 MiB in memory; without the right to mount one, the test is skipped."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={4 * MIB}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk is needed: only root can mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path):
    """Write until nothing fits anymore."""
    with open(path, "wb", buffering=0) as file:
        size = MIB
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def failing(text):
    return dict(re.findall(r'incrowd_failing\{step="([^"]+)"\} (\d)\.0', text))


def lines(caplog, level=logging.INFO):
    return [each.getMessage() for each in caplog.records if each.levelno >= level]


@pytest.fixture(autouse=True)
def all_lines(caplog):
    caplog.set_level(logging.INFO, "incrowd.service")


@pytest.mark.slow
def test_a_full_disk_is_logged_once_and_shown_until_there_is_room_again(tmp_path, caplog):
    with small_disk(tmp_path / "disk") as disk:
        site = Site(disk, MERGED)
        assert site.request("GET", "/ready").status_code == 200
        fill(disk / "filler")
        statuses = [site.post(upload(MERGED, number))[0] for number in range(200)]
        assert statuses[-3:] == [507] * 3
        assert site.request("GET", "/ready").status_code == 503
        assert failing(site.request("GET", "/metrics").text)["storing"] == "1"
        assert lines(caplog, logging.ERROR) == [
            "storing failed: database: fails with SQLITE_FULL; free space on its disk, or wait"
        ]
        (disk / "filler").unlink()
        assert site.request("GET", "/ready").status_code == 200
        assert site.post(upload(MERGED, "late")) == [201]
        assert failing(site.request("GET", "/metrics").text)["storing"] == "0"
        assert lines(caplog, logging.WARNING)[1:] == ["storing succeeds again"]
        site.close()


def test_a_full_disk_of_an_inviter_is_logged_and_shown(tmp_path, caplog):
    with small_disk(tmp_path / "disk") as disk:
        inviter = Inviter(disk)
        fill(disk / "filler")
        assert inviter.post(pending(CODES[0]).request) == (507, "full")
        assert inviter.get("/ready").status_code == 503
        assert failing(inviter.get("/metrics").text)["storing"] == "1"
        assert len(lines(caplog, logging.ERROR)) == 1 and "SQLITE_FULL" in caplog.text
        (disk / "filler").unlink()
        assert inviter.get("/ready").status_code == 200
        inviter.close()


def test_each_step_of_a_collection_is_one_line_without_anything_about_a_person(tmp_path, caplog):
    site = Site(tmp_path, INVITED, invitations=40)
    uploads = [upload(INVITED, number, 0, number) for number in range(25)]
    assert set(site.post(*uploads)) == {201}
    site.look_at("closes")
    site.look_at("disposes")
    site.look()
    assert lines(caplog) == [
        "closed strata 0",
        "signed the release of strata 0",
        "delivered strata 0",
        "deleted strata 0, which were delivered",
        "deleted strata 1, which will never be released",
        "destroyed the store's key, and deleted what is unreadable without it",
    ]
    site.close()


def test_each_step_of_an_inviter_is_one_line(tmp_path, caplog):
    inviter = Inviter(tmp_path)
    inviter.post(pending(CODES[0]).request)
    inviter.look_at("closes")
    inviter.look_at("disposes")
    inviter.look()
    assert lines(caplog) == [
        "closed the collection, and signed the statement",
        "destroyed all private keys, and deleted the codes",
        "delivered the statement",
        "deleted the statement",
    ]
    inviter.close()


@pytest.mark.parametrize("kind", [Site, Inviter])
def test_a_step_that_keeps_failing_is_logged_once(tmp_path, caplog, kind):
    service = kind(tmp_path)
    if kind is Site:
        service.store.invite([code(number) for number in range(25)])
        assert set(service.post(*(upload(INVITED, n, 0, n) for n in range(25)))) == {201}
    service.settings.signing_file.unlink()
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            service.look_at("closes")
    step = "releasing" if kind is Site else "closing"
    reason = f"{step} failed: FileNotFoundError: No such file or directory"
    assert lines(caplog, logging.WARNING) == [reason]
    assert service.keeper.steps.failing == {step: reason.removeprefix(f"{step} failed: ")}
    assert service.heard == [] if kind is Inviter else service.collector.heard == []
    service.close()


@pytest.mark.parametrize("name", ["secret_file", "signing_file"])
@pytest.mark.parametrize("kind", [Site, Inviter])
def test_a_service_whose_key_was_deleted_is_not_ready(tmp_path, caplog, kind, name):
    service = kind(tmp_path)
    path = getattr(service.settings, name)
    ask = service.get if kind is Inviter else lambda path: service.request("GET", path)
    assert ask("/ready").status_code == 200
    path.rename(path.with_suffix(".away"))
    assert ask("/ready").status_code == 503
    assert f"finding the keys failed: key: got '{path}'; it does not exist" in caplog.text
    path.with_suffix(".away").rename(path)
    assert ask("/ready").status_code == 200
    service.close()


# --- deliveries ----------------------------------------------------------------------------------


class Refusing(BaseHTTPRequestHandler):
    """Answers what the test wants, after it has read the whole body."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"something else")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("status", "reason"),
    [(503, "answered 503"), (302, "answered 302"), (200, "answered no acknowledgment")],
)
def test_a_delivery_that_is_refused_is_logged(caplog, status, reason):
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    server.status = status
    running = threading.Thread(target=server.serve_forever)
    running.start()
    address = f"http://127.0.0.1:{server.server_port}{INVITATIONS}"
    try:
        assert not courier(address)(b"signed", None)
    finally:
        server.shutdown()
        server.server_close()
        running.join()
    assert lines(caplog, logging.WARNING) == [f"delivering to {address} failed: {reason}"]


def test_a_delivery_to_a_service_that_does_not_run_is_logged(caplog, free):
    address = f"http://127.0.0.1:{free()}/release"
    assert not courier(address)(b"signed", None)
    assert lines(caplog, logging.WARNING) == [f"delivering to {address} failed: ConnectError"]
