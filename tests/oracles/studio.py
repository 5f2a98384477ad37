"""The studio in tests: a client that needs no server, and the command in a process of its own."""

import asyncio
import subprocess
import sys
from contextlib import contextmanager

import httpx

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


@contextmanager
def running_studio(folder):
    """Run the studio of a folder; yield its address."""
    command = [sys.executable, "-m", "incrowd", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
