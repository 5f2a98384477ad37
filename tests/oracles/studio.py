"""The studio in tests: a client that needs no server, jobs that need no process, and the command
in a process of its own."""

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from multiprocessing.connection import Connection, Pipe
from threading import Thread
from types import SimpleNamespace

import httpx

from incrowd.studio import work

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


class JobThread(Thread):
    """What the process of a job would do, in this one: results pass through a pipe here as well."""

    def __init__(self, target, args):
        super().__init__(daemon=True)
        sender, *self.job = args
        self.sender = Connection(os.dup(sender.fileno()), readable=False)

    def run(self):
        with self.sender, suppress(BrokenPipeError):  # the job was stopped
            work._report(self.sender, *self.job)

    def terminate(self):
        """Nobody listens any longer."""


class JobsHere(work.Jobs):
    """Jobs in threads: a plan that an earlier test has made is not made again."""

    def __init__(self):
        super().__init__()
        self._context = SimpleNamespace(Pipe=Pipe, Process=JobThread)


@contextmanager
def running_studio(folder, **more):
    """Run the studio of a folder; yield its address. more: variables of its environment."""
    command = [sys.executable, "-m", "incrowd", "studio", str(folder), "--no-browser"]
    environment = os.environ | more
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _Fields(HTMLParser):
    """The fields of a form, as a browser would send them."""

    def __init__(self, id):
        super().__init__()
        self.id, self.inside, self.fields, self.field = id, False, {}, ""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.inside = given.get("id") == self.id
        name = given.get("name")
        if not self.inside or (tag != "option" and name is None):
            return
        if tag in ("select", "textarea"):
            self.field, self.kind = name, tag
            self.fields[name] = "" if tag == "textarea" else None
        elif tag == "option" and ("selected" in given or self.fields[self.field] is None):
            self.fields[self.field] = given.get("value") or ""
        elif tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            usual = "on" if given.get("type") == "checkbox" else ""
            self.fields[name] = given.get("value") or usual

    def handle_data(self, data):
        if self.inside and self.field and self.kind == "textarea":
            self.fields[self.field] += data.removeprefix("\n")

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False
        if tag in ("select", "textarea"):
            self.field = ""


def form_fields(page, id):
    """Return the fields of a form of a page, as a browser would send them."""
    reader = _Fields(id)
    reader.feed(page)
    return reader.fields
