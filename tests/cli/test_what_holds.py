"""Every command states what holds for the collection that it is about, and states the same.

Ten ways in which reports of one survey can have been collected, all commands that state a
guarantee, and for each the epsilon: of the local guarantee by hand, from the noise of each bit.
"""

import json
import math
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import incrowd
from incrowd import number_text, verification
from incrowd.cli.later import COMMANDS
from incrowd.cli.send import _facts as send_facts
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import CollectorProgress, Gate
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.guarantees.certified import guarantee_for
from incrowd.plans.slots import slots
from tests.conftest import slowly_except
from tests.oracles import make_vectors
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.releases import all_sealed, release
from tests.oracles.shuffler import Shuffler, device
from tests.oracles.terms import stated

CROWD, PEOPLE, FEW = 40, 60, 35  # a release needs 20 people more than the crowd
IDS = ("ill", "old")
WORDS = {"language": "en", "title": "x", "questions": {id: f"{id}?" for id in IDS}}
ACCEPT = "--accept-smaller-crowd"
PERMANENT = ["rounds", "permanent-same-people"]
NAMES = (
    *("a file", "a simulation", "two parties", "one party", "one party, no receipt", "repeated"),
    *("too few", "copies", "rounds", "rounds, one party", "rows"),
)


def planned(analysis="shuffle", **more):
    asked = [{"id": id, "type": "yesno"} | more.pop(id, {}) for id in IDS]
    privacy = {"epsilon": 3.0, "delta": 0.01, "analysis": analysis}
    raw = {"name": "x", "crowd": CROWD, "privacy": privacy}
    message = {"questions": IDS, "copies": more.pop("copies", 1)}
    made = {"question": asked, "table": [{"questions": IDS}], "message": [message]}
    return incrowd.plan(incrowd.Survey.of(raw | made | more))


def bundle_of(plan, **more):
    given = {"plan": plan, "wording": WORDS, "slots": slots(plan), "codes": False, "colluding": 0}
    return make_vectors.bundle(**given, **more)


class Case(NamedTuple):
    """How reports were collected. epsilon: what holds for them; before: what held beforehand.
    assumed: codes of what it rests on, beside what its analysis assumes."""

    name: str
    plan: incrowd.Plan
    bundle: object
    epsilon: float
    before: float
    reasons: list[str]
    assumed: Sequence[str] = ()


def local(plan):
    """Both bits differ: the odds of each, in all copies, rounds and rows; once if its noise is
    permanent."""
    (message,) = plan.messages
    noise = (each.permanent_stage if plan.memoized else each for each in message.channels.values())
    times = 1 if plan.memoized else plan.survey.rounds * plan.survey.rows_per_person
    once = sum(math.log((1 - each.q) / each.q) for each in noise)
    return times * message.independent_copies * once


@cache
def cases():
    """All cases, in the order of NAMES: plans are made when a test runs, not at collection."""
    plan = planned()
    kept = {"randomizer": {"kind": "rappor", "f": 0.35, "memoized": True}}
    weekly = planned(ill=kept, old=kept, rounds=2)
    two, one, again = bundle_of(plan), bundle_of(plan, local_only=True), bundle_of(weekly)
    # Several reports are composed; of the blanket that takes a tenth of the time.
    copied, rows = planned("blanket", copies=2), planned("blanket", rows_per_person=2)
    monthly = planned("blanket", rounds=2)
    alone, permanent, both = local(plan), local(weekly), local(monthly)
    assert min(alone, permanent, both) > 3.0
    linked = bundle_of(monthly, local_only=True)
    fewer = guarantee_for(plan, FEW).epsilon
    assert 3.0 < fewer < alone
    return [
        Case("a file", plan, None, 3.0, 3.0, []),
        Case("a simulation", plan, None, 3.0, 3.0, ["simulation"]),
        Case("two parties", plan, two, 3.0, 3.0, []),
        Case("one party", plan, one, alone, alone, ["one-party"]),
        Case("one party, no receipt", plan, one, alone, alone, ["one-party"]),
        Case("repeated", weekly, again, permanent, permanent, ["permanent-responses"], PERMANENT),
        Case("too few", plan, two, fewer, 3.0, ["fewer-people"]),
        Case("copies", copied, bundle_of(copied), 3.0, 3.0, []),
        Case("rounds", monthly, bundle_of(monthly), 3.0, 3.0, [], ["rounds"]),
        Case("rounds, one party", monthly, linked, both, both, ["one-party"], ["rounds"]),
        Case("rows", rows, None, 3.0, 3.0, [], ["rows"]),
    ]


