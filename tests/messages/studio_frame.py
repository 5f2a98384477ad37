"""What is said by the frame of the studio: its languages, its processes, and its own mistakes."""

import asyncio
from types import SimpleNamespace
from unittest import mock

from starlette.exceptions import HTTPException

from incrowd.studio import access, app, pages, work
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


def too_much(_):
    """More than a form may send."""

    async def receive():
        return {"body": b"xx"}

    with mock.patch.object(access, "MOST_SENT", 1):
        asyncio.run(access._limited({"type": "http", "headers": []}, receive)())


CASES = {
    "more than a form may send": too_much,
    "a form that cannot be read": lambda _: raised(
        pages.unread(HTTPException(400, "Too many fields. Maximum number of fields is 1000."))
    ),
    "an unknown language": handled(app.choose_language, language="tlh"),
    "a bug": lambda _: raised(work.fault(KeyError("name"))),
    "a process that ended": ended,
}
