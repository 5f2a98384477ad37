import re

import pytest

import incrowd
from incrowd.planner.plan import make_plan
from incrowd.studio import preparation
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from tests.conftest import once
from tests.oracles.studio import ORIGIN, PORT, Browser, JobsHere


def fields(page):
    """What a browser would send from the form of the values."""
    form = page[page.index('<form id="values"') :]
    inputs = re.findall(r"<input [^>]*>", form[: form.index("</form>")])
    named = (
        (re.search(r'name="([^"]*)"', each), re.search(r'value="([^"]*)"', each)) for each in inputs
    )
    return {name[1]: value[1] if value else "" for name, value in named if name}


make_once = once(make_plan)


def planned_once(survey, earlier=(), progress=None):
    return make_once(survey, earlier=earlier, progress=progress)


@pytest.fixture
def jobs(request):
    """Tests of processes name the class that starts some."""
    return getattr(request, "param", JobsHere)()


@pytest.fixture
def studio(tmp_path, jobs, monkeypatch):
    folder = tmp_path / "surveys"
    folder.mkdir()
    monkeypatch.setattr("incrowd.planner.plan.make_plan", planned_once)
    monkeypatch.setattr(preparation, "plan", incrowd.plan)
    studio = Studio(Projects(folder), jobs)
    yield studio
    studio.jobs.stop_all()


@pytest.fixture
def keys():
    return SessionKeys(PORT)


@pytest.fixture
def stranger(studio, keys):
    """A client that has not opened the address of the studio."""
    return Browser(application(studio, keys))


@pytest.fixture
def browser(stranger, keys):
    """A client in the place of the person's browser: admitted, with the origin of the studio."""
    assert stranger.get(keys.address).status_code == 303
    stranger.headers["Origin"] = ORIGIN
    return stranger
