"""A shuffler that is played: what it has stored, and faults that happen once each, in order."""

from dataclasses import dataclass, field

import httpx

from incrowd.collection.device.connection import Connection, Patience, open_client
from incrowd.collection.device.device import Device
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.upload import parse_upload
from tests.oracles import make_vectors

OPEN = make_vectors.bundle(codes=False)
INVITED = make_vectors.INVITED
CODE = make_vectors.keys()["code"]["text"]


def said(name, **headers):
    kind = problem.KINDS[name]
    return httpx.Response(kind.status, content=problem.document(kind), headers=headers)


def traveling(answer):
    """The answer with a body that has yet to come, as from a network."""
    if not answer.is_closed:
        return answer
    headers = {k: v for k, v in answer.headers.items() if k != "content-length"}
    return httpx.Response(answer.status_code, headers=headers, content=iter([answer.content]))


@dataclass
class Shuffler:
    """faults: "lost" before it is handled, "unanswered" after; or an answer in its place.

    unknown: codes that it refuses. gone: withdrawn uploads, by entry if there are invitations.
    """

    bundle: object
    faults: list = field(default_factory=list)
    closed: bool = False
    stored: dict = field(default_factory=dict)
    unknown: set = field(default_factory=set)
    gone: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)

    def __call__(self, request):
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "lost":
            raise httpx.ConnectError("no route", request=request)
        if isinstance(fault, httpx.Response):
            return traveling(fault)
        answer = self.handled(request)
        if fault == "unanswered":
            raise httpx.ReadTimeout("late", request=request)
        return traveling(answer)

    def handled(self, request):
        if request.url.path.endswith("/bundle"):
            return httpx.Response(200, content=self.bundle.encoded)
        if request.method == "GET":
            return httpx.Response(404)
        body = request.read()
        upload = parse_upload(body, self.bundle)
        if request.method == "DELETE":
            return self.withdrawn(upload, body)
        if self.closed:
            return said("closed")
        if self.stored.get(upload.entry, None) == body or body in self.stored.values():
            return httpx.Response(200)
        if body in self.gone.values():
            return said("withdrawn")
        if self.bundle.codes and upload.entry in self.stored | self.gone:
            return said("code-used")
        if upload.entry in self.unknown:
            return said("code-unknown")
        self.stored[upload.entry if self.bundle.codes else len(self.stored)] = body
        return httpx.Response(201)

    def withdrawn(self, upload, body):
        if self.closed:
            return said("not-found")
        self.stored = {key: data for key, data in self.stored.items() if data != body}
        self.gone[upload.entry if self.bundle.codes else len(self.gone)] = body
        return httpx.Response(204)

    @property
    def bodies(self):
        """What came to it, as uploads."""
        return [r.content for r in self.requests if r.method in ("POST", "DELETE")]


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self):
        self.time, self.pauses = 0.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.time += seconds


def connection(shuffler, clock=None, **patience):
    clock = clock or Clock()
    client = open_client(httpx.MockTransport(shuffler))
    return Connection(client, Patience(**patience), now=clock.now, sleep=clock.sleep)


def link(bundle, code=""):
    return Link(bundle.link_address, bundle.digest, code)


def device(shuffler, folder, clock=None, code="", **patience):
    found = link(shuffler.bundle, code)
    return Device.of(found, folder, connection=connection(shuffler, clock, **patience))
