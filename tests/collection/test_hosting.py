"""`incrowd host`: from one settings file to a service that listens; releases handed over."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Thread
from unittest import mock

import httpx
import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import hosting
from incrowd.collection.collector import keeper
from incrowd.collection.collector.places import CollectorPlaces, load_private, new_key
from incrowd.collection.device.crowd import drawn
from incrowd.collection.handover import Handover, confirm_delivery
from incrowd.collection.invitations import issue, new_invitations
from incrowd.collection.mixer import setup as mixer_setup
from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.onward import onward
from incrowd.collection.mixer.store.writing import UploadOutcome
from incrowd.collection.protocol.addresses import BY_HAND, short
from incrowd.collection.protocol.bundle import TIME, Bundle
from incrowd.collection.protocol.upload import code_field
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import UsageError
from incrowd.files import NewFile, write_private
from incrowd.survey import Survey
from tests.conftest import run
from tests.oracles import mixers


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


SURVEY = Survey.of(
    {
        "name": "Handed over",
        "crowd": 30,
        "privacy": {"epsilon": 3.0, "delta": 1e-4},
        "question": [{"id": "smokes", "type": "yesno", "text": "Do you smoke?"}],
    }
)


def given(folder, service="shuffler", collector=BY_HAND, settings=""):
    """The folder of a service with its settings, and what others state there."""
    root = folder / service
    (root / "given").mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    (root / f"{service}.toml").write_text(settings)
    (root / "given" / "plan.json").write_text(incrowd.plan(SURVEY).dumps())
    places, now = CollectorPlaces(folder / "collector"), datetime.now(UTC)
    key = new_key(places).encoded.hex()
    times = {"opens": -1, "closes": 24, "disposes": 48}
    lines = [f'{name} = "{now + timedelta(hours=hours):{TIME}}"' for name, hours in times.items()]
    lines += ['period = "now"', "codes = true", f'key_configuration = "{key}"']
    lines += ['shuffler = "https://mix.example"', f'collector = "{collector}"']
    (root / "given" / "collection.toml").write_text("\n".join(lines))
    return root / f"{service}.toml"


def test_the_first_start_makes_the_bundle_and_the_next_one_changes_nothing(tmp_path):
    place = hosting.with_settings(given(tmp_path))
    assert hosting.prepare(place) == place.root / "bundle.json"
    files = {path: path.read_bytes() for path in place.root.iterdir() if path.is_file()}
    bundle = Bundle.parse(files[place.root / "bundle.json"])
    assert bundle.collector_address == BY_HAND and bundle.plan.survey == SURVEY
    assert hosting.prepare(hosting.with_settings(place.root / "shuffler.toml")) is None
    assert files == {path: path.read_bytes() for path in files}


def test_a_plan_without_its_certificate_makes_no_bundle(tmp_path):
    settings = given(tmp_path)
    plan = settings.parent / "given" / "plan.json"
    plan.write_text(plan.read_text().replace('"crowd": 30', '"crowd": 29'))
    with pytest.raises(incrowd.IncrowdError):
        hosting.prepare(hosting.with_settings(settings))
    assert {path.name for path in settings.parent.iterdir()} == {"given", "shuffler.toml"}


@pytest.mark.parametrize(
    ("service", "file"),
    [
        ("collector", "collector_key.txt"),
        ("first-mixer", "first_mixer_key.toml"),
        ("second-mixer", "second_mixer_keys.toml"),
    ],
)
def test_a_service_that_needs_the_bundle_makes_its_keys_and_says_so(tmp_path, service, file):
    settings = tmp_path / service / f"{service}.toml"
    settings.parent.mkdir()
    settings.write_text("")
    for _ in range(2):  # the second start says the same
        done = run("host", settings)
        assert done.returncode == 0, done.stderr
        assert f"send {settings.parent / file}" in done.stdout + done.stderr
        assert "put their bundle.json into" in done.stdout + done.stderr
        text = (settings.parent / file).read_bytes()
    private = [path for path in settings.parent.glob("*.key") if path.read_bytes() in text]
    assert private == []


def test_a_bundle_that_is_given_is_adopted_once(tmp_path):
    of_shuffler = hosting.with_settings(given(tmp_path))
    hosting.prepare(of_shuffler)
    settings = tmp_path / "collector" / "collector.toml"
    settings.write_text("")
    place = hosting.with_settings(settings)
    place.given.mkdir()
    shutil.copy(of_shuffler.root / "bundle.json", place.given)
    assert not hosting.has_bundle(place)
    hosting.prepare(place)
    assert hosting.has_bundle(place)
    (place.given / "bundle.json").write_bytes(mixers.bundle().encoded)
    with pytest.raises(UsageError, match="bundle"):
        hosting.prepare(place)


def test_the_name_of_the_settings_is_that_of_the_service(tmp_path):
    for name in ("mixer.toml", "shuffler.json", "shuffler"):
        with pytest.raises(UsageError, match=r"first-mixer\.toml"):
            hosting.with_settings(tmp_path / name)
    with pytest.raises(UsageError, match="does not exist"):
        hosting.with_settings(tmp_path / "shuffler.toml")


def answered(process, url):
    """The response, as soon as the process listens."""
    for _ in range(300):
        try:
            return httpx.get(url)
        except httpx.TransportError:
            assert process.poll() is None
            time.sleep(0.05)
    raise AssertionError("it does not listen")


@pytest.mark.slow
def test_it_says_what_where_and_until_when_shows_the_page_and_stops_cleanly(tmp_path):
    port = free_port()
    settings = given(tmp_path, settings=f"port = {port}\npage = true\n")
    command = [sys.executable, "-m", "incrowd", "host", str(settings)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            page = answered(process, f"http://127.0.0.1:{port}/")
            bundle = httpx.get(f"http://127.0.0.1:{port}/bundle")
            missing = httpx.get(f"http://127.0.0.1:{port}/_headers")
        finally:
            process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert (
        "<title>" in page.text
        and "connect-src https://mix.example" in page.headers["Content-Security-Policy"]
    )
    assert bundle.content == (settings.parent / "bundle.json").read_bytes()
    assert missing.status_code == 404
    what, where, until = said[said.index("shuffler of") :].splitlines()[:3]
    assert "50 people are needed" in what
    assert f"port {port}" in where and Bundle.parse(bundle.content).digest.hex() in where
    assert re.search(r"opens .* UTC, closes .* UTC", until)


# --- by hand -------------------------------------------------------------------------------------


def test_a_file_is_handed_over_until_a_person_confirms_it(tmp_path):
    body = tmp_path / "x.body"
    body.write_bytes(b"body")
    deliver = Handover(tmp_path / "handover")
    assert not deliver(b"start", body) and not deliver(b"start", body)
    [file] = (tmp_path / "handover").iterdir()
    assert file.read_bytes() == b"startbody" and file.stat().st_mode & 0o777 == 0o600
    confirmed = file.with_suffix(".confirmed")
    confirmed.write_text(hashlib.sha256(b"another").hexdigest())
    assert not deliver(b"start", body)
    confirmed.write_text(hashlib.sha256(b"start").hexdigest())
    assert deliver(b"start", body) and not file.exists()
    assert deliver(b"start", body), "also if the service was killed before it noted that"


def sent_by(store, people):
    """Uploads of so many people with invitations, as devices draw them."""
    invitations = new_invitations(store, people)
    issue(store, invitations)
    answers = pa.table({"smokes": ["yes", "no"] * people})
    everybody = EncodedAnswers.of(store.bundle.plan.survey, answers)
    for row, each in enumerate(invitations):
        person = everybody.take(np.array([row]))
        upload = drawn(store.bundle, person, code=code_field(each.code), stratum=0)
        assert store.take([upload]) == [UploadOutcome.STORED]


class Closed:
    """A clock that shows a time after closing."""

    def __call__(self):
        return datetime.now(UTC) + timedelta(hours=25)

    confirmed = __call__


def test_the_whole_way_of_a_release_by_hand(tmp_path):
    """The store's key lives until the code of the collector is typed in, and no longer."""
    place = hosting.with_settings(given(tmp_path))
    hosting.prepare(place)
    store = hosting.mixer_setup.open_store(place.settings)
    bundle, places = store.bundle, CollectorPlaces(tmp_path / "collector")
    keeper.keep_bundle(places, place.root / "bundle.json")
    with pytest.raises(UsageError, match="contains no file"):
        confirm_delivery(place.root, "0" * 32)
    sent_by(store, 55)
    now = Closed()
    at_work = Keeper(store, place.settings, now, onward(bundle).courier(place.root))
    at_work.look()
    [file] = (place.root / "handover").glob("*.release")
    moved = tmp_path / "moved.release"
    shutil.copy(file, moved)
    for _ in range(2):  # a second time changes nothing
        signed = keeper.take_file(places, bundle, moved)
    private = load_private(places.private, bundle)
    [opened] = keeper.open_waiting(places, bundle, private, 1)
    assert (opened / "receipt.json").exists() and signed.header.people == 55
    code = signed.confirmation
    assert code == short(hashlib.sha256(signed.encoded).digest())
    with pytest.raises(UsageError, match="the code of no file"):
        confirm_delivery(place.root, code[:-1] + ("0" if code[-1] != "0" else "1"))
    assert place.settings.secret_file.exists()
    confirm_delivery(place.root, code.lower().replace("-", " "))
    at_work._pauses._pauses.clear()  # a minute has passed
    at_work.look()
    assert not place.settings.secret_file.exists() and not file.exists()


