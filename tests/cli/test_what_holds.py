"""Every command states what holds for the collection that it is about, and states the same.

Six ways in which reports of one survey can have been collected, all commands that state a
guarantee, and for each the epsilon: of the local guarantee by hand, from the noise of each bit.
"""

import json
import math
import shutil
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import incrowd
from incrowd.cli.send import _facts as send_facts
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.gate import Gate
from incrowd.collection.collector.places import Places
from incrowd.collection.collector.progress import Progress
from incrowd.collection.protocol.release import Signed
from incrowd.guarantees import guarantee_for
from incrowd.plans.slots import slots
from tests.oracles import make_vectors
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.releases import all_sealed, release
from tests.oracles.shuffler import Shuffler, device
from tests.oracles.terms import stated

CROWD, PEOPLE, FEW = 40, 60, 35  # a release needs 20 people more than the crowd
IDS = ("ill", "old")
WORDS = {"language": "en", "title": "x", "questions": {id: f"{id}?" for id in IDS}}
ACCEPT = "--accept-smaller-crowd"


def planned(**more):
    asked = [{"id": id, "type": "yesno"} | more.pop(id, {}) for id in IDS]
    raw = {"name": "x", "crowd": CROWD, "privacy": {"epsilon": 3.0, "delta": 0.01}}
    made = {"question": asked, "table": [{"questions": IDS}], "message": [{"questions": IDS}]}
    return incrowd.plan(incrowd.Survey.of(raw | made | more))


def bundle_of(plan, **more):
    given = {"plan": plan, "wording": WORDS, "slots": slots(plan), "codes": False, "colluding": 0}
    return make_vectors.bundle(**given, **more)


class Case(NamedTuple):
    """How reports were collected. epsilon: what holds for them; before: what held beforehand."""

    name: str
    plan: incrowd.Plan
    bundle: object
    epsilon: float
    before: float
    reasons: list[str]


def local(plan):
    """Both bits differ: the odds of each, once if its noise is permanent."""
    (message,) = plan.messages
    noise = (each.permanent_stage if plan.memoised else each for each in message.channels.values())
    return message.independent_copies * sum(math.log((1 - each.q) / each.q) for each in noise)


def cases():
    plan = planned()
    kept = {"randomizer": {"kind": "rappor", "f": 0.35, "memoised": True}}
    weekly = planned(ill=kept, old=kept, rounds=2)
    two, one, again = bundle_of(plan), bundle_of(plan, local_only=True), bundle_of(weekly)
    alone, permanent = local(plan), local(weekly)
    assert min(alone, permanent) > 3.0
    fewer = guarantee_for(plan, FEW).epsilon
    assert 3.0 < fewer < alone
    return [
        Case("a file", plan, None, 3.0, 3.0, []),
        Case("a simulation", plan, None, 3.0, 3.0, ["simulation"]),
        Case("two parties", plan, two, 3.0, 3.0, []),
        Case("one party", plan, one, alone, alone, ["one-party"]),
        Case("one party, no receipt", plan, one, alone, alone, ["one-party"]),
        Case("repeated", weekly, again, permanent, permanent, ["permanent-responses"]),
        Case("too few", plan, two, fewer, 3.0, ["fewer-people"]),
    ]


CASES = cases()


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def folder(case, tmp_path_factory):
    """plan.json, what was collected, and of what came over a network the bundle."""
    folder = tmp_path_factory.mktemp("collected")
    (folder / "plan.json").write_text(case.plan.dumps())
    generator = np.random.default_rng(4)
    if case.bundle is None:
        seed = 5 if case.reasons else None
        table = pa.table({id: generator.random(PEOPLE) < 0.5 for id in IDS})
        reports = incrowd.randomize(case.plan, table, simulation_seed=seed)
        incrowd.save_reports(reports, folder / "reports.parquet")
        return folder
    (folder / "bundle.json").write_bytes(case.bundle.encoded)
    (message,) = case.plan.messages
    packed = generator.integers(0, 4, (PEOPLE * message.copies, 1), np.uint8)
    sealed = all_sealed([case.bundle.shape.report(0, bytes(each)) for each in packed], case.bundle)
    if case.name == "too few":
        garbage = message.copies * (PEOPLE - FEW)
        sealed[:garbage] = [number.to_bytes(len(sealed[0])) for number in range(garbage)]
    (folder / "private.key").write_bytes(RECEIVER.private_bytes_raw())
    (folder / "0.release").write_bytes(data := release(sealed, case.bundle))
    signed, start = Signed.parse(data)
    made = folder / "opened" / "release-0"
    private = RECEIVER
    open_release(folder / "0.release", start, signed, case.bundle, private, made, workers=1)
    shutil.copytree(made, folder / "reports.parquet")
    if "no receipt" in case.name:
        for name in ("receipt.json", "bundle.json"):
            (folder / "reports.parquet" / name).unlink()
    return folder


