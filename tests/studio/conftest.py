import re

import pytest

from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs
from tests.oracles.studio import ORIGIN, PORT, Browser


def fields(page):
    """What a browser would send from the form of the values."""
    form = page[page.index('<form id="values"') :]
    inputs = re.findall(r"<input [^>]*>", form[: form.index("</form>")])
    named = (
        (re.search(r'name="([^"]*)"', each), re.search(r'value="([^"]*)"', each)) for each in inputs
    )
    return {name[1]: value[1] if value else "" for name, value in named if name}


@pytest.fixture
def studio(tmp_path):
    folder = tmp_path / "surveys"
    folder.mkdir()
    studio = Studio(Projects(folder), Jobs())
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
