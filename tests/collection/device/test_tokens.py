"""A device and two mixers: tokens first, all of them valid, and never anything drawn twice."""

import stat
from contextlib import ExitStack
from unittest import mock

import httpx
import numpy as np
import pytest

from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.protocol import tokens
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.tokens import Pending
from incrowd.collection.protocol.upload import parse_upload
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError, UsageError
from tests.conftest import one_in, slowly
from tests.oracles import mixers
from tests.oracles.inviting import CODES, Services, bundle
from tests.oracles.make_vectors import ANSWERS, pa
from tests.oracles.shuffler import connection, device, said

CODE = CODES[0].decode()
SIGNATURES = bundle().places + 1
BYTES = 256 * SIGNATURES


def kept(home):
    return sorted(path.suffix for path in home.glob("*.*"))


def opened(body):
    """What the second mixer and the collector find in an upload: the message, the plaintext."""
    of = bundle()
    upload = parse_upload(body, of)
    assert tokens.has_entry(upload, of)
    reports = mixers.opened(of, [upload])
    assert all(report.is_valid(of, 0) for report in reports)
    keys = (mixers.COLLECTOR_KEY, of.key, of.binding(0), of.label)
    return [(each.message, of.shape.read(unseal(each.inner, *keys))) for each in reports]


def test_one_upload_has_a_token_for_each_slot(home, answers):
    services = Services()
    sent = device(services, home, code=CODE).send(answers)
    (body,) = services.sent_to("/upload")
    assert (sent.outcome, sent.resumed, sent.bytes) == ("stored", False, len(body))
    found = opened(body)
    assert sorted(message for message, _ in found) == list(bundle().slot_messages)
    for number, message in enumerate(bundle().plan.messages):
        reports = [plain for slot, plain in found if slot == number and plain.message is not None]
        assert all(plain.message == number for plain in reports)
        assert message.cells or len(reports) == message.copies
    assert not list(home.glob("*.*")) and DeviceMemory(home).has(bundle())


def test_envelopes_are_in_a_new_order(home, answers):
    """Over some people, the first envelope is not always for the same message."""
    services = Services()
    for number, code in enumerate(CODES):
        device(services, home / str(number), code=code.decode()).send(answers)
    orders = {tuple(m for m, _ in opened(body)) for body in services.sent_to("/upload")}
    assert len(orders) > 1


@pytest.mark.parametrize(
    "faults",
    [
        ["lost"],
        *slowly(["unanswered"], [said("busy"), "unanswered"], [said("not-open"), said("fault")]),
    ],
    ids=str,
)
def test_the_same_request_is_sent_until_it_is_answered(home, answers, faults):
    services = Services()
    one = device(services, home, code=CODE)
    services.faults += faults
    assert one.send(answers).outcome == "stored"
    requests = services.sent_to("/tokens")
    assert len(requests) == len(faults) + 1 and len(set(requests)) == 1


# --- an inviter that does not follow the protocol ------------------------------------------------


def signed(answer, at):
    """The answer with one signature that is not valid."""
    return answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :]


