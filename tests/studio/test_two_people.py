"""A whole collection by two people, who touch nothing but pages and packages.

She has the studio and the collector; a colleague elsewhere unpacks the package and runs it.
"""

import csv
import html
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
import yaml

from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.device.sending import fetch
from incrowd.collection.hosting import mixer_setup, process_in, with_settings
from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.onward import onward
from incrowd.collection.protocol.addresses import BY_HAND, Link
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.upload import code_field
from incrowd.encoding.records import EncodedAnswers
from tests.conftest import run
from tests.oracles.node import BROWSER, has_browser, node
from tests.oracles.packages import started, unpacked
from tests.oracles.studio import running_studio

SURVEY = """name = "By two people"
crowd = 30
privacy = { epsilon = 3.0, delta = 1e-4 }

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"
"""
PAGE = "/p/two/publish"
INVITED = 60


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return f"http://localhost:{door.getsockname()[1]}"


def post(browser, path, **content):
    answer = browser.post(f"{PAGE}/{path}", **content)
    assert answer.status_code == 303, re.sub(r"<[^>]+>", "", answer.text)
    return answer.headers["location"]


def save(browser, step, **fields):
    page = browser.get(f"{PAGE}?step={step}").text
    version = re.search('name="version" value="([0-9a-f]*)"', page)[1]
    return post(browser, "choices", data={"version": version, "step": step, **fields})


class AfterClosing:
    """The clock of the colleague's machine, after closing."""

    def __call__(self):
        return datetime.now(UTC) + timedelta(days=22)

    confirmed = __call__


