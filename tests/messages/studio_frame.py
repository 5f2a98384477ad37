"""What is said by the frame of the studio: its languages, its processes, and its own mistakes."""

import asyncio
import gzip
from types import SimpleNamespace
from unittest import mock

from starlette.exceptions import HTTPException

from incrowd.studio import access, app, imports, pages, work
from incrowd.studio.projects import Project
from incrowd.survey.toml import MOST_BYTES
from tests.messages.studio_design import handled


def raised(error):
    raise error


def ended(_):
    """A process that ends without a word."""
    job = work.Job(process=SimpleNamespace(join=lambda: None))

    def received():
        raise EOFError

    work._follow(job, SimpleNamespace(recv=received, close=lambda: None))
    raise job.error


def endless_upload(_):
    """A body that is longer than the server takes."""

    async def received():
        return {"body": b"12345678", "more_body": False}

    with mock.patch.object(access, "MOST_SENT", 4):
        receiving = access._limited({"type": "http", "headers": []}, received)
        asyncio.run(receiving())


def unpacks_to_much(folder):
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress(bytes(5000)))
    with mock.patch.object(imports, "MOST_UNPACKED", 1000):
        imports.check_unpacked(path)


def huge_survey(folder):
    (folder / "survey.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    Project(folder).text()


CASES = {
    "a long upload": endless_upload,
    "a file that unpacks to much": unpacks_to_much,
    "a survey that is too long for its text": huge_survey,
    "a form that cannot be read": lambda _: raised(pages.unread(HTTPException(400, "Too many."))),
    "an unknown language": handled(app.choose_language, language="tlh"),
    "a bug": lambda _: raised(work.fault(KeyError("name"))),
    "a process that ended": ended,
}
