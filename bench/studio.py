"""The studio: from its start to a picture, each step of a slider, and certificates.

The steps are requests to the application in this process, as a browser would send them; the start
is a process of its own, with the first picture fetched over its port.
"""

import asyncio
import http.client
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from bench.measure import Row
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs

PORT = 8643
STEPS = 100
STARTS = 5
CERTIFICATES = 5
STEP_BAR, CERTIFIED_BAR, START_BAR = 0.3, 3.0, 2.0
YES_NO = ("smokes", "drinks", "bullied", "medicine", "leave")
CHOICES = {"age": 3, "sex": 3, "stress": 4, "sleep": 3, "department": 6}


def survey():
    """The text of a survey of ten questions, two joint tables and a regression."""
    lines = ['name = "Work"', "crowd = 5000", "[privacy]", "epsilon = 1.0", "delta = 1e-6"]
    for id in YES_NO:
        lines += ["[[question]]", f'id = "{id}"', 'type = "yesno"']
    for id, number in CHOICES.items():
        options = ", ".join(f'"{id} {place}"' for place in range(number))
        lines += ["[[question]]", f'id = "{id}"', 'type = "choice"', f"options = [{options}]"]
    for ids in (("smokes", "age"), ("bullied", "department")):
        lines += ["[[table]]", f'questions = ["{ids[0]}", "{ids[1]}"]']
    lines += ["[[regression]]", 'outcome = "bullied"', 'on = ["age", "sex"]']
    return "\n".join(lines) + "\n"


def rows():
    """The rows of the section."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work"
        path.mkdir()
        (path / "survey.toml").write_text(survey())
        yield from steps(Path(folder))
        yield Row("start to the first picture", start(folder), bar=bar(START_BAR))


def bar(seconds):
    return f"at most {seconds:g} s"


def steps(folder):
    """Steps of sliders, and certificates, on a survey of ten questions."""
    keys = SessionKeys(PORT)
    studio = Studio(Projects(folder), Jobs())
    transport = httpx.ASGITransport(application(studio, keys))
    origin = f"http://127.0.0.1:{PORT}"
    headers = {"Origin": origin, "HX-Request": "true"}

    async def send(path, values):
        async with httpx.AsyncClient(
            transport=transport, base_url=origin, headers=headers, cookies=cookies
        ) as client:
            before = time.perf_counter()
            response = await client.post(path, data=values)
            seconds = time.perf_counter() - before
        assert response.status_code == 200, response.text
        return response.text, seconds

    cookies = {keys.cookie: keys.session}
    try:
        asyncio.run(send("/p/work/precision", {}))  # compiles and loads
        for what, drawn in WITH.items():
            chance = random.Random(8643)
            seconds = [
                asyncio.run(send("/p/work/precision", drawn(chance)))[1] for _ in range(STEPS)
            ]
            name = f"a step of a slider, ten questions{what}: 95th percentile of {STEPS}"
            yield Row(name, statistics.quantiles(seconds, n=20)[-1], bar=bar(STEP_BAR))
        chance = random.Random(8644)
        seconds = [
            certified(studio, folder, send, unlimited(chance)) for _ in range(CERTIFICATES + 1)
        ]
        name = f"a certificate, ten questions: longest of {CERTIFICATES}"
        yield Row(name, max(seconds[1:]), bar=bar(CERTIFIED_BAR))
        yield Row("the first certificate after the start", seconds[0], bar=bar(CERTIFIED_BAR))
    finally:
        studio.jobs.stop_all()


def certified(studio, folder, send, values):
    """Seconds until the values are certified, in a process of its own."""
    before = time.perf_counter()
    asyncio.run(send("/p/work/precision/certify", values))
    job = studio.jobs.get((folder / "work", "certify"))
    job.ended.wait()
    assert job.state == "done", job.error
    return time.perf_counter() - before


def unlimited(chance):
    """Random places of the three main sliders."""
    return {
        "crowd": str(round(10 ** chance.uniform(2.5, 6))),
        "epsilon": f"{10 ** chance.uniform(-0.7, 0.7):.2g}",
        "delta": f"1e-{chance.randint(5, 10)}",
    }


def local(chance):
    """The same, with a limit for what a failing shuffler leaves."""
    return unlimited(chance) | {"local_epsilon": f"{chance.uniform(1, 20):.2g}"}


def few_reports(chance):
    """The same, with a limit for the reports of a person."""
    return unlimited(chance) | {"reports_per_person": str(chance.randint(1, 20))}


WITH = {
    "": unlimited,
    ", with a maximum local epsilon": local,
    ", with a maximum number of reports": few_reports,
}


def start(folder):
    """Seconds from the start of a process until a page with a picture was received; the median."""
    return statistics.median([_started(folder) for _ in range(STARTS + 1)][1:])


def _started(folder):
    before = time.perf_counter()
    command = [sys.executable, "-m", "incrowd", "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port, token = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline()).groups()
        connection = http.client.HTTPConnection("127.0.0.1", int(port))
        connection.request("GET", f"/?token={token}")
        answer = connection.getresponse()
        cookie = answer.getheader("Set-Cookie").partition(";")[0]
        answer.read()
        connection.request("GET", "/p/work/precision", headers={"Cookie": cookie})
        assert b"<svg" in connection.getresponse().read()
        return time.perf_counter() - before
    finally:
        process.terminate()
        process.wait()
