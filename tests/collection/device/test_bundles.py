"""The device takes the pinned bundle alone, certifies its plan, and says what is promised."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from threading import Event

import httpx
import pytest

import incrowd
from incrowd.accountant.certificates import redrawn
from incrowd.collection.device.device import Device
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.device.promising import promised, terms
from incrowd.collection.device.sending import fetch
from incrowd.collection.page.files import PageContent, page_files, shipped
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import MOST_BYTES, Bundle
from incrowd.collection.protocol.sealed import X25519, PrivateKey
from incrowd.errors import PlanError, ProtocolError, UsageError
from incrowd.plans.digests import canonical
from incrowd.plans.slots import slots, tail
from tests.conftest import cells_survey, second_round, with_less_noise
from tests.oracles import make_vectors
from tests.oracles.shuffler import INVITED, OPEN, Shuffler, connection, device, link, traveling


def bundle_of(plan, **changes):
    ids = {question.id: "?" for question in plan.survey.questions}
    wording = {"language": "en", "title": "T", "introduction": "Hello.", "questions": ids}
    about = {"plan": plan, "slots": slots(plan), "colluding": plan.survey.colluding}
    return make_vectors.bundle(**about | {"wording": wording} | changes)


def test_the_pinned_bundle_is_taken():
    assert fetch(link(INVITED), connection(Shuffler(INVITED))).digest == INVITED.digest


def cheating(changes):
    return Bundle.parse(canonical(json.loads(INVITED.encoded) | changes).encode())


OWN_KEY = PrivateKey(X25519, bytes(31) + b"7").configuration(7)


@pytest.mark.parametrize(
    "other",
    [
        cheating({"shuffler_key": "00" * 32}),
        cheating({"key_configuration": "08" + INVITED.key_configuration[2:]}),
        cheating({"key_configuration": OWN_KEY.encoded.hex()}),
        cheating({"reserve": 21}),
        bundle_of(second_round()),
        OPEN,
    ],
    ids=[
        "another key of the shuffler",
        "another key id",
        "a key that the shuffler can open with",
        "another rule",
        "another plan",
        "another bundle",
    ],
)
def test_a_bundle_for_one_victim_is_refused(other, home, answers):
    """It is right in itself, and not the one that the link pins."""
    shuffler = Shuffler(other)
    with pytest.raises(ProtocolError, match="not the one in the link"):
        incrowd_device = device(Shuffler(INVITED), home)
        fetch(incrowd_device.link, connection(shuffler))
    assert shuffler.bodies == []


@pytest.mark.parametrize(
    "content", [b"", b"{", INVITED.encoded + b"\n", INVITED.encoded[:-1], b"\xff" * 1000]
)
def test_what_is_no_bundle_is_not_even_parsed(content):
    answer = httpx.Response(200, content=content)
    with pytest.raises(ProtocolError, match="its SHA-256 should be"):
        fetch(link(INVITED), connection(Shuffler(INVITED, faults=[answer])))


def test_an_endless_bundle_is_not_read_to_its_end():
    read = []

    def endless():
        while True:
            read.append(1)
            yield bytes(1 << 20)

    answer = httpx.Response(200, content=endless())
    with pytest.raises(ProtocolError, match="its SHA-256"):
        fetch(link(INVITED), connection(Shuffler(INVITED, faults=[answer])))
    assert len(read) <= (MOST_BYTES >> 20) + 2


@pytest.mark.parametrize("status", [302, 404, 500])
def test_no_bundle(status):
    answers = [httpx.Response(status)] * 99
    with pytest.raises(ProtocolError, match=str(status)):
        fetch(link(INVITED), connection(Shuffler(INVITED, faults=answers)))


def test_a_link_may_lead_to_a_copy_and_uploads_go_where_the_bundle_says(home, answers):
    shuffler = Shuffler(OPEN)
    copy = Link("https://copy.example", OPEN.digest)
    one = incrowd_device(copy, home, shuffler)
    one.send(answers)
    assert [request.url.host for request in shuffler.requests] == ["copy.example", "mix.example"]


def incrowd_device(found, home, shuffler):
    from incrowd.collection.device import Device

    return Device.of(str(found), home, connection=connection(shuffler))


# --- what is promised ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_plan_with_too_little_noise_is_refused(home):
    plan = incrowd.plan(cells_survey(list("abcdefgh")))
    assert promised(bundle_of(plan)).guarantee.proved
    with pytest.raises(PlanError, match="too small for the guarantee"):
        device(Shuffler(bundle_of(with_less_noise(plan))), home)


def test_noise_that_is_drawn_again_is_in_the_promise():
    """By the closed form, with the tail of the slots; without such messages nothing changes."""
    plan = incrowd.plan(cells_survey(list("abcdefgh"), crowd=2000))
    found = promised(bundle_of(plan))
    crowd, chance = plan.guarantee.crowd, tail(plan, slots(plan))
    assert 0 < chance <= 1e-9 / 2000 and found.tail == chance
    epsilon = plan.guarantee.epsilon - crowd * math.log1p(-chance)
    cost = -crowd * math.log1p(-chance)
    unseen = math.exp(plan.guarantee.epsilon) * math.expm1(cost)
    delta = plan.guarantee.delta * math.exp(cost) + unseen
    assert found.guarantee.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert found.guarantee.epsilon > plan.guarantee.epsilon
    assert found.guarantee.delta == pytest.approx(delta, rel=1e-14)
    assert found.guarantee.delta > plan.guarantee.delta
    assert (
        found.guarantee.local_epsilon
        == redrawn(plan.guarantee.local_epsilon, 0.0, tail=chance, crowd=1, named=True).epsilon
    )
    assert "crowd of 2,000" in found.symbols


def test_joint_reports_cost_nothing():
    survey = {"name": "s", "crowd": 500, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    plan = incrowd.plan(incrowd.Survey.of(survey | {"question": [{"id": "a", "type": "yesno"}]}))
    found = promised(bundle_of(plan)).guarantee
    assert found.model_copy(update={"mixed_by": ()}) == plan.guarantee
    assert found.mixed_by == ("shuffler",)


def test_one_party_promises_the_local_guarantee_alone():
    survey = {"name": "s", "crowd": 500, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    plan = incrowd.plan(incrowd.Survey.of(survey | {"question": [{"id": "a", "type": "yesno"}]}))
    found = promised(bundle_of(plan, local_only=True))
    assert (found.guarantee.analysis, found.guarantee.delta) == ("local", 0.0)
    assert found.guarantee.epsilon == plan.guarantee.local_epsilon > plan.guarantee.epsilon
    assert "even with a name on it" in found.sentence
    assert "Who mixes" in dict(terms(bundle_of(plan, local_only=True), found))


@pytest.fixture(scope="module")
def weekly():
    """Two rounds with permanent responses, and one with fresh noise after the first."""
    remembered = {"kind": "rappor", "f": 0.5, "memoized": True}
    question = {"id": "a", "type": "yesno", "randomizer": remembered}
    raw = {"name": "weekly", "crowd": 500, "privacy": {"epsilon": 0.9, "delta": 0.2}}
    survey = incrowd.Survey.of(raw | {"question": [question]})
    first = incrowd.plan(survey)
    return first, incrowd.plan(survey, earlier=(first.asked,))


def test_permanent_responses_promise_the_local_guarantee_from_the_second_round_on(weekly, home):
    """Also where one plan is used again, which the device alone can know."""
    first, second = weekly
    assert promised(bundle_of(first)).guarantee.analysis == "shuffle"
    for found in (promised(bundle_of(second)), promised(bundle_of(first), repeated=True)):
        assert (found.guarantee.analysis, found.guarantee.delta) == ("local", 0.0)
        assert found.guarantee.epsilon >= math.log(3)
    bundle, memory = bundle_of(first), DeviceMemory(home)
    memory.note(bundle)
    assert not memory.has_round(bundle), "sending again is the same round"
    assert memory.has_round(bundle_of(first, period="next week"))
    assert not memory.has_round(OPEN)


def test_the_terms_say_who_may_send_and_what_happens_to_few():
    for bundle, who, small in (
        (INVITED, "invited", "deleted unread"),
        (OPEN, "invents more people", "deleted"),
        (replace_small(OPEN), "anybody", "released together"),
    ):
        said = dict(terms(bundle, promised(bundle)))
        assert who in said["Who may send"] and small in said["Released"]
        assert f"{bundle.least_people:,} people" in said["Released"]
        assert f"{bundle.places} sealed reports" in said["Sent"]


def replace_small(bundle):
    return bundle.model_copy(update={"small_strata": "merge"})


def test_permanent_responses_promise_less_from_the_second_time_on():
    plan = second_round()
    said = dict(terms(bundle_of(plan), promised(bundle_of(plan))))
    assert "only the local guarantee" in said["Permanent responses"]


def test_the_example_is_nobodys(home, answers):
    """It is made from the plan's digest: the same before and after, on every device."""
    shuffler = Shuffler(OPEN)
    one = device(shuffler, home)
    before = one.example
    one.send(answers)
    assert one.example == before == replace(one, memory=None).example
    asked = {id for each in before for id in each.questions}
    assert asked and asked <= {q.id for q in OPEN.plan.survey.questions}