AFTER = {
    "verify": ("verify", "PLAN", "REPORTS"),
    "estimate": ("estimate", "PLAN", "REPORTS", ACCEPT),
    "estimate a tally": ("estimate", "PLAN", "TALLY", ACCEPT),
    "compare": ("compare", "PLAN", "REPORTS", *IDS, ACCEPT),
    "regress": ("regress", "PLAN", "REPORTS", "--outcome", "ill", "--on", "old", ACCEPT),
    "postprocess": ("postprocess", "PLAN", "REPORTS", ACCEPT),
}


@pytest.fixture
def filled(call, folder):
    """Runs a command on the files of a case; TALLY is made first."""

    def called(*words):
        if "TALLY" in words:
            tally = "tally", folder / "plan.json", folder / "reports.parquet"
            assert call(*tally, "-o", folder / "tally.json")[0] == 0
        files = {"PLAN": "plan.json", "REPORTS": "reports.parquet", "TALLY": "tally.json"}
        return call(*(folder / files[word] if word in files else word for word in words))

    return called


def guarantee_in(facts):
    return facts["tables"][0]["guarantee"] if "guarantee" not in facts else facts["guarantee"]


def states(guarantee, epsilon, reasons):
    """The network's places cost less than 1e-9."""
    assert guarantee["epsilon"] == pytest.approx(epsilon, rel=1e-9)
    assert guarantee["reduced_by"] == reasons
    assert guarantee["promise_holds"] is not bool(reasons)
    assert ("promise does not hold" in guarantee["sentence"]) is bool(reasons)


@pytest.mark.parametrize("command", AFTER)
def test_what_is_made_of_reports_states_what_holds_for_them(case, filled, command):
    code, out, err = filled(*AFTER[command], "--json")
    if command == "verify" and "no receipt" in case.name:
        assert code == 2 and "receipt: is missing of release" in err
        return
    facts = json.loads(out)
    states(guarantee_in(facts), case.epsilon, case.reasons)
    if command == "verify":
        assert facts["plan_holds"] is True
        assert facts["holds"] is facts["promise_holds"] is not bool(case.reasons)
        assert code == bool(case.reasons), "incrowd verify && publish"


@pytest.mark.parametrize("command", AFTER)
def test_people_read_what_the_machine_reads(case, filled, command):
    code, out, _ = filled(*AFTER[command], "--json")
    if code and not out:
        return
    sentence = guarantee_in(json.loads(out))["sentence"]
    _, out, err = filled(*AFTER[command])
    said = "".join((out + err).split())
    assert "".join(sentence.split()) in said
    if command == "verify":
        first, second = [line.removeprefix("note: ") for line in err.splitlines()][:2]
        assert ("DOES NOT HOLD for these reports" in first) is bool(case.reasons)
        assert second.startswith("the plan itself holds: ")


def test_pages_tables_and_notebooks_state_it_too(case, folder):
    reports = incrowd.load_reports(folder / "reports.parquet")
    found = incrowd.estimate(case.plan, reports, accept_smaller_crowd=True)
    two = incrowd.compare(case.plan, reports, *IDS, accept_smaller_crowd=True)
    model = {"outcome": "ill", "on": ["old"], "accept_smaller_crowd": True}
    regression = incrowd.regress(case.plan, reports, **model)
    for each in (found, two, regression):
        assert each.guarantee.epsilon == pytest.approx(case.epsilon, rel=1e-9)
        shown = each._repr_html_()
        assert ("promise does not hold" in shown) is bool(case.reasons)
    about = json.loads(found.to_arrow().schema.metadata[b"incrowd"])
    states(about["guarantee"], case.epsilon, case.reasons)


@pytest.fixture(scope="module")
def collected(case):
    if case.bundle is None:
        pytest.skip("it came over no network")
    return case.bundle


