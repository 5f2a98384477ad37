"""What a device says: of bundles, of answers that say no, of what it remembers, of its command."""

import sys
from threading import Event
from unittest import mock

import httpx

from incrowd.collection import rehearsal
from incrowd.collection.device.crowd import CrowdUploads, send_each
from incrowd.collection.device.device import Device, _within, checked_code, stratum_number
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.device.promising import promised
from incrowd.collection.device.sending import fetch
from incrowd.collection.page.files import PageContent, page_files, shipped
from tests.messages.shared import answers_file, command, file
from tests.messages.workflow import less_noise
from tests.oracles import make_vectors
from tests.oracles.inviting import CODES, Services
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import (
    CODE,
    INVITED,
    OPEN,
    Shuffler,
    connection,
    link,
    said,
    traveling,
)
from tests.oracles.shuffler import device as made


def refused(answer, act=lambda one: one.send(ANSWERS[0], keep=True)):
    """A device that gets that answer; it has sent before if it is to withdraw."""

    def call(folder):
        shuffler = Shuffler(OPEN)
        one = made(shuffler, folder / "home", whole=5.0)
        if act is Device.withdraw:
            one.send(ANSWERS[0], keep=True)
        shuffler.faults += [answer] * 99
        return act(one)

    return call


def with_forged_tokens(folder):
    services = Services()
    one = made(services, folder, code=CODES[0].decode())
    services.tokens = lambda _: httpx.Response(200, content=bytes(256))
    return one.send(ANSWERS[0])


def withdrawn_for_good(folder):
    """An upload to two mixers that arrives after it was withdrawn."""
    services = Services()
    one, honest = made(services, folder, code=CODES[0].decode()), services.handled
    services.handled = lambda r: said("withdrawn") if r.url.path == "/upload" else honest(r)
    return one.send(ANSWERS[0])


def twice(folder):
    one = made(Shuffler(OPEN), folder / "home")
    return [one.send(ANSWERS[0]) for _ in range(2)]


def sent_by_another_window(folder):
    """Another window has finished while this one waited for the tokens of the same upload."""
    memory = DeviceMemory(folder)
    memory.note(OPEN)
    memory.exchange(OPEN, b"old", b"new")


def at_page(_):
    """The link of a survey page, given to `send`."""
    page = page_files(
        PageContent(INVITED.plan, ("https://mix.example",), INVITED.plan.guarantee), shipped()
    )["index.html"]
    return fetch(link(INVITED), connection(lambda _: traveling(httpx.Response(200, content=page))))


def remembered(name, content):
    """A memory with something else in it."""

    def call(folder):
        one = made(Shuffler(INVITED), folder, code=CODE)
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
        return one.send(ANSWERS[0])

    return call


def with_a_folder(folder):
    """A memory with a folder where the upload should be."""
    memory = DeviceMemory(folder)
    memory.keep(OPEN, b"")
    (path,) = folder.glob("*.upload")
    path.unlink()
    path.mkdir()
    return memory


def kept_in_a_folder(folder):
    with_a_folder(folder).stored(OPEN)


def keep_over_a_folder(folder):
    with_a_folder(folder).keep(OPEN, b"")


def two_rows(folder):
    one = made(Shuffler(OPEN), folder / "home")
    return one._drawn(make_vectors.pa.table({"smokes": ["yes", "no"]}), None, "", None)


def noisy(_):
    """A bundle whose plan promises more than it keeps."""
    plan = less_noise()
    ids = {question.id: "?" for question in plan.survey.questions}
    wording = {"language": "en", "title": "T", "questions": ids}
    slots = make_vectors.slots(plan)
    return promised(
        make_vectors.bundle(
            plan=plan, wording=wording, slots=slots, colluding=plan.survey.colluding
        )
    )


def send(*arguments):
    """The command, against a shuffler that is played."""

    def call(folder):
        played = connection(Shuffler(INVITED))
        words = [answers_file(folder) if word == "ANSWERS" else word for word in arguments]
        with mock.patch("incrowd.collection.device.connection.Connection", lambda **_: played):
            command("send", link(INVITED), *words, "--memory", folder / "home")

    return call


def codes(content):
    def call(folder):
        path = file(folder, "codes.csv", content) if content is not None else folder / "none"
        send("ANSWERS", "--each-row", "--codes", path)(folder)

    return call