# --- links of survey pages -----------------------------------------------------------------------

PAGE = page_files(
    PageContent(INVITED.plan, ("https://mix.example",), INVITED.plan.guarantee), shipped()
)["index.html"]


def hosting(page, fallback):
    """A web server with a page at its root; fallback: or at every address."""
    return lambda request: traveling(
        httpx.Response(200, content=page)
        if fallback or request.url.path == "/survey/"
        else httpx.Response(404, content=b"<h1>Not found</h1>")
    )


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("path", ["/survey", "/survey/", "/survey/index.html"])
def test_the_link_of_a_survey_page_is_answered_with_the_address_to_use(path, fallback):
    """It was answered with "should hold no /", or "was answered with 404; nothing was stored"."""
    text = f"https://page.example{path}#{INVITED.digest.hex()}.0123456789ABCDEF"
    found = Link.parse(text)
    assert (found.digest, found.code) == (INVITED.digest, "0123456789ABCDEF")
    with pytest.raises(UsageError) as error:
        fetch(found, connection(hosting(PAGE, fallback)))
    said = str(error.value)
    assert "link: leads to a survey page at https://page.example/survey; replace" in said
    assert "that address with https://mix.example" in said
    assert "0123456789ABCDEF" not in said  # an invitation is a secret


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "http://mix.example", "https://mix.example/\\u001b[2J", 7]
)
def test_a_page_can_name_no_address_that_a_link_cannot_have(address):
    page = b'<script type="application/json" id="config">{"shuffler": %s}</script>'
    content = page % json.dumps(address).replace("\\\\", "\\").encode()
    with pytest.raises(ProtocolError):
        fetch(
            Link("https://page.example/survey", INVITED.digest), connection(hosting(content, False))
        )


def test_a_page_that_is_not_there_is_no_other_error():
    for answer in (httpx.Response(404), httpx.Response(200, content=b"<html>")):
        with pytest.raises(ProtocolError):
            fetch(link(INVITED), connection(lambda _, answer=answer: traveling(answer)))


def test_a_plan_that_takes_too_long_to_certify_is_given_up(home, monkeypatch):
    """Whoever writes a bundle decides how much work it is."""
    shuffler, ended = Shuffler(INVITED), Event()
    monkeypatch.setattr("incrowd.collection.device.device.promised", lambda *_: ended.wait())
    try:
        with pytest.raises(PlanError, match=r"could not be certified within 0\.01 seconds"):
            Device.of(link(INVITED), home, connection=connection(shuffler), seconds=0.01)
    finally:
        ended.set()
    assert shuffler.bodies == [] and not home.exists()


@pytest.mark.slow
def test_a_program_ends_although_the_work_does_not():
    script = (
        "from incrowd.collection.device.device import _within\n"
        "try: _within(0.1, lambda: any(False for _ in iter(int, 1)))\n"
        "except Exception as error: raise SystemExit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert done.returncode == 1 and b"within 0.1 seconds" in done.stderr