def test_a_collection_from_the_first_page_to_the_results(browser, studio, tmp_path):
    project = studio.projects.create("two", SURVEY)
    post(browser, "plan")
    assert studio.jobs.get((project.path, "plan")).ended.wait(60)
    save(browser, "who", **{"choice": "shuffler", "here-1": "collector"})

    # What she has to type: one address, and how many are invited.
    address = free_address()
    proposed = browser.get(f"{PAGE}?step=terms").text
    times = {
        name: re.search(f'name="{name}" value="([^"]+)"', proposed)[1]
        for name in ("opens", "closes")
    }
    assert 'id="reach-hand" value="hand" checked' in proposed
    typed = {"address-shuffler": address, "invitations": str(INVITED)}
    to = save(browser, "terms", **typed, **times, reach="hand", page="service", to="exchange")
    assert to == f"{PAGE}?step=exchange"
    post(browser, "do/package")
    archive = browser.get(f"{PAGE}/files/for-shuffler.zip").content

    # The colleague.
    package = unpacked(archive, tmp_path / "elsewhere")
    folder = package / "shuffler"
    with started(package, address):
        bundle = (folder / "bundle.json").read_bytes()
        sheet = html.unescape((package / "sheet.html").read_text())
        assert "incrowd invitations 60 --shuffler shuffler" in sheet
        assert f"--survey-page {address}" in sheet
        words = ("--shuffler", folder, "-o", package / "codes.csv", "--survey-page", address)
        assert run("invitations", INVITED, *words).returncode == 0
        with (package / "codes.csv").open(newline="") as file:
            codes = [row["code"] for row in csv.DictReader(file)]

        # She takes the bundle; people open the page and answer.
        post(browser, "bundle", files={"file": ("bundle.json", bundle)})
        digest = Bundle.parse(bundle).digest
        assert Bundle.parse(bundle).collector_address == BY_HAND
        assert f"{address}#{digest.hex()}" in browser.get(f"{PAGE}?step=page").text
        assert b"By two people" in httpx.get(f"{address}/").content
        answers = pa.table({"smokes": ["yes", "no", "no"] * (INVITED // 3)})
        fetched = fetch(Link(address, digest), Connection())
        everybody = EncodedAnswers.of(fetched.plan.survey, answers)
        sent = send_each(fetched, everybody, Connection(), codes=[*map(code_field, codes)])
        assert sent.people == INVITED and not sent.refused

    # Three weeks later.
    place = with_settings(folder / "shuffler.toml")
    store = mixer_setup.open_store(place.settings)
    Keeper(store, place.settings, AfterClosing(), onward(store.bundle).courier(folder)).look()
    [release] = (folder / "handover").glob("*.release")
    post(browser, "release", files={"file": (release.name, release.read_bytes())})
    assert studio.jobs.get((project.path, "open")).ended.wait(60)
    shown = browser.get(f"{PAGE}?step=run").text
    [code] = re.findall(r"<li><code>([0-9A-Z-]{39})</code> · opened", shown)
    assert run("acknowledge", code, folder).returncode == 0
    Keeper(store, place.settings, AfterClosing(), onward(store.bundle).courier(folder)).look()
    store.engine.dispose()
    assert not place.settings.secret_file.exists()
    assert not (project.path / "collector" / "private.key").exists()
    results = browser.get("/p/two/results")
    assert results.status_code == 200 and "Do you smoke?" in html.unescape(results.text)
    assert str(INVITED) in results.text


def test_the_card_and_the_page_can_be_opened_and_saved(browser, studio):
    """And whoever hosts the page gets a sheet with it."""
    project = studio.projects.create("two", SURVEY)
    post(browser, "plan")
    assert studio.jobs.get((project.path, "plan")).ended.wait(60)
    save(browser, "who", choice="both")
    local = {"address-shuffler": "http://localhost:8080", "survey_page": "https://survey.example"}
    save(
        browser,
        "terms",
        **local,
        **{"address-collector": "http://localhost:8081", "invitations": "60"},
        opens="2027-03-01T08:00",
        closes="2027-03-31T20:00",
        reach="network",
        page="elsewhere",
    )
    for step in ("package", "bundle", "page", "card"):
        post(browser, f"do/{step}")
    shown = browser.get(f"{PAGE}?step=page").text
    for id in ("page-open", "page-download", "page-preview", "card-open", "card-download"):
        assert f'id="{id}"' in shown
    card = browser.get(f"{PAGE}/files/card.html")
    assert card.status_code == 200 and card.content == (project.path / "card.html").read_bytes()
    assert "default-src 'none'" in card.headers["Content-Security-Policy"]
    with zipfile.ZipFile(io.BytesIO(browser.get(f"{PAGE}/files/public.zip").content)) as archive:
        names = set(archive.namelist())
        assert {"sheet.html", "page/index.html", "page/Caddyfile"} <= names
        for file in (project.path / "public").iterdir():
            assert archive.read(f"page/{file.name}") == file.read_bytes()
        assert b"https://survey.example" in archive.read("sheet.html")


def test_what_the_package_of_a_public_address_has(browser, studio, tmp_path):
    """A proxy that lets through what people need, and a container without a port of its own."""
    project = studio.projects.create("two", SURVEY)
    post(browser, "plan")
    assert studio.jobs.get((project.path, "plan")).ended.wait(60)
    save(browser, "who", choice="shuffler")
    typed = {"address-shuffler": "https://mix.example", "invitations": "60"}
    times = {"opens": "2027-03-01T08:00", "closes": "2027-03-31T20:00"}
    save(browser, "terms", **typed, **times, reach="hand", page="service")
    post(browser, "do/package")
    package = unpacked(browser.get(f"{PAGE}/files/for-shuffler.zip").content, tmp_path / "there")
    proxy = (package / "Caddyfile").read_text()
    [paths] = re.findall(r"^\t\tpath (.*)$", proxy, re.MULTILINE)
    assert "\nmix.example {" in proxy
    assert {"/bundle", "/count", "/upload", "/", "/index.html"} <= set(paths.split())
    assert not {"/metrics", "/health", "/ready", "/_headers"} & set(paths.split())
    services = yaml.safe_load((package / "compose.yaml").read_text())["services"]
    assert "ports" not in services["shuffler"]
    assert services["proxy"]["ports"] == ["80:80", "443:443"]
    settings = with_settings(package / "shuffler" / "shuffler.toml").settings
    assert settings.page and settings.port == 8080


@pytest.mark.slow
def test_the_collector_is_run_and_stopped_by_a_button(browser, studio):
    """As a process of its own, whose state is read from its folder: a killed one does not run."""
    project = studio.projects.create("two", SURVEY)
    post(browser, "plan")
    assert studio.jobs.get((project.path, "plan")).ended.wait(60)
    save(browser, "who", choice="both")
    collector, now = free_address(), datetime.now(UTC)
    typed = {"address-shuffler": "http://localhost:1", "address-collector": collector}
    times = {
        "opens": f"{now:%Y-%m-%dT%H:%M}",
        "closes": f"{now + timedelta(days=1):%Y-%m-%dT%H:%M}",
    }
    save(browser, "terms", **typed, **times, invitations="60", reach="network", page="elsewhere")
    for step in ("package", "bundle"):
        post(browser, f"do/{step}")
    folder = project.path / "collector"
    assert 'id="run-collector"' in browser.get(f"{PAGE}?step=run").text
    for end in ("stop", "kill"):
        assert post(browser, "run/collector") == f"{PAGE}?step=run"
        assert waited(lambda: _answers(f"{collector}/ready"))
        process = process_in(folder)
        assert process and process != os.getpid()
        post(browser, "run/collector")  # a second press starts no second one
        assert process_in(folder) == process
        shown = browser.get(f"{PAGE}?step=run").text
        assert 'id="stop-collector"' in shown and "receives releases, and opens them" in shown
        if end == "stop":
            post(browser, "run/collector", data={"stop": "1"})
        else:
            os.kill(process, signal.SIGKILL)
        assert waited(lambda: process_in(folder) is None)
        assert 'id="run-collector"' in browser.get(f"{PAGE}?step=run").text
    assert browser.post(f"{PAGE}/run/first").status_code == 422


# --- in a browser --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed")
def test_two_people_in_a_browser(tmp_path):
    """The studio and the survey page in Chromium, the colleague's service as its own process."""
    surveys, here = tmp_path / "surveys", tmp_path / "here"
    (surveys / "two").mkdir(parents=True)
    here.mkdir()
    (surveys / "two" / "survey.toml").write_text(SURVEY)
    service, host = free_address(), free_address()
    closes = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=3)
    (program,), _ = node()
    command = [program, str(BROWSER / "two_people.mjs")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with running_studio(surveys) as address, subprocess.Popen(command, **pipes) as her:

        def tell(**what):
            her.stdin.write(json.dumps(what) + "\n")
            her.stdin.flush()
            return json.loads(her.stdout.readline())

        times = {"closes": f"{closes:%Y-%m-%dT%H:%M:%SZ}", "folder": str(here)}
        first = tell(address=address, service=service, host=host, invited=INVITED, **times)
        package = unpacked(Path(first["package"]).read_bytes(), tmp_path / "elsewhere")
        folder = package / "shuffler"
        with started(package, service):
            page = tell(bundle=str(folder / "bundle.json"))["page"]
            words = ("--shuffler", folder, "-o", package / "codes.csv", "--survey-page", host)
            assert run("invitations", INVITED, *words).returncode == 0
            with (package / "codes.csv").open(newline="") as file:
                rows = list(csv.DictReader(file))
            with zipfile.ZipFile(page) as archive:
                archive.extractall(tmp_path / "web")
            with hosted(tmp_path / "web" / "page", host):
                answered = tell(links=[row["link"] for row in rows[:2]])["answered"]
            assert len(answered) == 2 and all(each.startswith("Your answers") for each in answered)
            bundle = Bundle.parse((folder / "bundle.json").read_bytes())
            others = pa.table({"smokes": ["yes", "no"] * ((INVITED - 2) // 2)})
            codes = [code_field(row["code"]) for row in rows[2:]]
            fetched = fetch(Link(service, bundle.digest), Connection())
            everybody = EncodedAnswers.of(fetched.plan.survey, others)
            assert send_each(fetched, everybody, Connection(), codes=codes).people == INVITED - 2
            assert datetime.now(UTC) < closes, "the machine is too slow for this test"
            time.sleep((closes - datetime.now(UTC)).total_seconds() + 1)
            now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            assert run("confirm-clock", now, folder).returncode == 0
            release = waited(lambda: [*(folder / "handover").glob("*.release")])[0]
            seen = tell(release=str(release))
            assert run("acknowledge", seen["code"], folder).returncode == 0
            waited(lambda: not (folder / "store.key").exists())
    assert not (surveys / "two" / "collector" / "private.key").exists()
    assert "Do you smoke?" in seen["results"] and str(INVITED) in seen["results"]
    usual = datetime.fromisoformat(f"{seen['closes']}+00:00") - datetime.now(UTC)
    assert timedelta(days=20) < usual < timedelta(days=22)
    assert {state: wrong for state, wrong in seen["axe"].items() if wrong} == {}
    assert [state for state, wide in seen["wide"].items() if wide] == []
    assert seen["complaints"] == []


def waited(ready):
    """What is ready, as soon as it is."""
    end = time.monotonic() + 90
    while not (result := ready()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return result


@contextmanager
def hosted(folder, address):
    """A plain web host of a folder."""
    port = address.rpartition(":")[2]
    words = ["-m", "http.server", port, "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL) as process:
        waited(lambda: _answers(address))
        yield
        process.terminate()


def _answers(address):
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False
