"""`demo --live --open`: a scripted device in the place of the person at the browser."""

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import pytest

from incrowd.cli import live
from incrowd.collection.device.device import Device
from incrowd.collection.page.serving import page_application
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.rehearsal import Visit
from tests.conftest import slowly

PEOPLE = 60
ANSWERS = {
    "physical_limitation": "yes",
    "self_rated_health": "fair",
    "chronic_conditions": 3.5,
    "doctor_visits": 4,
    "individual_deductible_plan": "no",
}
COMMAND = [sys.executable, "-c", "from incrowd.cli import main; main()", "demo", "--live", "--open"]
LINES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def browser(folder):
    """A browser that writes down what it was told to open."""
    script = folder / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >> {folder}/opened\n')
    script.chmod(stat.S_IRWXU)
    return {"BROWSER": f"{script} %s"}


def begun(folder, *options):
    """The demonstration, when it waits for somebody: its process, the links, what it said."""
    place = ["--people", str(PEOPLE), "-o", str(folder / "demo"), *options]
    environment = os.environ | browser(folder) | {"TMPDIR": str(folder)}
    process = subprocess.Popen([*COMMAND, *place], text=True, env=environment, **LINES)
    said = []
    while not said or "waiting" not in said[-1]:
        said.append(process.stderr.readline())
        assert said[-1], "".join(said)
    (dashboard,) = re.findall(r"dashboard: +([^\s\"]+)", "".join(said))
    (page,) = re.findall(r"survey page: +([^\s\"]+)", "".join(said))
    return SimpleNamespace(process=process, said=said, dashboard=dashboard, page=page)


def left(folder):
    return [path for path in folder.iterdir() if path.name.startswith("incrowd-")]


@pytest.fixture(scope="module", params=slowly(1, 2))
def joined(request, tmp_path_factory):
    """The person sends, looks at the dashboard, and presses Enter."""
    folder = tmp_path_factory.mktemp("open")
    demo = begun(folder, "--json", "--mixers", str(request.param))
    front = httpx.get(demo.page.split("#")[0])
    config = json.loads(re.search(r'id="config">(.*?)</script>', front.text, re.DOTALL)[1])
    digest, code = demo.page.split("#")[1].split(".")
    link = Link(config["services"][0], bytes.fromhex(digest), code)
    sent = Device.of(link, folder / "memory").send(ANSWERS)
    said = [*demo.said, demo.process.stderr.readline()]
    address, token = demo.dashboard.split("#")
    known = {"Authorization": f"Bearer {token}"}
    state, estimates, unknown = (
        httpx.get(f"{address}/{path}", headers=headers, timeout=60)
        for path, headers in (("state", known), ("estimates", known), ("estimates", {}))
    )
    out, err = demo.process.communicate("\n", timeout=60)
    return SimpleNamespace(**locals())


def test_the_person_is_counted_with_the_others(joined):
    assert joined.demo.process.returncode == 0, joined.err
    facts = json.loads(joined.out)
    assert joined.sent.outcome == "stored"
    assert (facts["people"], facts["guests"]) == (PEOPLE, 1)
    assert facts["receipt"]["people"] == facts["receipt"]["issued"] == PEOPLE + 1
    assert facts["codes_found"] == 0 and f"{PEOPLE + 1} uploads" in facts["seen"]["The network"]


def test_the_dashboard_shows_the_estimates_until_enter(joined):
    assert joined.state.json()["opened_people"] == PEOPLE + 1
    assert joined.estimates.status_code == 200 and "How is your health?" in joined.estimates.text
    assert joined.unknown.status_code == 401


def test_json_stays_json(joined):
    lines = [*joined.said, *joined.err.splitlines()]
    assert all(json.loads(line) for line in lines) and "closed and opened" in joined.said[-1]


def test_a_browser_is_opened_with_both_links(joined):
    opened = (joined.folder / "opened").read_text().split()
    assert sorted(opened) == sorted([joined.demo.dashboard, joined.demo.page])


def test_the_page_has_its_policy_and_nothing_is_left(joined):
    policy = joined.front.headers["content-security-policy"]
    assert all(address in policy for address in joined.config["services"])
    assert "frame-ancestors 'none'" in policy
    assert left(joined.folder) == []


