"""What all services share: work goes on after every failure, and ends when the service stops."""

import asyncio
import threading

import pytest
from starlette.applications import Starlette

from incrowd.collection.service import CollectionService
from incrowd.collection.steps import WORKING, ServiceSteps
from tests.oracles.serving import running


class Failing(CollectionService):
    """Fails at first, each time with another error. free: whether a look may end."""

    def __init__(self, *errors):
        super().__init__(ServiceSteps("probing", WORKING), pause=0.01)
        self.errors, self.begun, self.done, self.closed = list(errors), 0, 0, False
        self.free, self.has_room = threading.Event(), True
        self.free.set()

    def look(self):
        if self.errors:
            raise self.errors.pop(0)
        self.begun += 1
        self.free.wait(60)
        self.done += 1

    def probes(self):
        return {"probing": self.probe}

    def probe(self):
        if not self.has_room:
            raise OSError("no room")

    def close(self):
        self.closed = True

    async def broken(self, _):
        raise ZeroDivisionError("of somebody")


def during(service, talk):
    """The result of a talk with a service while it runs."""

    async def run():
        app = Starlette(**service.parts(service.route("/broken", service.broken)))
        async with running(app) as client:
            return await talk(client)

    return asyncio.run(run())


async def until(holds):
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("error", [OSError("away"), KeyError("a"), ZeroDivisionError()])
def test_work_goes_on_after_every_error(error):
    """Also after one that nobody foresaw: it is a mistake of ours, and the next look may do."""
    service = Failing(error, error)

    async def talk(_):
        await until(lambda: service.done > 1)

    during(service, talk)
    assert service.closed and service.steps.failing == {}


def test_it_is_ready_if_the_work_succeeds_and_what_it_tries_now_does():
    service = Failing(*[OSError("away")] * 3)
    service.free.clear()

    async def talk(client):
        await until(lambda: service.steps.failing)
        before = await client.get("/ready")
        service.free.set()
        await until(lambda: service.done)
        after = await client.get("/ready")
        service.has_room = False
        return before, after, await client.get("/ready"), await client.get("/metrics")

    before, after, full, metrics = during(service, talk)
    assert [(each.status_code, each.text) for each in (before, after, full)] == [
        (503, "no\n"),
        (200, "ready\n"),
        (503, "no\n"),
    ]
    assert 'incrowd_failing{step="probing"} 1.0' in metrics.text


def test_needed_steps_alone_decide_if_there_are_some():
    service = Failing(*[OSError("away")] * 1000)
    service.needed = ("probing",)

    async def talk(client):
        await until(lambda: service.steps.failing)
        return (await client.get("/ready")).status_code

    assert during(service, talk) == 200


def test_a_service_stops_after_the_work_that_it_has_begun():
    service = Failing()
    service.free.clear()

    async def talk(_):
        await until(lambda: service.begun)
        asyncio.get_running_loop().call_later(0.05, service.free.set)

    during(service, talk)
    assert (service.done, service.closed) == (1, True)


def test_an_error_in_a_request_is_one_line_without_its_content(caplog):
    async def talk(client):
        return [await client.get("/broken") for _ in range(3)]

    answers = during(Failing(), talk)
    assert {each.status_code for each in answers} == {500}
    assert [each.getMessage() for each in caplog.records] == ["a request failed: ZeroDivisionError"]
