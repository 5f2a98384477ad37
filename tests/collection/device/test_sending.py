"""One upload, the same bytes until there is an answer, and what an answer means."""

import httpx
import pytest

from incrowd.collection.device.connection import Patience, open_client
from incrowd.collection.device.device import OVER
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.upload import parse_upload, upload_length
from incrowd.errors import AnswersError, ProtocolError, UsageError
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import (
    CODE,
    INVITED,
    OPEN,
    Clock,
    Shuffler,
    connection,
    device,
    said,
)


def test_one_upload_holds_everything(home, answers):
    shuffler = Shuffler(INVITED)
    sent = device(shuffler, home, code=CODE).send(answers)
    assert (sent.outcome, sent.resumed, sent.sealed_reports) == ("stored", False, INVITED.places)
    (body,) = shuffler.bodies
    assert shuffler.requests[-1].headers["content-type"] == "application/octet-stream"
    found = parse_upload(body, INVITED)
    assert found.entry.decode() == CODE and found.stratum == 0
    assert len(body) == upload_length(INVITED) == sent.bytes


@pytest.mark.parametrize(
    "faults",
    [
        ["lost"],
        ["unanswered"],
        ["unanswered", "unanswered", "lost"],
        [httpx.Response(502, content=b"<html>")],
        [said("busy"), said("full"), said("fault"), said("slow"), httpx.Response(429)],
        [said("not-open", **{"Retry-After": "3"})],
    ],
    ids=str,
)
def test_the_same_bytes_are_sent_until_there_is_an_answer(home, answers, faults):
    """Whether an answer is lost before or after it was handled, the upload is there once."""
    shuffler, clock = Shuffler(OPEN), Clock()
    one = device(shuffler, home, clock)
    shuffler.faults += faults
    late = "unanswered" in faults
    assert one.send(answers).outcome == ("repeated" if late else "stored")
    assert len(set(shuffler.bodies)) == 1 and len(shuffler.bodies) == len(faults) + 1
    assert len(shuffler.stored) == 1 and len(clock.pauses) == len(faults)


def test_pauses_grow_to_a_limit_and_differ_between_devices():
    pauses = [
        [next(each) for _ in range(12)] for each in (Patience().pauses(), Patience().pauses())
    ]
    for found in pauses:
        for number, pause in enumerate(found):
            assert 0.5 <= pause / min(30.0, 0.5 * 2**number) <= 1.0
    assert pauses[0] != pauses[1]


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ("7", 7.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("-3", 0.0),
        ("9" * 5000, 0.0),
        ("a", 0),
        (f"Fri, 31 Dec {'9' * 20} 23:59:59 GMT", 0.0),  # a year that no calendar has
        (f"Fri, 1 Jan 2027 00:00:00 +{'9' * 18}", 0.0),  # nor such a zone
        ("Fri, 1 Jan 10000 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_a_shuffler_says_when_to_come_again(home, answers, header, least):
    shuffler, clock = Shuffler(OPEN), Clock()
    one = device(shuffler, home, clock)
    shuffler.faults.append(said("busy", **{"Retry-After": header}))
    one.send(answers)
    assert clock.pauses[0] == least or (least == 0 and 0.25 <= clock.pauses[0] <= 0.5)


def test_patience_ends_and_the_same_upload_is_sent_the_next_time(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home, whole=10.0)
    shuffler.faults += ["unanswered"] * 30
    with pytest.raises(ProtocolError, match="did not respond"):
        one.send(answers)
    shuffler.faults.clear()
    again = device(shuffler, home).send(ANSWERS[1])
    assert (again.outcome, again.resumed) == ("repeated", True)
    assert len(set(shuffler.bodies)) == 1 and not list(home.glob("*.upload"))


def test_a_long_wait_is_not_waited_for(home, answers):
    shuffler, clock = Shuffler(OPEN), Clock()
    one = device(shuffler, home, clock)
    shuffler.faults.append(said("not-open", **{"Retry-After": "86400"}))
    with pytest.raises(ProtocolError, match="not opened yet"):
        one.send(answers)
    assert clock.pauses == [] and one.send(answers).resumed


def test_the_last_moment_of_all_dates_is_not_waited_for(home, answers):
    shuffler, clock = Shuffler(OPEN), Clock()
    one = device(shuffler, home, clock)
    shuffler.faults.append(said("busy", **{"Retry-After": "Fri, 31 Dec 9999 23:59:59 -2359"}))
    with pytest.raises(ProtocolError, match="busy"):
        one.send(answers)
    assert clock.pauses == []


@pytest.mark.parametrize("name", ["closed", "code-used"])
def test_who_may_be_counted_is_told_so(home, answers, name):
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code=CODE)
    shuffler.faults.append(said(name))
    with pytest.raises(ProtocolError, match="your upload may already be counted"):
        one.send(answers)


@pytest.mark.parametrize("name", ["closed", "withdrawn"])
def test_what_is_over_is_deleted_and_never_drawn_anew(home, answers, name):
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code=CODE)
    shuffler.faults.append(said(name))
    with pytest.raises(ProtocolError):
        one.send(answers)
    assert not list(home.glob("*.upload"))
    with pytest.raises(UsageError, match="randomized once and never anew"):
        one.send(answers)
    assert len(shuffler.bodies) == 1


REFUSALS = [name for name, kind in KINDS.items() if name not in OVER]


@pytest.mark.parametrize("name", REFUSALS)
def test_what_was_refused_is_sent_again_as_the_same_bytes(home, name):
    """Whatever the service says, and whatever the person answers then."""
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code=CODE, whole=1.0)
    shuffler.faults += [said(name)] * 20
    with pytest.raises(ProtocolError, match=name):
        one.send(ANSWERS[0])
    shuffler.faults.clear()
    again = one.send(ANSWERS[1])
    assert (again.outcome, again.resumed) == ("stored", True)
    assert len(set(shuffler.bodies)) == 1