@pytest.mark.slow
def test_ctrl_c_ends_all_of_it(tmp_path):
    demo = begun(tmp_path)
    demo.process.send_signal(signal.SIGINT)
    out, err = demo.process.communicate(timeout=60)
    assert demo.process.returncode == 130 and out == "" and "Traceback" not in err
    assert left(tmp_path) == []
    for address in (demo.dashboard, demo.page):
        with pytest.raises(httpx.ConnectError):
            httpx.get(address.split("#")[0])


class TestWaiting:
    def visit(self, came):
        return Visit("http://127.0.0.1:1/#page", "http://127.0.0.1:1/dashboard#token", came)

    @pytest.fixture
    def waiting(self, monkeypatch):
        """Waits for what comes over a pipe; tells the browser nothing."""
        monkeypatch.setattr(live, "browse", lambda *_: None)
        read, write = os.pipe()
        with os.fdopen(read) as input, os.fdopen(write, "wb", 0) as output:
            monkeypatch.setattr(sys, "stdin", input)

            def made(written, seconds=30.0, closed=False):
                output.write(written)
                if closed:
                    output.close()
                return live.AtBrowser(seconds)

            yield made

    def test_enter_ends_it(self, waiting):
        waiting(b"\n").arrive(self.visit(lambda: False))

    def test_the_person_ends_it_also_where_nobody_can_press_enter(self, waiting):
        looks = iter([False, False, False, True])
        at = waiting(b"", closed=True)
        at.arrive(self.visit(lambda: next(looks)))
        assert at.enter.closed and next(looks, None) is None
        at.leave()  # at once: the result is on the disk

    def test_a_limit_ends_it(self, waiting):
        waiting(b"", seconds=0.3).arrive(self.visit(lambda: False))

    def test_a_letter_is_no_enter(self, waiting):
        at = waiting(b"x")
        assert not at.enter.pressed(0.0) and not at.enter.closed

    def test_it_is_said_when_people_are_counted_again(self, waiting, monkeypatch):
        """The dashboard of a demonstration stood still, and nobody knew for how long."""
        lines = []
        monkeypatch.setattr(live, "say", lines.append)
        waiting(b"\n").arrive(self.visit(lambda: False))
        following = datetime.now(UTC) + timedelta(hours=1)
        assert any(f"once an hour, next at {following:%H}:00 UTC" in line for line in lines)

    def test_without_standard_input(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        at = live.AtBrowser(0.1)
        at.leave()
        assert at.enter.closed


class TestBrowsing:
    def opened(self, monkeypatch, found):
        before = set(threading.enumerate())
        monkeypatch.setattr(live.webbrowser, "get", found)
        live.browse("http://127.0.0.1:1/#x")
        for thread in set(threading.enumerate()) - before:
            thread.join(5)

    def test_where_there_is_none_nothing_fails(self, monkeypatch):
        def none():
            raise live.webbrowser.Error("could not locate runnable browser")

        self.opened(monkeypatch, none)

    def test_one_in_the_terminal_is_left_alone_unless_it_is_wanted(self, monkeypatch, tmp_path):
        file = tmp_path / "opened"
        found = live.webbrowser.GenericBrowser(["sh", "-c", f"echo %s > {file}"])
        monkeypatch.delenv("BROWSER", raising=False)
        self.opened(monkeypatch, lambda: found)
        assert not file.exists()
        monkeypatch.setenv("BROWSER", "sh")
        self.opened(monkeypatch, lambda: found)
        assert file.exists()


def test_a_host_knows_the_files_of_the_page_and_no_others():
    files = {"_headers": b"/*\n  X-A: b\n", "index.html": b"<p>", "a.js": b"1"}
    transport = httpx.ASGITransport(page_application(files))

    async def talk():
        async with httpx.AsyncClient(transport=transport, base_url="http://host") as client:
            return [await client.get(path) for path in ("/", "/a.js", "/b.js", "/../x", "/a/b")]

    found = asyncio.run(talk())
    assert [each.status_code for each in found] == [200, 200, 404, 404, 404]
    assert found[0].headers["x-a"] == "b" and "javascript" in found[1].headers["content-type"]
