"""Several rounds of one plan share its promise: composed, noted one by one, refused when spent."""

import itertools
import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.schema import Contribution
from incrowd.cli.app import main
from incrowd.errors import PlanError
from incrowd.guarantees.rounds import check_left, spent
from incrowd.plans.ledger import Ledger, repeats
from incrowd.plans.sent import sent_before, sent_by
from incrowd.presentation.guarantee_text import assumption_text
from incrowd.presentation.terminal_tables import spent_line

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
MEMOIZED = {"kind": "rappor", "f": 0.5, "memoized": True}


def asked(rounds=None, questions=({"id": "a", "type": "yesno"},), **more):
    raw = {"name": "weekly", "crowd": 3000, "privacy": PRIVACY, "question": list(questions)}
    return incrowd.Survey.of(raw | more | ({} if rounds is None else {"rounds": rounds}))


@pytest.fixture(scope="module")
def weekly():
    return incrowd.plan(asked(4))


def noted(plan, *people):
    known = Ledger()
    for came in people:
        known = known.with_plan(plan, came)
    return known


@pytest.mark.slow
def test_one_round_is_as_before_and_stands_nowhere():
    alone, said = incrowd.plan(asked()), incrowd.plan(asked(1))
    assert "rounds" not in alone.dumps() and alone.digest == said.digest
    assert json.loads(incrowd.plan(asked(2)).dumps())["plan"]["survey"]["rounds"] == 2


@pytest.mark.parametrize("rounds", [2, 5])
def test_rounds_leak_as_much_as_copies_do(rounds):
    """Copies and rounds are collections of their own: the same noise keeps the same promise."""
    copies = incrowd.plan(asked(copies=rounds))
    planned = incrowd.plan(asked(rounds))
    assert planned.messages[0].noise == copies.messages[0].noise
    assert planned.messages[0].copies == 1
    assert planned.guarantee.certified_delta == copies.guarantee.certified_delta
    assert planned.guarantee.local_epsilon == pytest.approx(copies.guarantee.local_epsilon)


def law(q, ones, zeros):
    """How many of some people send 1."""
    counts = [binom.pmf(np.arange(n + 1), n, p) for n, p in ((ones, 1 - q), (zeros, q))]
    return np.convolve(*counts)


def leaked(q, crowd, epsilon, rounds):
    """delta after so many rounds, by all that can be counted in them: the worst crowd."""
    worst = 0.0
    for ones in range(crowd):
        mine = [law(q, ones + own, crowd - 1 - ones + 1 - own) for own in (0, 1)]
        for a, b in (mine, mine[::-1]):
            both = itertools.product(range(crowd + 1), repeat=rounds)
            each = ((a[list(c)].prod(), b[list(c)].prod()) for c in both)
            worst = max(worst, sum(max(0.0, p - np.exp(epsilon) * r) for p, r in each))
    return worst


def test_all_that_can_be_seen_in_three_rounds_keeps_the_promise():
    privacy = {"epsilon": 0.8, "delta": 0.05}
    plan = incrowd.plan(asked(3, crowd=6, privacy=privacy))
    once = incrowd.plan(asked(crowd=6, privacy=privacy))
    assert leaked(plan.messages[0].noise.q, 6, 0.8, 3) <= 0.05
    assert leaked(once.messages[0].noise.q, 6, 0.8, 1) <= 0.05
    assert leaked(once.messages[0].noise.q, 6, 0.8, 3) > 0.05  # wrong: each planned for itself


@pytest.mark.slow
def test_a_plan_for_one_round_does_not_keep_its_promise_in_many():
    once = incrowd.plan(asked())
    many = Contribution(tuple((schema, 4 * copies) for schema, copies in sent_by(once).reports))
    assert certify("shuffle", many, 3000, 1.0).delta.upper > 1e-6
    kept = incrowd.plan(asked(4))
    assert certify("shuffle", sent_by(kept), 3000, 1.0).delta.upper <= 1e-6
    assert incrowd.verify(kept).plan_holds


@pytest.mark.slow
def test_memoized_responses_count_once_and_may_be_repeated():
    plan = incrowd.plan(
        asked(
            3,
            [{"id": "a", "type": "yesno"}, {"id": "m", "type": "yesno", "randomizer": MEMOIZED}],
            privacy={"epsilon": 2.0, "delta": 1e-3},
        )
    )
    assert sorted(copies for _, copies in sent_by(plan).reports) == [1, 3]
    assert repeats(plan) and not repeats(incrowd.plan(asked(3)))
    assert "covered for 3 rounds" in assumption_text(plan.guarantee)


def test_the_ledger_says_what_is_spent_and_left(weekly):
    before = 0.0
    for done in range(1, 5):
        found = spent(noted(weekly, *[3000] * done))
        assert (found.done, found.rounds, found.left) == (done, 4, 4 - done)
        assert before < found.epsilon <= 1.0 * (1 + 1e-3)
        before = found.epsilon
    assert before > 0.95  # all of it
    assert spent(Ledger()) is None