@pytest.mark.parametrize("name", ["code-unknown", "code-used"])
def test_a_refused_code_is_corrected_in_the_same_sealed_answers(home, name):
    """The stored bytes come first: they may have been accepted, unseen, in the meantime."""
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code="0" * 16)
    shuffler.faults.append(said(name))
    with pytest.raises(ProtocolError, match=name):
        one.send(ANSWERS[0])
    right = device(shuffler, home, code=CODE)
    shuffler.faults.append(said(name))
    assert right.send(ANSWERS[1]).resumed
    codes = [body[32:48].decode() for body in shuffler.bodies]
    assert codes == ["0" * 16, "0" * 16, CODE]
    assert len({body[:32] + body[48:] for body in shuffler.bodies}) == 1
    assert one.memory.stored(INVITED) is None and one.memory.has(INVITED)


def test_an_accepted_upload_keeps_its_code_whatever_is_typed_later(home, answers):
    """The answer got lost: with another code, it could be neither repeated nor withdrawn."""
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code=CODE, whole=1.0)
    shuffler.faults += ["unanswered"] * 9
    with pytest.raises(ProtocolError):
        one.send(answers)
    shuffler.faults.clear()
    assert one.send(answers, code="0" * 16).outcome == "repeated"
    assert len(set(shuffler.bodies)) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_to_another_address(home, answers, status):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    elsewhere = httpx.Response(status, headers={"Location": "https://evil.example/upload"})
    shuffler.faults.append(elsewhere)
    with pytest.raises(ProtocolError, match="nothing is sent to another address"):
        one.send(answers)
    assert {request.url.host for request in shuffler.requests} == {"mix.example"}


def test_an_answer_that_drips_is_given_up(home, answers):
    shuffler, clock = Shuffler(OPEN), Clock()

    def dripping():
        while True:
            clock.time += 1.0
            yield b"x"

    one = device(shuffler, home, clock)
    shuffler.faults.append(httpx.Response(201, content=dripping()))
    assert one.send(answers).outcome == "stored" and len(shuffler.bodies) == 2


def test_an_endless_answer_is_not_read_to_its_end(home, answers):
    shuffler, read = Shuffler(OPEN), []

    def endless():
        while True:
            read.append(1)
            yield bytes(1 << 16)

    one = device(shuffler, home)
    shuffler.faults.append(httpx.Response(400, content=endless()))
    with pytest.raises(ProtocolError, match="400"):
        one.send(answers)
    assert len(read) < 5


def test_what_a_peer_says_is_not_repeated_at_the_terminal(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    text = b'{"type": "urn:incrowd:problem:closed", "title": "\x1b]0;evil", "status": 410}'
    shuffler.faults.append(httpx.Response(410, content=text.replace(b"\x1b", b"\\u001b")))
    with pytest.raises(ProtocolError) as error:
        one.send(answers)
    assert "evil" not in str(error.value)


def test_devices_look_alike_and_keep_no_cookie(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    cookie = httpx.Response(503, headers={"Set-Cookie": "who=me; Path=/", "Retry-After": "1"})
    shuffler.faults.append(cookie)
    one.send(answers)
    for request in shuffler.requests:
        assert "cookie" not in request.headers and "referer" not in request.headers
        assert request.headers["user-agent"] == "incrowd"
    assert open_client().follow_redirects is False


@pytest.mark.slow
def test_every_upload_has_one_length_whatever_was_answered(tmp_path):
    """Also where the number of reports is random."""
    shuffler = Shuffler(OPEN)
    for number in range(24):
        device(shuffler, tmp_path / str(number)).send(ANSWERS[number % 3])
    assert {len(body) for body in shuffler.bodies} == {upload_length(OPEN)}
    assert {tuple(sorted(r.headers)) for r in shuffler.requests if r.method == "POST"} == {
        tuple(sorted(shuffler.requests[-1].headers))
    }


@pytest.mark.parametrize("wrong", [{"smokes": "maybe"}, {"region": "nowhere"}, {"visits": None}])
def test_answers_that_do_not_fit_are_said_before_anything_is_noted(home, answers, wrong):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    with pytest.raises(AnswersError):
        one.send(answers | wrong)
    assert shuffler.bodies == [] and not home.exists()
    assert one.send(answers).outcome == "stored"


def test_an_invitation_is_needed_where_it_is(home, answers):
    one = device(Shuffler(INVITED), home)
    with pytest.raises(UsageError, match="give the code"):
        one.send(answers)
    with pytest.raises(ProtocolError, match="16 letters") as error:
        one.send(answers, code="SECRET")
    assert "SECRET" not in str(error.value)
    typed = "-".join(CODE[at : at + 4] for at in range(0, 16, 4)).lower()
    assert one.send(answers, code=typed).outcome == "stored"


def test_a_used_invitation_is_refused(tmp_path, answers):
    shuffler = Shuffler(INVITED)
    device(shuffler, tmp_path / "1", code=CODE).send(answers)
    with pytest.raises(ProtocolError, match="ask the person who invited you"):
        device(shuffler, tmp_path / "2", code=CODE).send(answers)


def test_the_error_without_an_answer_names_no_address():
    with pytest.raises(ProtocolError, match="server") as error:
        shuffler = Shuffler(OPEN, faults=["lost"] * 99)
        connection(shuffler).ask("GET", "https://mix.example/bundle")
    assert "mix.example" not in str(error.value)