def test_the_id_of_a_killed_process_is_never_taken_for_that_of_a_service(tmp_path):
    """Its number can belong to any other process by now, which a button would stop."""
    (tmp_path / hosting.PROCESS).write_text(str(os.getpid()))
    seen = set()

    def look():
        for _ in range(50):
            seen.add(hosting.process_in(tmp_path))

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {None}
    settings = tmp_path / "collector.toml"
    settings.write_text("")
    place = hosting.with_settings(settings)
    during = []

    def write(path, content, **options):
        during.append(hosting.process_in(tmp_path))
        write_private(path, content, **options)

    (tmp_path / hosting.PROCESS).write_text("1")
    with mock.patch.object(hosting, "write_private", write), hosting.alone(place):
        assert during == [None], "the new process has not written its own id yet"
        assert hosting.process_in(tmp_path) == os.getpid()
    assert hosting.process_in(tmp_path) is None


def empty(folder, service):
    """The folder of a service that creates keys, and nothing yet."""
    folder.mkdir()
    (folder / f"{service}.toml").write_text("")
    return hosting.with_settings(folder / f"{service}.toml")


def place_of(folder, service):
    if service == "shuffler":
        return hosting.with_settings(given(folder))
    return empty(folder / service, service)


@pytest.mark.parametrize("service", ["shuffler", "collector", "first-mixer", "second-mixer"])
def test_a_first_start_that_was_killed_is_begun_again(tmp_path, service):
    place, publish = place_of(tmp_path, service), NewFile.publish
    kind = hosting.kind_of(place)

    class KilledError(BaseException):
        """The process ends here."""

    for number in range(1, 9):
        left = iter(range(number))  # files that are still written

        def killed(new, path, *rest, left=left, **more):
            if next(left, None) is None:
                raise KilledError
            return publish(new, path, *rest, **more)

        with mock.patch.object(NewFile, "publish", killed), suppress(KilledError):
            hosting.prepare(place)
            break
        assert not kind.public(place).exists()
    assert number > 1 and kind.public(place).exists()
    keys = {path: path.read_bytes() for path in kind.private(place) if path.exists()}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in keys)
    assert not (place.root / hosting.CREATING).exists()
    if service == "shuffler":
        mixer_setup.open_store(place.settings).engine.dispose()
    assert hosting.prepare(place) is None
    assert keys == {path: path.read_bytes() for path in keys}