def test_every_case_is_tested():
    assert tuple(case.name for case in cases()) == NAMES


# The others combine what these have.
QUICK = ("a file", "a simulation", "two parties", "one party", "repeated", "too few", "rounds")


@pytest.fixture(scope="module", params=slowly_except(NAMES, *QUICK))
def case(request):
    (found,) = (case for case in cases() if case.name == request.param)
    return found


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
    (folder / "private.key").write_bytes(RECEIVER.secret)
    (folder / "0.release").write_bytes(data := release(sealed, case.bundle))
    signed, start = Signed.parse(Header, data)
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
    "compare shares": ("compare", "PLAN", "REPORTS", "ill=yes", "old=yes", ACCEPT),
    "correlate": ("correlate", "PLAN", "REPORTS", ACCEPT),
}
PLAN_ALONE = {
    "verify": ("verify", "PLAN"),
    "card": ("card", "PLAN"),
    "plan": ("plan", "SURVEY"),
    "regress": ("regress", "PLAN", "--outcome", "ill", "--on", "old", "--forecast"),
}
BEFOREHAND = ("send", "page", "card", "shuffler init")
OTHERS = {
    "host",
    "open",
    "collector",
    "inviter",
    "simulate",
    "demo",
    "interviews",
    "ledger",
    "letters",
    "studio",
}  # tested elsewhere
SILENT = {  # they promise nothing to anybody
    *(
        "new",
        "example",
        "init",
        "check",
        "randomize",
        "read",
        "tally",
        "invitations",
        "first-mixer",
        "second-mixer",
    ),
    "confirm-clock",
    "acknowledge",
    "privacy",  # what a noise does in any crowd; nobody was asked
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


@pytest.fixture(scope="module")
def told(case):
    """What commands of a case said as JSON; they are run once."""
    return {}


@pytest.fixture
def as_json(filled, told):
    """Runs a command of `AFTER` with --json, unless it has been run already."""

    def called(command):
        if command not in told:
            told[command] = filled(*AFTER[command], "--json")
        return told[command]

    return called


def guarantee_in(facts):
    return facts["tables"][0]["guarantee"] if "guarantee" not in facts else facts["guarantee"]


def states(guarantee, epsilon, reasons, assumed=None):
    """The network's places cost less than 1e-9. assumed: see Case; not looked at if None."""
    codes = [each["code"] for each in guarantee["assumptions"]]
    local = guarantee["analysis"] == "local"
    assert codes[0] == ("nobody-trusted" if local else "whole-crowd")
    assert assumed is None or codes[1:] == [*assumed]
    assert guarantee["delta"] <= (0.0 if local else 0.01 * (1 + 1e-9))
    assert guarantee["epsilon"] == pytest.approx(epsilon, rel=1e-9)
    assert guarantee["reduced_by"] == reasons
    assert guarantee["promise_holds"] is not bool(reasons)
    assert ("promise does not hold" in guarantee["sentence"]) is bool(reasons)


# One case for each reason that a sentence can state; the others slowly.
READ = {"a simulation", "one party", "too few"}
some_cases = pytest.mark.parametrize("case", slowly_except(NAMES, *READ), indirect=True)


@pytest.mark.parametrize("command", ["verify", "estimate"])
def test_whoever_verifies_or_estimates_reads_what_holds(case, as_json, command):
    states_what_holds(case, as_json, command)


@some_cases
@pytest.mark.parametrize("command", [each for each in AFTER if each not in ("verify", "estimate")])
def test_what_is_made_of_reports_states_what_holds_for_them(case, as_json, command):
    states_what_holds(case, as_json, command)


def states_what_holds(case, as_json, command):
    code, out, err = as_json(command)
    if command == "verify" and "no receipt" in case.name:
        assert code == 2 and "receipt: is missing for release" in err
        return
    facts = json.loads(out)
    states(guarantee_in(facts), case.epsilon, case.reasons, case.assumed)
    if command == "verify":
        assert facts["plan_holds"] is True
        assert facts["holds"] is facts["promise_holds"] is not bool(case.reasons)
        assert code == bool(case.reasons), "incrowd verify && publish"


@pytest.mark.parametrize(
    "case",
    slowly_except(NAMES, *(name for name in QUICK if name != "rounds")),
    indirect=True,
)
def test_what_holds_for_the_reports_is_what_is_proved(case, filled):
    """Not what the plan promises, which is too little for a smaller crowd."""
    pytest.importorskip("flint")
    code, out, err = filled(*AFTER["verify"], "--proved", "--json")
    if "no receipt" in case.name:
        assert code == 2 and "receipt: is missing for release" in err
        return
    facts = json.loads(out)
    proved, holds = facts["proved"], facts["guarantee"]
    assert float(proved["epsilon"]) == holds["epsilon"]
    assert float(proved["delta_high"]) <= holds["delta"]
    assert code == bool(case.reasons)
    if case.name == "too few":
        planned = guarantee_for(case.plan, FEW).model_copy(update={"epsilon": 3.0})
        assert float(verification.prove(case.plan, planned).delta_high) > case.plan.guarantee.delta


# What each assumption says, whether it is shortened or not.
SAID = {
    "whole-crowd": "removes every link between a report and its sender, and",
    "nobody-trusted": "nobody needs to be trusted",
    "rounds": "rounds together, and that crowd takes part in each of them",
    "permanent-same-people": "are repeated in every round. All rounds are covered",
    "rows": "rows in the answers",
}


def codes_in(text):
    """The assumptions that are named in a text for people."""
    return [code for code, words in SAID.items() if words.lower() in text.lower()]


@some_cases
@pytest.mark.parametrize("command", AFTER)
def test_people_read_what_the_machine_reads(case, filled, as_json, command):
    code, out, _ = as_json(command)
    if code and not out:
        return
    guarantee = guarantee_in(json.loads(out))
    verbose = () if command == "verify" else ("-v",)
    _, out, err = filled(*AFTER[command], *verbose)
    said = "".join((out + err).split())
    assert "".join(guarantee["sentence"].split()) in said
    if command != "verify":
        _, short, below = filled(*AFTER[command])
        said = " ".join((short + below).split())
        assert f"= ({number_text.bound(guarantee['epsilon'], 6)}, " in said
        assert ("plan's promise does not hold" in said) is bool(case.reasons)
        assert len(codes_in(said)) == len(guarantee["assumptions"])
    else:
        first, second = [line.removeprefix("note: ") for line in err.splitlines()][:2]
        assert ("DOES NOT HOLD for these reports" in first) is bool(case.reasons)
        assert second.startswith("the plan itself holds: ")


@pytest.mark.slow
@some_cases
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


@pytest.mark.parametrize("case", ["two parties", "one party"], indirect=True)
def test_the_card_of_a_collection_proves_its_own_guarantee(case, collected, call, folder):
    pytest.importorskip("flint")
    code, out, err = call("card", folder / "bundle.json", "--proved", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert float(facts["proved"]["epsilon"]) == facts["guarantee"]["epsilon"]
    states(facts["guarantee"], case.before, case.reasons)
    text = " ".join(call("card", folder / "bundle.json", "--proved")[1].split())
    _, _, after = text.partition("This is about the plan alone: for this collection, ")
    crowd = "without a crowd" if case.reasons else "in a crowd of 40"
    assert re.search(rf"Of the guarantee on this card, .* {crowd}, in", after or text)


def test_what_is_opened_states_it(case, collected, call, folder, tmp_path):
    shutil.copy(folder / "private.key", key := tmp_path / "private.key")
    words = "--bundle", folder / "bundle.json", "--key", key, "-o", tmp_path / "opened", "--json"
    code, out, err = call("open", folder / "0.release", *words)
    assert code == 0, err
    states(json.loads(out)["guarantee"], case.epsilon, case.reasons)


def test_the_dashboard_states_it(case, collected, folder):
    gate = Gate(collected, CollectorPlaces(folder))
    told = SimpleNamespace(people={"all": FEW}, hour=None, next=None, away=False, look=lambda: None)
    now = datetime(2026, 12, 1, tzinfo=UTC)
    found = CollectorProgress(collected, gate, told, lambda: now).facts()["guarantee"]
    assert found["epsilon"] == pytest.approx(case.epsilon, rel=1e-9)
    assert found["reduced_by"] == case.reasons
    assert ("promise does not hold" in found["sentence"]) is bool(case.reasons)


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
        init = ("init", tmp_path / "shuffler", folder / "plan.json", tmp_path / "terms.toml")
        words = {
            "page": ("page", folder / "bundle.json", "-o", tmp_path / "public"),
            "card": ("card", folder / "bundle.json"),
            "shuffler init": ("shuffler", *init),
        }
        code, out, err = call(*words[command], "--json")
        assert code == 0, err
        guarantee = json.loads(out)["guarantee"]
    reasons = [] if case.reasons == ["fewer-people"] else case.reasons
    states(guarantee, case.before, reasons, case.assumed)
    limits = guarantee["against"]
    assert limits["collector"] == limits["readers"] == limits["shuffler"]
    assert limits["collector"]["epsilon"] == pytest.approx(case.before, rel=1e-9)
    together = limits["shuffler and collector"]
    assert together["epsilon"] == pytest.approx(local(case.plan), rel=1e-9)
    assert together["delta"] == 0.0


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


@pytest.mark.parametrize("command", PLAN_ALONE)
def test_a_plan_alone_promises_what_its_survey_asks(case, call, folder, command):
    """Nothing was collected; only who reads what the shuffler reads has names beside reports."""
    made = incrowd.Plan.load(folder / "plan.json").survey.model_dump(mode="json", by_alias=True)
    toml = "".join(f"{key} = {toml_value(value)}\n" for key, value in made.items() if value)
    (folder / "survey.toml").write_text(toml)
    files = {"PLAN": folder / "plan.json", "SURVEY": folder / "survey.toml"}
    more = ["--no-side-by-side"] if command == "plan" else []
    code, out, err = call(*(files.get(word, word) for word in PLAN_ALONE[command]), *more, "--json")
    assert code == 0 or command == "regress", err  # which says that reports may not support it
    guarantee = json.loads(out)["guarantee"]
    states(guarantee, 3.0, [], case.assumed)
    assert guarantee["local_epsilon"] == pytest.approx(local(case.plan), rel=1e-9)
    if command == "card":
        limits = guarantee["against"]
        assert limits["shuffler"] == limits["shuffler and collector"] != limits["collector"]
        assert limits["shuffler"]["epsilon"] == pytest.approx(local(case.plan), rel=1e-9)


def toml_value(value):
    """JSON's values that TOML writes alike, and tables in one line."""
    if isinstance(value, dict):
        items = (f"{key} = {toml_value(each)}" for key, each in value.items() if each is not None)
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value)


def named(plan):
    """The epsilon of one round with names at delta .01: of all four reports only the one with both
    bits right is so much more likely."""
    (message,) = plan.messages
    q = message.noise.q
    return math.log(((1 - q) ** 2 - 0.01) / q**2)


def test_a_ledger_says_what_the_rounds_have_spent(case, call, folder, tmp_path):
    """After all rounds it is the promise, after one less; if nobody mixed them, what names tell."""
    if "simulation" in case.reasons or "no receipt" in case.name:
        pytest.skip("no ledger takes it")
    ledger, files = tmp_path / "ledger.json", (folder / "plan.json", folder / "reports.parquet")
    assert call("ledger", ledger, "--new")[0] == 0
    code, out, err = call("ledger", ledger, *files, "--json")
    assert code == 0, err
    spent = json.loads(out)["spent"]["epsilon"]
    if "one-party" in case.reasons:
        assert spent == pytest.approx(named(case.plan), rel=1e-4)
    elif case.plan.survey.rounds == 1:
        assert spent == pytest.approx(case.epsilon, rel=0.01) and spent <= case.epsilon * 1.000001
    else:
        assert spent < 3.0, "the promise is for both rounds"


@pytest.mark.slow
def test_the_demo_states_the_promise_of_its_plan(call, tmp_path):
    code, out, err = call("demo", "-o", tmp_path / "demo", "--json")
    assert code == 0, err
    plan = incrowd.Plan.load(tmp_path / "demo" / "plan.json")
    guarantee = json.loads(out)["guarantee"]
    states(guarantee, plan.guarantee.epsilon, [], [])


def test_every_command_is_among_them():
    """A new command that states a promise is put into one of these lists."""
    stating = {words[0] for words in (*AFTER.values(), *PLAN_ALONE.values())}
    stating |= {name.split()[0] for name in BEFOREHAND} | OTHERS
    assert stating | SILENT == set(COMMANDS)
    assert not stating & SILENT