def without(_):
    """The extra is not installed."""
    with mock.patch.dict(sys.modules, httpx=None):
        sys.modules.pop("incrowd.collection.device.connection", None)
        command("send", link(INVITED))


def elsewhere(_):
    return fetch(link(INVITED), connection(Shuffler(OPEN)))


def alone(_):
    return connection(Shuffler(OPEN, faults=["lost"] * 99)).ask("GET", "https://mix.example/bundle")


class Late:
    """A service that ended before its release was opened."""

    def is_alive(self):
        return False


def refused_uploads(_):
    return rehearsal._check_all_came(CrowdUploads(9, 8, 0, {"closed": 1}, 8, 1, 1.0))


class Nobody:
    number = 3


CASES = {
    "another bundle": elsewhere,
    "the link of a survey page": at_page,
    "no bundle": lambda _: fetch(
        link(OPEN), connection(Shuffler(OPEN, faults=[httpx.Response(404)]))
    ),
    "a plan that does not hold": noisy,
    "a plan that takes too long": lambda _: _within(0.0, Event().wait),
    "no answer": alone,
    "closed": refused(said("closed")),
    "a used code": refused(said("code-used")),
    "an unknown code": refused(said("code-unknown")),
    "a withdrawn upload": refused(said("withdrawn")),
    "not open": refused(said("not-open")),
    "busy": refused(said("busy")),
    "a fault of a proxy": refused(httpx.Response(502)),
    "sent elsewhere": refused(httpx.Response(307)),
    "another length": refused(said("length")),
    "withdrawn too late": refused(said("not-found"), Device.withdraw),
    "tokens that are not valid": with_forged_tokens,
    "a code that the inviter does not know": lambda folder: made(
        Services([]), folder, code=CODES[0].decode()
    ).send(ANSWERS[0]),
    "withdrawn for good": withdrawn_for_good,
    "withdrawn twice": refused(said("method"), Device.withdraw),
    "nothing to withdraw": lambda folder: made(Shuffler(OPEN), folder).withdraw(),
    "answered twice": twice,
    "sent by another window": sent_by_another_window,
    "two rows": two_rows,
    "no code": lambda _: checked_code(INVITED, ""),
    "no stratum": lambda _: stratum_number(make_vectors.OPEN, None),
    "another stratum": lambda _: stratum_number(make_vectors.OPEN, "west"),
    "an edited memory": remembered("answered", b"x\n"),
    "a memory in another encoding": remembered("answered", b"\xff"),
    "a memory that is a folder": remembered("answered", None),
    "an upload in the place of a folder": keep_over_a_folder,
    "a kept upload that is a folder": kept_in_a_folder,
    "a memory below a file": lambda folder: DeviceMemory(file(folder, "file") / "home").note(OPEN),
    "a memory in a file": lambda folder: DeviceMemory(file(folder, "file")).keep(OPEN, b""),
    "too few codes": lambda _: send_each(INVITED, Nobody, connection(Shuffler(OPEN)), codes=[]),
    "a crowd that is too small": lambda _: rehearsal.crowd_of(20),
    "a crowd that is refused": refused_uploads,
    "a release that is not opened": lambda _: rehearsal._wait_for(lambda: False, [Late()]),
}

COMMANDS = {  # of the command line
    "devices without a network": lambda folder: command("demo", "--people", "500", "-o", folder),
    "a guest without a network": lambda folder: command("demo", "--open", "-o", folder),
    "waiting for nobody": lambda folder: command("demo", "--live", "--wait", "3", "-o", folder),
    "mixers without a network": lambda folder: command("demo", "--mixers", "2", "-o", folder),
    "too many mixers": lambda folder: command("demo", "--live", "--mixers", "3", "-o", folder),
    "no time to wait": lambda folder: command(
        "demo", "--live", "--open", "--wait", "nan", "-o", folder
    ),
    "more devices than data": lambda folder: command(
        "demo", "--live", "--people", "20191", "-o", folder
    ),
    "answers": send(),
    "another short form": send("--show", "--short", "0000-0000"),
    "no file of codes": codes(None),
    "codes without their column": codes("a,b\n1,2\n"),
    "codes in another encoding": codes(b"code\n\xff\n"),
    "what is not installed": without,
}