def test_keys_without_a_mark_are_not_those_of_a_killed_start(tmp_path):
    """If only the public file was deleted, the private key is still needed."""
    place = empty(tmp_path / "collector", "collector")
    hosting.prepare(place)
    private = (place.root / "private.key").read_bytes()
    (place.root / "collector_key.txt").unlink()
    for _ in range(2):
        with pytest.raises(UsageError):
            hosting.prepare(place)
        assert (place.root / "private.key").read_bytes() == private


def test_two_first_starts_at_once_create_one_bundle(tmp_path):
    place = place_of(tmp_path, "shuffler")
    with ThreadPoolExecutor() as pool:
        created = [*pool.map(hosting.prepare, [place] * 4)]
    assert sorted(map(bool, created)) == [False, False, False, True]
    mixer_setup.open_store(place.settings).engine.dispose()


@pytest.mark.parametrize("linked", [False, True])
def test_a_package_cannot_have_a_file_of_ones_own_destroyed(tmp_path, linked):
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    place = empty(tmp_path / "first-mixer", "first-mixer")
    if linked:
        (place.root / "store.key").symlink_to(mine)
    else:
        (place.root / "first-mixer.toml").write_text(f"secret = '{mine}'")
    (place.root / hosting.CREATING).write_text("")
    with pytest.raises(UsageError):
        hosting.prepare(hosting.with_settings(place.root / "first-mixer.toml"))
    assert mine.read_text() == "mine"
