"""The commands of a collector, and what the others say of a receipt."""

import json
import re
import socket
import subprocess
import sys
import time
from unittest import mock

import httpx
import pytest

from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.signed import Signed
from tests.collection.collector.conftest import (
    INVITED,
    PEOPLE,
    PLAN,
    RECEIVER,
    header_of,
    plaintexts,
    release,
)
from tests.conftest import run
from tests.oracles import make_vectors
from tests.oracles.make_vectors import VECTORS

START = [sys.executable, "-c", "from incrowd.cli import main; main()"]


def command(*arguments):
    """In this process, which goes on and is not to be protected."""
    with mock.patch("incrowd.collection.machine.protect"):
        return run(*arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, sealed):
    """A release that was opened by the command."""
    home = tmp_path_factory.mktemp("opened")
    (home / "0.release").write_bytes(release(sealed))
    (home / "bundle.json").write_bytes(INVITED.encoded)
    (home / "private.key").write_bytes(RECEIVER.secret)
    done = command(*opening(home), "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["key_destroyed"] and not (home / "private.key").exists()
    assert said["receipt"]["people"] == PEOPLE and said["receipt"]["signatures_valid"]
    return home / "reports"


def opening(home):
    return (
        *("open", home / "0.release", "--bundle", home / "bundle.json"),
        *("--key", home / "private.key", "-o", home / "reports"),
    )


RECEIPT = (
    f"Receipt of stratum all: the shuffler signed that {PEOPLE} people sent "
    f"{PEOPLE * INVITED.places} sealed reports"
)


def words(text):
    return " ".join(re.sub(r"<[^>]+>", " ", text).split()).replace("&#39;", "'")


@pytest.mark.parametrize("ending", ["html", "json"])
def test_pages_say_the_receipt(folder, tmp_path, ending):
    page = tmp_path / f"page.{ending}"
    done = command("estimate", VECTORS / "plan.json", folder, "-o", page)
    assert done.returncode == 0, done.stderr
    assert RECEIPT in words(page.read_text())
    assert RECEIPT in words(done.stdout)
    assert "Each row of the answers" not in words(page.read_text())


def test_a_tally_beside_the_receipt_keeps_it(folder):
    tally = folder / "t.json"
    assert command("tally", VECTORS / "plan.json", folder, "-o", tally).returncode == 0
    done = command("estimate", VECTORS / "plan.json", tally, "--json")
    tally.unlink()
    (receipt,) = json.loads(done.stdout)["receipts"]
    assert receipt["opened_people"] == PEOPLE


def test_verify_checks_the_receipt(folder):
    done = command("verify", VECTORS / "plan.json", folder)
    assert RECEIPT in words(done.stderr)
    (receipt,) = json.loads(command("verify", VECTORS / "plan.json", folder, "--json").stdout)[
        "receipts"
    ]
    assert receipt["signatures_valid"]
    text = (folder / "receipt.json").read_text()
    try:
        (folder / "receipt.json").write_text(text.replace(f'"people": {PEOPLE}', '"people": 99'))
        done = command("verify", VECTORS / "plan.json", folder)
        assert done.returncode == 2 and "receipt: was edited" in done.stderr
    finally:
        (folder / "receipt.json").write_text(text)


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"0.release": b"\0" * 500}, 1, "release.signature"),
        ({"0.release": b""}, 1, "release: has 0 bytes"),
        ({"bundle.json": b"{}"}, 1, "bundle"),
        ({"private.key": b"abc"}, 2, "has 3 bytes; should have 32"),
        ({"private.key": bytes(32)}, 2, "does not match the public key"),
        ({"private.key": None}, 2, "it cannot be read"),
        ({"0.release": None}, 2, "it cannot be read"),
        ({"bundle.json": None}, 2, "it cannot be read"),
        ({"reports/x": b""}, 2, "it already exists"),
    ],
)
def test_what_cannot_be_opened(tmp_path, sealed, change, code, said):
    files = {"0.release": release(sealed), "bundle.json": INVITED.encoded}
    files |= {"private.key": RECEIVER.secret} | change
    for name, content in files.items():
        if content is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    done = command(*opening(tmp_path))
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "private.key").exists() == (files["private.key"] is not None)


def test_a_key_is_made(tmp_path):
    done = command("collector", "init", tmp_path / "c", "--key-id", 9)
    assert done.returncode == 0, done.stderr
    places = CollectorPlaces(tmp_path / "c")
    assert places.public.read_text().startswith("090020")
    assert command("collector", "init", tmp_path / "c").returncode == 2


def test_a_release_is_opened_with_a_post_quantum_key(tmp_path):
    """From the command that makes the key to the command that opens what people sealed with it."""
    done = command("collector", "init", tmp_path, "--post-quantum", "--json")
    assert done.returncode == 0, done.stderr
    configuration = json.loads(done.stdout)["key_configuration"]
    assert (
        configuration.startswith("01647a")
        and CollectorPlaces(tmp_path).private.stat().st_size == 32
    )
    bundle = make_vectors.bundle(key_configuration=configuration)
    plain = plaintexts(PEOPLE, bundle)
    sealed = [seal(each, bundle.key, bundle.digest) for each in plain]
    (tmp_path / "0.release").write_bytes(release(sealed, bundle))
    (tmp_path / "bundle.json").write_bytes(bundle.encoded)
    done = command(*opening(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)["receipt"]
    assert receipt["people"] == receipt["opened_people"] == PEOPLE
    assert receipt["signatures_valid"] and not any(receipt["rejected"].values())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
def test_a_killed_collector_opens_after_it_is_started_again(keyed, sealed):
    """A real process: killed (SIGKILL) as soon as it has acknowledged; nothing is lost."""
    port = free_port()
    (keyed.root / "collector.toml").write_text(f"port = {port}\nworkers = 1\n")
    data, address = release(sealed), f"http://127.0.0.1:{port}"
    signed, _ = Signed.parse(Header, data)
    first = subprocess.Popen([*START, "collector", "run", keyed.root], stderr=subprocess.DEVNULL)
    try:
        wait(lambda: reached(address))
        headers = {"Content-Type": "application/octet-stream"}
        assert httpx.post(f"{address}/release", content=data, headers=headers).status_code == 200
    finally:
        first.kill()
        first.wait()
    again = subprocess.Popen([*START, "collector", "run", keyed.root], stderr=subprocess.DEVNULL)
    try:
        wait(lambda: not keyed.private.exists())
    finally:
        again.terminate()
        assert again.wait(30) is not None
    done = command("estimate", PLAN_FILE, keyed.opened(signed), "--json")
    assert json.loads(done.stdout)["receipts"][0]["opened_people"] == PEOPLE
    finished = command("collector", "run", keyed.root)
    assert finished.returncode == 0 and "nothing left to do" in finished.stderr


PLAN_FILE = VECTORS / "plan.json"


def reached(address):
    try:
        return httpx.get(f"{address}/ready").status_code == 200
    except httpx.HTTPError:
        return False


def wait(holds):
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.05)


def test_headers_of_the_tests_are_those_of_the_bundle(sealed):
    """What the builder makes is what the wire accepts, for the plan of the vectors."""
    header_of(sealed).check(INVITED)
    assert PLAN.digest == INVITED.plan.digest