FORGED = {
    "short": lambda answer: answer[:-256],
    "empty": lambda _: b"",
    "long": lambda answer: answer + answer[-256:],
    "endless": lambda answer: answer * 1000,
    "in another order": lambda answer: answer[256:] + answer[:256],
} | {f"signature {n}": lambda a, n=n: signed(a, 256 * n + 255) for n in range(SIGNATURES)}
OTHERS = [f"signature {n}" for n in range(1, SIGNATURES - 1) if n != SIGNATURES // 2]


@pytest.mark.parametrize(
    "forge", [*(name for name in FORGED if name not in OTHERS), *slowly(*OTHERS)]
)
def test_nothing_is_uploaded_without_all_tokens(home, answers, forge):
    """A device that uploaded the rest would tell the inviter whose upload it is."""
    services = Services()
    one, honest = device(services, home, code=CODE), services.tokens
    services.tokens = lambda body: httpx.Response(200, content=FORGED[forge](honest(body).content))
    with pytest.raises(ProtocolError, match="does not follow the protocol, so nothing"):
        one.send(answers)
    assert services.sent_to("/upload") == [] and kept(home) == [".pending"]
    services.tokens = honest
    assert one.send(ANSWERS[1]).resumed
    assert len(set(services.sent_to("/tokens"))) == 1 and len(services.stored) == 1


def test_an_upload_with_fewer_envelopes_is_refused(home, answers):
    """The wrong device, which sends what it has tokens for: the length gives it away."""
    services = Services()
    device(services, home, code=CODE).send(answers)
    (body,) = services.sent_to("/upload")
    with pytest.raises(ProtocolError, match="length"):
        parse_upload(body[: -bundle().envelope_length], bundle())


# --- a kill at every step ------------------------------------------------------------------------

STEPS = (
    (DeviceMemory, "keep"),
    (DeviceMemory, "_note"),
    (DeviceMemory, "drop"),
    (Connection, "ask"),
)


class Killed(BaseException):
    """The process ends."""


def killed_at(number, after):
    """Everything ends before or after a step of the device, whichever it is."""
    stack, count = ExitStack(), iter(range(1000))
    for owner, name in STEPS:
        act = getattr(owner, name)

        def step(self, *given, act=act, **more):
            this = next(count) == number
            if this and not after:
                raise Killed
            result = act(self, *given, **more)
            if this:
                raise Killed
            return result

        stack.enter_context(mock.patch.object(owner, name, step))
    return stack


def run(home, number, after):
    """Send, be killed, and send other answers afterwards. Returns the services, and whether."""
    services, killed = Services(), False
    one = device(services, home, code=CODE)
    with killed_at(number, after):
        try:
            one.send(ANSWERS[0])
        except Killed:
            killed = True
    if (killed and not DeviceMemory(home).has(bundle())) or kept(home):
        device(services, home, code=CODE).send(ANSWERS[1])
    return services, killed


KILLS = 7  # pending, its note, tokens, upload, its sending, its removal; then none


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", one_in(2, range(KILLS)))
def test_a_device_that_is_killed_goes_on_with_the_same_bytes(home, number, after):
    services, killed = run(home, number, after)
    assert killed == (number < KILLS - 1)
    assert len(set(services.sent_to("/tokens"))) == 1
    assert len(set(services.sent_to("/upload"))) == len(services.stored) == 1
    assert kept(home) == [] and DeviceMemory(home).has(bundle())


def test_a_device_that_stores_too_late_would_blind_anew(home):
    """The wrong order: what it stores after the request is lost, and its code with it."""
    keep = DeviceMemory.keep

    def too_late(self, of, upload):
        if not isinstance(upload, Pending):
            keep(self, of, upload)

    with (
        mock.patch.object(DeviceMemory, "keep", too_late),
        mock.patch.object(DeviceMemory, "_note"),
        pytest.raises(ProtocolError, match="invitation was already used"),
    ):
        run(home, 2, after=True)


def test_what_waits_for_tokens_is_private_and_goes_when_the_collection_closes(home, answers):
    services = Services()
    one = device(services, home, code=CODE, whole=1.0)
    services.faults += ["lost"] * 20
    with pytest.raises(ProtocolError, match="did not respond"):
        one.send(answers)
    (file,) = home.glob("*.pending")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    one.memory.tidy(as_time(bundle().closes))
    assert kept(home) == []


# --- what answers mean ---------------------------------------------------------------------------


def test_an_unknown_code_may_be_typed_again(home, answers):
    services = Services(CODES[1:])
    with pytest.raises(ProtocolError, match="check each character"):
        device(services, home, code=CODE).send(answers)
    assert kept(home) == [".pending"] and DeviceMemory(home).has(bundle())
    assert device(services, home, code=CODES[1].decode()).send(ANSWERS[1]).resumed
    requests = services.sent_to("/tokens")
    assert [each[32:48] for each in requests] == [CODES[0], CODES[0], CODES[1]]
    assert len({each[:32] + each[48:] for each in requests}) == 1, "the same blinded values"


def test_a_code_of_another_device_gets_no_new_draw(home, answers):
    services = Services()
    services.codes[CODES[0]] = b"another request"
    for _ in range(2):
        with pytest.raises(ProtocolError, match="invitation was already used"):
            device(services, home, code=CODE).send(answers)
    assert len(set(services.sent_to("/tokens"))) == 1 and kept(home) == [".pending"]


def test_two_windows_that_get_tokens_send_one_upload(home, answers):
    """Each would put the same reports into envelopes of its own."""
    services = Services()
    one, other = (device(services, home, code=CODE) for _ in range(2))
    honest = services.handled

    def meanwhile(request):
        if request.url.path == "/tokens" and services.handled is not honest:
            services.handled = honest
            other.send(ANSWERS[1], keep=True)
        return honest(request)

    services.handled = meanwhile
    assert one.send(answers, keep=True).outcome == "repeated"
    assert len(set(services.sent_to("/upload"))) == 1
    assert len(set(services.sent_to("/tokens"))) == 1


def test_a_mixer_that_refuses_the_upload_is_final(home, answers):
    """The code gets no other tokens, so that nothing else is ever sent."""
    services = Services()
    one, honest = device(services, home, code=CODE), services.handled
    services.handled = lambda r: said("token") if r.url.path == "/upload" else honest(r)
    with pytest.raises(ProtocolError, match="a token is not valid"):
        one.send(answers)
    services.handled = honest
    assert kept(home) == [".upload"]
    assert one.send(ANSWERS[1]).resumed and len(set(services.sent_to("/upload"))) == 1


def test_withdrawing_is_final(home, answers):
    services = Services()
    one = device(services, home, code=CODE)
    one.send(answers, keep=True)
    assert len(services.stored) == 1 and kept(home) == [".kept"]
    one.withdraw()
    assert services.stored == {} and kept(home) == []
    with pytest.raises(UsageError, match="randomized once and never anew"):
        one.send(answers)


def test_a_late_upload_that_was_withdrawn_does_not_ask_for_new_answers(home, answers):
    services = Services()
    one, honest = device(services, home, code=CODE), services.handled
    services.handled = lambda r: said("withdrawn") if r.url.path == "/upload" else honest(r)
    with pytest.raises(ProtocolError, match="never randomized a second time"):
        one.send(answers)


def test_a_damaged_file_is_not_sent(home, answers):
    services = Services()
    one = device(services, home, code=CODE, whole=1.0)
    services.faults += ["lost"] * 20
    with pytest.raises(ProtocolError):
        one.send(answers)
    services.faults.clear()
    (file,) = home.glob("*.pending")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ProtocolError, match="nothing else is ever sent"):
        one.send(answers)
    assert services.sent_to("/upload") == []


def test_a_person_is_told_who_runs_what(home):
    terms = dict(device(Services(), home).terms)
    assert terms["Run by"] == (
        "Works council (invitations), University A (first mixer), University B (second mixer), "
        "Institute (collector)"
    )


def test_a_crowd_sends_to_two_mixers(home):
    services, people = Services(), 4
    table = pa.concat_tables([pa.table({k: [v] for k, v in ANSWERS[0].items()})] * people)
    encoded = EncodedAnswers.of(bundle().plan.survey, table)
    codes = [*CODES[:3], b"9" * 16]
    crowd = send_each(bundle(), encoded, connection(services), codes=codes, at_once=1)
    assert (crowd.stored, crowd.refused) == (3, {"code-unknown": 1})
    assert all(len(opened(body)) == bundle().places for body in services.sent_to("/upload"))
    assert crowd.sealed_reports == 3 * bundle().places and np.isfinite(crowd.seconds)
