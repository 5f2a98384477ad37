"""What stays on a device: digests, an upload for as long as it is needed, and never an answer."""

import os
import stat
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.protocol.bundle import as_time
from incrowd.errors import ProtocolError, UsageError
from incrowd.plans import EarlierPlan
from tests.conftest import slowly
from tests.oracles import make_vectors
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import CODE, INVITED, OPEN, Shuffler, device

LATER = make_vectors.bundle(codes=False, period="December 2026")


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_a_device_keeps_the_digests_of_what_it_answered_and_nothing_else(home, answers):
    shuffler = Shuffler(INVITED)
    device(shuffler, home, code=CODE).send(answers)
    (content,) = files(home).values()
    assert content.decode() == f"{INVITED.digest.hex()} {INVITED.plan.digest}\n"
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()} == {0o600}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize("keep", [False, True])
def test_nothing_of_an_answer_is_written(tmp_path, monkeypatch, keep):
    """Every file of a home, also while the upload waits; a wrong variant is found."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = {"alcohol", "other", "east", "s07"}
    shuffler = Shuffler(INVITED)
    one = device(shuffler, tmp_path / "home", code=CODE, whole=5.0)
    shuffler.faults += ["unanswered"] * 20
    with pytest.raises(ProtocolError):
        one.send(ANSWERS[0], keep=keep)
    waiting = files(tmp_path)
    shuffler.faults.clear()
    one.send(ANSWERS[0], keep=keep)
    for found in (waiting, files(tmp_path)):
        assert not leaks(found, words)
    (tmp_path / "wrong").write_text("region: east")
    assert leaks(files(tmp_path), words)


def leaks(found, words):
    return [name for name, data in found.items() if any(word.encode() in data for word in words)]


def test_what_is_kept_while_sending_is_sealed_and_private(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home, whole=1.0)
    shuffler.faults += ["lost"] * 20
    with pytest.raises(ProtocolError):
        one.send(answers)
    (kept,) = home.glob("*.upload")
    assert kept.read_bytes() == shuffler.bodies[0]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_withdrawing_is_final_and_only_the_digests_stay(home, answers):
    shuffler = Shuffler(INVITED)
    one = device(shuffler, home, code=CODE)
    one.send(answers, keep=True)
    assert len(shuffler.stored) == 1
    one.withdraw()
    assert shuffler.stored == {}
    assert list(files(home).values()) == [
        f"{INVITED.digest.hex()} {INVITED.plan.digest}\n".encode()
    ]
    for again in (one, device(shuffler, home, code="0" * 16)):
        with pytest.raises(UsageError, match="even if they were withdrawn"):
            again.send(answers)
    assert len(set(shuffler.bodies)) == 1


def test_without_keeping_nothing_can_be_withdrawn(home, answers):
    one = device(Shuffler(OPEN), home)
    one.send(answers)
    with pytest.raises(UsageError, match="keep=True"):
        one.withdraw()


def test_withdrawing_is_repeated_until_there_is_an_answer(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    one.send(answers, keep=True)
    shuffler.faults += ["unanswered", "lost"]
    one.withdraw()
    assert shuffler.stored == {} and len(set(shuffler.bodies)) == 1


def test_after_closing_it_cannot_be_found_any_more(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    one.send(answers, keep=True)
    shuffler.closed = True
    with pytest.raises(ProtocolError, match="before the collection closes"):
        one.withdraw()
    assert one.memory.has(OPEN) and not list(home.glob("*.kept"))


def test_kept_uploads_go_when_their_collection_closes(home, answers):
    one = device(Shuffler(OPEN), home)
    one.send(answers, keep=True)
    one.memory.tidy(datetime(2026, 11, 30, 23, 59, 58, tzinfo=UTC))
    assert one.memory.stored(OPEN)
    one.memory.tidy(as_time(OPEN.closes))
    assert one.memory.stored(OPEN) is None and one.memory.has(OPEN)


def test_nobody_answers_one_bundle_twice_on_a_device(home, answers):
    shuffler = Shuffler(OPEN)
    device(shuffler, home).send(answers)
    with pytest.raises(UsageError, match="randomized once and never anew"):
        device(shuffler, home).send(answers)
    assert len(shuffler.stored) == 1


def test_a_kept_upload_is_sent_again_and_never_drawn_anew(home):
    shuffler = Shuffler(OPEN)
    device(shuffler, home).send(ANSWERS[0], keep=True)
    for keep in (True, False):
        again = device(shuffler, home).send(ANSWERS[1], keep=keep)
        assert (again.outcome, again.resumed, again.can_withdraw) == ("repeated", True, True)
    assert len(shuffler.stored) == 1
    device(shuffler, home).withdraw()
    assert not shuffler.stored and not list(home.glob("*.kept"))


def test_earlier_rounds_that_the_plan_does_not_cover_are_warned_of(home, answers):
    one = device(Shuffler(OPEN), home)
    assert one.warnings == ()
    one.send(answers)
    assert one.warnings == ()  # of itself there is nothing to say
    (warning,) = device(Shuffler(LATER), home).warnings
    assert "already answered 1 collection" in warning and "adds up" in warning


def test_earlier_rounds_that_the_plan_covers_are_not(home):
    first, memory = OPEN.plan, DeviceMemory(home)
    memory.note(OPEN)
    asked = EarlierPlan(digest=first.digest, crowd=2, survey=first.survey, messages=first.messages)
    covering = first.model_copy(update={"earlier": (asked,)})
    covered = OPEN.model_copy(update={"plan": covering, "period": "later"})
    assert list(memory.warnings(covered)) == []
    assert list(memory.warnings(LATER)) != []


@pytest.mark.parametrize(("rounds", "most"), [(1, 0), (3, 2)])
def test_the_rounds_that_a_plan_covers_are_not_warned_of(home, rounds, most):
    """Of three rounds two may have been before; two of a plan for one are one too many."""
    memory, survey = DeviceMemory(home), OPEN.plan.survey.model_copy(update={"rounds": rounds})
    plan = OPEN.plan.model_copy(update={"survey": survey})
    for number in range(5):
        bundle = SimpleNamespace(digest=bytes([number]) * 32, plan=plan)
        assert bool(list(memory.warnings(bundle))) == (number > most)
        memory.note(bundle)


@pytest.mark.parametrize("text", [b"x\n", b"\xff\n", b"0" * 64 + b"\n"])
def test_an_edited_memory_is_not_believed(home, answers, text):
    one = device(Shuffler(OPEN), home)
    home.mkdir()
    (home / "answered").write_bytes(text)
    with pytest.raises(UsageError, match="memory"):
        one.send(answers)


def test_a_damaged_upload_is_not_sent(home, answers):
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    one.send(answers, keep=True)
    (kept,) = home.glob("*.kept")
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(ProtocolError, match="length"):
        one.send(answers)
    assert len(shuffler.bodies) == 1


def test_a_memory_that_cannot_be_written_stops_before_anything_is_sent(tmp_path, answers):
    (tmp_path / "file").write_text("")
    shuffler = Shuffler(OPEN)
    with pytest.raises(UsageError, match="name another folder"):
        device(shuffler, tmp_path / "file" / "home").send(answers)
    assert shuffler.bodies == []


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
def test_a_device_that_is_killed_while_it_sends_goes_on_with_the_same_bytes(home, answers):
    """Killed after the shuffler took the upload and before the answer came."""
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    child = os.fork()
    if child == 0:
        one.connection.client._transport.handler = lambda _: os._exit(9)
        one.send(answers)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (kept,) = home.glob("*.upload")
    waiting = kept.read_bytes()
    assert device(shuffler, home).send(ANSWERS[1]).resumed
    assert shuffler.bodies == [waiting]


class Paused:
    """A process that stops at a step, until another one has done everything."""

    def __init__(self, monkeypatch, step, meanwhile):
        self.act, self.meanwhile = getattr(DeviceMemory, step), [meanwhile]
        monkeypatch.setattr(DeviceMemory, step, lambda memory, *given: self(memory, *given))

    def __call__(self, memory, *given):
        if self.meanwhile:
            self.meanwhile.pop()()
        return self.act(memory, *given)


@pytest.mark.parametrize("keep", [False, True])
def test_two_windows_of_one_device_send_one_draw(home, monkeypatch, keep):
    """The other window begins and ends after this one has drawn, and before it has stored."""
    shuffler = Shuffler(OPEN)
    one, other = device(shuffler, home), device(shuffler, home)
    Paused(monkeypatch, "_locked", lambda: other.send(ANSWERS[1], keep=keep))
    if keep:
        assert one.send(ANSWERS[0]).resumed
    else:
        with pytest.raises(UsageError, match="already answered"):
            one.send(ANSWERS[0])
    assert len(set(shuffler.bodies)) == len(shuffler.stored) == 1


def test_a_code_is_not_corrected_for_an_upload_that_another_window_has_sent(home, answers):
    shuffler = Shuffler(INVITED)
    shuffler.unknown = {b"0" * 16}
    one = device(shuffler, home, code="0" * 16)
    with pytest.raises(ProtocolError):
        one.send(answers)
    refused, _ = one.memory.once(INVITED, None)
    assert device(shuffler, home).send(answers, code=CODE, keep=True).resumed
    kept = one.memory.stored(INVITED)
    assert one.memory.exchange(INVITED, refused, b"another") == kept == one.memory.stored(INVITED)
    one.withdraw()
    with pytest.raises(UsageError, match="already answered"):
        one.memory.exchange(INVITED, kept, b"another")


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
@pytest.mark.parametrize("step", ["keep", *slowly("_note")])
@pytest.mark.parametrize("after", [False, True])
def test_whoever_is_killed_while_storing_has_one_draw_at_most(home, step, after):
    """Nothing has left a device that is killed before its draw is stored."""
    shuffler = Shuffler(OPEN)
    child = os.fork()
    if child == 0:
        act = getattr(DeviceMemory, step)

        def killed(*given):
            if after:
                act(*given)
            os._exit(9)

        setattr(DeviceMemory, step, killed)
        device(shuffler, home).send(ANSWERS[0])
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    is_stored = (step, after) != ("keep", False)
    assert bool(list(home.glob("*.upload"))) == is_stored
    assert device(shuffler, home).send(ANSWERS[1]).resumed == is_stored
    assert len(set(shuffler.bodies)) == 1 and DeviceMemory(home).has(OPEN)


def test_everything_is_on_disk_before_the_first_byte_leaves(home, answers):
    shuffler, seen = Shuffler(OPEN), []
    one, handled = device(shuffler, home), shuffler.handled

    def watched(request):
        if request.method == "POST":
            seen.append(
                (DeviceMemory(home).stored(OPEN) == request.read(), DeviceMemory(home).has(OPEN))
            )
        return handled(request)

    shuffler.handled = watched
    one.send(answers)
    assert seen == [(True, True)]