def test_what_is_opened_states_it(case, collected, call, folder, tmp_path):
    shutil.copy(folder / "private.key", key := tmp_path / "private.key")
    words = "--bundle", folder / "bundle.json", "--key", key, "-o", tmp_path / "opened", "--json"
    code, out, err = call("open", folder / "0.release", *words)
    assert code == 0, err
    states(json.loads(out)["guarantee"], case.epsilon, case.reasons)


def test_the_dashboard_states_it(case, collected, folder):
    gate = Gate(collected, Places(folder))
    told = SimpleNamespace(people={"all": FEW}, hour=None, next=None, away=False, look=lambda: None)
    now = datetime(2026, 12, 1, tzinfo=UTC)
    found = Progress(collected, gate, told, lambda: now).facts()["guarantee"]
    assert found["epsilon"] == pytest.approx(case.epsilon, rel=1e-9)
    assert found["reduced_by"] == case.reasons
    assert ("promise does not hold" in found["sentence"]) is bool(case.reasons)


BEFOREHAND = ("send", "page", "card", "shuffler init")


@pytest.mark.parametrize("command", BEFOREHAND)
def test_whoever_answers_was_told_the_same(case, collected, call, folder, tmp_path, command):
    if command == "send":
        guarantee = send_facts(device(Shuffler(collected), tmp_path))["promise"]
    else:
        terms = stated(codes=False, colluding=0, title="x", questions=WORDS["questions"])
        terms = terms.model_copy(update={"local_only": collected.local_only})
        about = terms.model_dump(exclude_none=True, exclude={"questions"})
        toml = "".join(f"{name} = {json.dumps(value)}\n" for name, value in about.items())
        asked = "".join(f'{id} = "{text}"\n' for id, text in WORDS["questions"].items())
        (tmp_path / "terms.toml").write_text(f"{toml}[questions]\n{asked}")
        init = ("init", folder / "plan.json", tmp_path / "terms.toml", tmp_path / "shuffler")
        words = {
            "page": ("page", folder / "bundle.json", "-o", tmp_path / "public"),
            "card": ("card", folder / "bundle.json"),
            "shuffler init": ("shuffler", *init),
        }
        code, out, err = call(*words[command], "--json")
        assert code == 0, err
        guarantee = json.loads(out)["guarantee"]
    states(guarantee, case.before, [] if case.reasons == ["fewer-people"] else case.reasons)


def test_the_survey_page_shows_the_promise_that_holds(case, collected, call, folder, tmp_path):
    """In its own data, which its script shows: the factor is e^epsilon, rounded up."""
    assert call("page", folder / "bundle.json", "-o", tmp_path / "public")[0] == 0
    text = (tmp_path / "public" / "index.html").read_text()
    start = text.index('id="config">') + len('id="config">')
    promise = json.loads(text[start : text.index("</script>", start)])["promise"]
    factor = float(promise["factor"])
    assert math.exp(case.before) <= factor * (1 + 1e-9) and factor < 1.01 * math.exp(case.before)
    assert promise["local_only"] is (case.reasons == ["one-party"])
    assert promise["repeated"] is (case.reasons == ["permanent-responses"])


def test_what_is_simulated_protects_nobody(call, tmp_path):
    (tmp_path / "survey.toml").write_text(
        "name = 'x'\ncrowd = 40\n[privacy]\nepsilon = 3.0\ndelta = 0.01\n"
        "[[question]]\nid = 'ill'\ntype = 'yesno'\n"
    )
    (tmp_path / "answers.csv").write_text("ill\n" + "yes\nno\n" * 30)
    words = "simulate", tmp_path / "survey.toml", tmp_path / "answers.csv", "--trials", 2, "--json"
    states(json.loads(call(*words)[1])["guarantee"], 3.0, ["simulation"])


def test_the_table_of_estimates_keeps_it_in_a_file(call, folder, case, tmp_path):
    output = tmp_path / "estimates.parquet"
    words = folder / "plan.json", folder / "reports.parquet", ACCEPT, "-o", output
    assert call("estimate", *words)[0] == 0
    about = json.loads(pyarrow.parquet.read_schema(output).metadata[b"incrowd"])
    states(about["guarantee"], case.epsilon, case.reasons)
    if case.bundle is not None:
        assert [each["claims"]["local_only"] for each in about["releases"]] == [
            case.bundle.local_only
        ]