@pytest.mark.slow
def test_plans_of_one_round_have_spent_something_too(weekly):
    """The whole promise of a plan; of two plans what the certificate of all that was sent says."""
    first = incrowd.plan(asked())
    known = noted(first, 3000)
    alone = spent(known)
    assert 0.95 < alone.epsilon <= 1.0 * (1 + 1e-3) and (alone.rounds, alone.left) == (1, 0)
    assert "rounds" not in spent_line(alone) and "left" not in spent_line(alone)
    more = {"name": "other", "privacy": {"epsilon": 1.5, "delta": 1e-6}}
    second = incrowd.plan(asked(None, [{"id": "b", "type": "yesno"}], **more), earlier=known.asked)
    both = spent(known.with_plan(second, 3000))
    assert alone.epsilon < both.epsilon <= 1.5 * (1 + 1e-3)
    for epsilon, enough in ((both.epsilon, True), (both.epsilon * 0.98, False)):
        certified = certify("shuffle", sent_by(second), 3000, epsilon).delta.upper
        assert (certified <= 1e-6 * (1 + 1e-6)) == enough
    fewer = spent(known.with_plan(second, 1000))
    assert fewer.epsilon > both.epsilon  # the smallest crowd of all
    rounds = noted(weekly, 3000)
    after = incrowd.plan(asked(None, name="other"), earlier=rounds.asked)
    assert spent(rounds.with_plan(after, 3000)).epsilon > spent(rounds).epsilon


def test_what_came_and_what_is_assumed_are_told_apart(weekly):
    known = noted(weekly, 3000, None, 2900)
    assert [asked.collected.people for asked in known.asked] == [(3000,), (), (2900,)]
    assert Ledger.loads(known.dumps()) == known


def test_no_round_is_noted_beyond_the_last(weekly):
    known = noted(weekly, *[3000] * 4)
    for refuse in (lambda: known.with_plan(weekly, 3000), lambda: check_left(known, weekly)):
        with pytest.raises(PlanError, match="all its 4 rounds"):
            refuse()


@pytest.mark.slow
def test_fewer_people_leave_fewer_rounds(weekly):
    """As many more as the certificate of all together says; tried one by one."""
    known = noted(weekly, 2000)
    one = sent_before(known.asked)
    kept = 0
    while kept < 3:
        more = Contribution(tuple((schema, (kept + 2) * copies) for schema, copies in one.reports))
        if certify("shuffle", more, 2000, 1.0).delta.upper > 1e-6:
            break
        kept += 1
    assert spent(known).left == kept < 3
    check_left(known, weekly)
    gone = noted(weekly, 300)
    assert spent(gone).epsilon > 1.0 and spent(gone).left == 0
    with pytest.raises(PlanError, match="after 1 of 4 rounds its guarantee covers no further"):
        check_left(gone, weekly)


def test_a_later_plan_counts_the_rounds_that_were(weekly):
    known = noted(weekly, 3000, 2900)
    other = [{"id": "b", "type": "yesno"}]
    later = incrowd.plan(
        asked(None, other, name="other", privacy={"epsilon": 2.0, "delta": 1e-6}),
        earlier=known.asked,
    )
    assert sent_by(later).copies == 3 and later.guarantee.crowd == 2900
    assert len(known.with_plan(later, 3000).asked) == 3
    with pytest.raises(PlanError, match="does not cover"):
        known.with_plan(weekly, 3000).with_plan(later, 3000)  # a round it does not know of
    with pytest.raises(PlanError, match="does not cover 'other'"):
        known.with_plan(later, 3000).with_plan(weekly, 3000)


@pytest.mark.slow
def test_the_commands_count_and_refuse(tmp_path, capsys, monkeypatch):
    def call(arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        try:
            main()
        except SystemExit as done:
            return done.code or 0
        return 0

    plan = incrowd.plan(asked(2, crowd=200, privacy={"epsilon": 2.0, "delta": 1e-4}))
    paths = {name: str(tmp_path / name) for name in ("p.json", "l.json", "a.csv", "r.parquet")}
    (tmp_path / "p.json").write_text(plan.dumps())
    (tmp_path / "a.csv").write_text("a\n" + "yes\nno\n" * 100)
    making = ["randomize", paths["p.json"], paths["a.csv"], "-o", paths["r.parquet"]]
    assert call(["ledger", paths["l.json"], "--new"]) == 0
    for number in (1, 2):
        assert call([*making, "--ledger", paths["l.json"]]) == 0
        assert call(["ledger", paths["l.json"], paths["p.json"], paths["r.parquet"]]) == 0
        assert f"{number} of 2 rounds of weekly; epsilon spent so far" in capsys.readouterr().err
    assert call(["ledger", paths["l.json"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"]["left"] == 0
    (tmp_path / "r.parquet").unlink()
    assert call([*making, "--ledger", paths["l.json"]]) != 0
    assert "all its 2 rounds" in capsys.readouterr().err
    assert not (tmp_path / "r.parquet").exists()


def test_answers_of_one_round_are_estimated_with_the_promise_of_all(weekly):
    reports = incrowd.randomize(weekly, pa.table({"a": ["yes", "no"] * 1500}))
    assert incrowd.estimate(weekly, reports).guarantee == weekly.guarantee
