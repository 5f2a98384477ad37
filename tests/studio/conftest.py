import asyncio

import httpx
import pytest

from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs

PORT = 8642
ORIGIN = f"http://127.0.0.1:{PORT}"


class Browser:
    """A client of the studio that keeps cookies and follows no redirects."""

    def __init__(self, app):
        self.app, self.cookies, self.headers = app, httpx.Cookies(), {}

    def request(self, method, path, *, headers=(), **content):
        async def sent():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url=ORIGIN, cookies=self.cookies
            ) as client:
                merged = self.headers | dict(headers)
                response = await client.request(method, path, headers=merged, **content)
                self.cookies.update(client.cookies)
                return response

        return asyncio.run(sent())

    def get(self, path, **content):
        return self.request("GET", path, **content)

    def post(self, path, **content):
        return self.request("POST", path, **content)


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
