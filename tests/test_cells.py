"""Messages of cells from the answers to every result, against the answers themselves."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import TableError
from incrowd.estimation.cells import FalseReports
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.readings import readings
from incrowd.estimation.tables import estimate_table

PEOPLE = 3000
QUESTIONS = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"], "optional": True},
    {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
    {"id": "d", "type": "amount", "edges": [0, 10, 50, 100]},
    {"id": "e", "type": "yesno"},
]
MESSAGES = [
    {"questions": ["a", "b"], "cells": True},
    {"questions": ["a", "d"], "cells": True},
    {"questions": ["a", "c"], "cells": True},
    {"questions": ["e"], "cells": True},
    {"questions": ["b", "e"]},
]


@dataclass(repr=False)
class Path:
    plan: incrowd.Plan
    answers: pa.Table
    reports: tuple[incrowd.Collection, ...]


@pytest.fixture(scope="module")
def path():
    """A generous promise, so that 3,000 people tell a lot."""
    privacy = {"epsilon": 40.0, "analysis": "local"}
    raw = {"name": "cells", "crowd": PEOPLE, "privacy": privacy}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": QUESTIONS, "message": MESSAGES}))
    generator = np.random.default_rng(1)
    a = generator.random(PEOPLE) < 0.3
    alike = a & (generator.random(PEOPLE) < 0.5)
    b = np.where(alike, "x", generator.choice(["x", "y", "z"], PEOPLE, p=[0.3, 0.5, 0.2]))
    b = np.where(generator.random(PEOPLE) < 0.1, None, b)
    c = [";".join(generator.choice(list("uvw"), n, replace=False)) for n in a + 1]
    d = generator.choice([0.0, 10.0, 50.0, 100.0], PEOPLE)
    answers = {"a": a, "b": b, "c": c, "d": d, "e": generator.random(PEOPLE) < 0.1}
    table = pa.table(answers)
    return Path(plan, table, incrowd.randomize(plan, table, simulation_seed=2))


TABLES = [("a",), ("b",), ("b", "a"), ("a", "c"), ("d",), ("d", "a"), ("e",), ("b", "e")]


def test_tables_are_near_the_answers_and_their_margins_agree(path):
    """Every cell within 5 standard errors of its noise; margins of tables from cells alone equal to
    each other, though they come from different messages."""
    found = incrowd.estimate(path.plan, path.reports, tables=TABLES, noise_only=True)
    for table, truth in zip(
        found.tables, incrowd.truth(path.plan, path.answers, tables=TABLES), strict=True
    ):
        assert np.all(np.abs(table.estimate - truth) < 5 * table.error.noise), table.questions
        assert np.all(table.low < table.estimate) and np.all(table.estimate < table.high)
    assert found["b", "a"].estimate.sum(axis=0) == pytest.approx(
        found["d", "a"].estimate.sum(axis=0)
    )
    assert found["d"].estimate == pytest.approx(found["d", "a"].estimate.sum(axis=1))
    assert found["a", "c"].estimate.sum() != pytest.approx(1)


def test_a_joint_report_and_cells_are_combined_by_the_planned_weights(path):
    """Both tell b, whose table is their weighted mean, with the errors of independent noise; the
    weight of the cells is the inverse of what least squares leaves."""
    counted = incrowd.count(path.plan, path.reports, tables=[("b",)])
    joint, cells = readings(path.plan, counted, ("b",))
    question, message = path.plan.survey.question("b"), joint.message
    decoders = [question_decoder(question, message.channels["b"])]
    parts = [
        estimate_table(["b"], decoders, joint.counts, message.copies),
        cells.table([question], False, FalseReports(lambda _: 0, shared=True)),
    ]
    share = joint.weight / (joint.weight + cells.weight)
    table = incrowd.estimate(path.plan, path.reports, tables=[("b",)])["b"]
    assert table.estimate == pytest.approx(
        share * parts[0].estimate + (1 - share) * parts[1].estimate
    )
    noise = (share * parts[0].error.noise) ** 2 + ((1 - share) * parts[1].error.noise) ** 2
    assert table.error.noise == pytest.approx(np.sqrt(noise))
    assert cells.weight == pytest.approx(1 / (parts[1].error.noise[0] ** 2 * PEOPLE))


def test_all_figures_of_tables_are_made(path):
    found = incrowd.estimate(
        path.plan, path.reports, tables=TABLES, covariance=True, simultaneous="max-t"
    )
    several = [table.error.covariance is None for table in found.tables]
    assert several == [table.questions == ("a", "c") for table in found.tables]
    for table, intervals in zip(found.tables, found.simultaneous, strict=True):
        assert np.all(intervals.low <= table.low) and np.all(table.high <= intervals.high)
        if table.error.covariance is not None:
            errors = np.sqrt(np.diagonal(table.error.covariance))
            assert errors == pytest.approx(table.standard_error.ravel())
    mean = found.amounts["d"].mean
    values = path.answers["d"].to_numpy()
    assert abs(mean.estimate - values.mean()) < 5 * mean.standard_error
    assert 0 < mean.influence < 20


def test_weights_are_for_the_cells_of_one_message(path):
    """Post-stratified by hand: sum over a of P(a) p(b, a) / p(a). What lies in no message with the
    margin is listed with the reason."""
    margin = {"a": {"no": 0.6, "yes": 0.4}}
    plain = incrowd.estimate(path.plan, path.reports, tables=[("b", "a")]).tables[0].estimate
    found = incrowd.estimate(path.plan, path.reports, tables=TABLES, margins=margin)
    expected = (plain / plain.sum(axis=0)) @ [0.6, 0.4]
    assert found["b"].estimate == pytest.approx(expected)
    reasons = {each.questions: each.reason for each in found.not_made}
    assert set(reasons) == {("e",), ("b", "e")}
    assert "no report has it together with a" in reasons["e",]


def test_shares_of_those_who_answered_are_quotients(path):
    plain = incrowd.estimate(path.plan, path.reports, tables=[("b", "a")])["b", "a"].estimate
    found = incrowd.estimate(
        path.plan, path.reports, tables=[("b", "a")], of_those_who_answered=True
    )["b", "a"]
    assert found.estimate == pytest.approx(plain[:3] / plain[:3].sum())


def test_groups_are_compared(path):
    """Of exclusive groups everything; of options that overlap their shares alone."""
    made = incrowd.compare(path.plan, path.reports, "a", "b")
    assert made.independence.p_value < 1e-6 and made.cramers_v.low > 0
    assert len(made.differences) == len(made.odds_ratios) == 3  # of those who answered b
    everybody = incrowd.compare(path.plan, path.reports, "a", "b", of_those_who_answered=False)
    assert len(everybody.differences) == len(everybody.odds_ratios) == 4
    by_options = incrowd.compare(path.plan, path.reports, "c", "a")
    assert not by_options.independence.estimable
    assert "together" in by_options.independence.reason
    assert len(by_options.shares) == 6 and by_options.differences == ()
    assert len(incrowd.compare(path.plan, path.reports, "a", "c").differences) == 3


@pytest.mark.parametrize("method", ["simplex", "likelihood"])
def test_post_processed_shares_are_possible(path, method):
    found, _ = incrowd.postprocess(
        path.plan, path.reports, tables=[("b", "a"), ("d", "a")], method=method, bootstrap=20
    )
    assert found.method == "constrained least squares"
    assert found.estimate.min() >= 0 and found.estimate.sum() == pytest.approx(1)
    assert np.all(np.abs(found.estimate - found.raw) < 0.1)
    assert found.bias.draws == 20


def test_regressions_need_the_cells_of_all_their_questions(path):
    """The log odds of a table of two questions are those of its cells."""
    found = incrowd.regress(path.plan, path.reports, "a", on=["b"])
    cells = incrowd.estimate(
        path.plan, path.reports, tables=[("b", "a")], of_those_who_answered=True
    )["b", "a"].estimate
    odds = np.log(cells[:, 1] / cells[:, 0])
    estimates = [each.estimate for each in found.coefficients]
    assert estimates == pytest.approx([odds[0], odds[1] - odds[0], odds[2] - odds[0]])
    with pytest.raises(TableError, match=r"no message has all of these.*\(a, b\)"):
        incrowd.regress(path.plan, path.reports, "e", on=["a"])


def test_a_tally_tells_every_table_from_cells(path):
    """All cells are counted whatever is asked, so that no table has to be named in advance, and
    weights need no counts of pairs."""
    counted = incrowd.count(path.plan, path.reports, tables=[("d",)])
    expected = incrowd.estimate(path.plan, path.reports, tables=[("b", "a")], covariance=True)
    found = incrowd.estimate(path.plan, counted, tables=[("b", "a")], covariance=True)
    assert found.tables[0].estimate == pytest.approx(expected.tables[0].estimate)
    with pytest.raises(TableError, match="it was not counted"):
        incrowd.estimate(path.plan, counted, tables=[("b", "e")])


def survey_of(**changed):
    privacy = {"epsilon": 6.0, "analysis": "local"}
    raw = {"name": "cells", "crowd": 400, "privacy": privacy, "question": QUESTIONS[:2]}
    raw["message"] = [{"questions": ["a", "b"], "cells": True}]
    return incrowd.Survey.of(raw | changed)


@pytest.mark.slow
def test_simulated_tables_have_the_errors_that_theory_expects():
    """60 trials: the ratio of expected to seen variance, summed over cells, within 5 standard
    errors; bias within 5. Wrong: a plan with twice the noise expects more than is seen."""
    generator = np.random.default_rng(4)
    answers = pa.table(
        {"a": generator.random(800) < 0.3, "b": generator.choice(["x", "y", "z"], 800)}
    )
    found = incrowd.simulate(survey_of(), answers, trials=60, seed=3)
    for table in found.tables:
        cells = table.bias.size
        assert abs(table.efficiency - 1) < 5 * np.sqrt(2 / (60 * max(cells - 1, 1)))
        assert np.all(np.abs(table.bias) < 5 * table.bias_error)
        assert 0.85 < table.coverage.mean() <= 1


def test_strata_are_added_up_and_weighted():
    """The table of an open question is its strata's tables by their shares, weighted as well."""
    place = {"id": "place", "type": "choice", "options": ["here", "there"], "open": True}
    survey = survey_of(
        question=[*QUESTIONS[:2], place], crowd=300, table=[{"questions": ["place", "a", "b"]}]
    )
    plan = incrowd.plan(survey)
    generator = np.random.default_rng(5)
    answers = {"a": generator.random(1000) < 0.3, "b": generator.choice(["x", "y", "z"], 1000)}
    where = np.repeat(["here", "there"], [400, 600])
    reports = incrowd.randomize(plan, pa.table(answers | {"place": where}), simulation_seed=6)
    found = incrowd.estimate(plan, reports, covariance=True)
    whole = found["place", "a", "b"]
    parts = [s.tables[[t.questions for t in s.tables].index(("a", "b"))] for s in found.strata]
    for share, part, each in zip((0.4, 0.6), parts, whole.estimate, strict=True):
        assert each == pytest.approx(share * part.estimate)
    margins = {"place": {"here": 0.5, "there": 0.5}}
    weighted = incrowd.estimate(plan, reports, margins=margins)
    expected = (parts[0].estimate + parts[1].estimate) / 2
    assert weighted["place", "a", "b"].estimate.sum(axis=0) == pytest.approx(expected)
    errors = np.sqrt(np.diagonal(whole.error.covariance)).reshape(whole.estimate.shape)
    assert np.all(errors >= whole.standard_error * (1 - 1e-9))  # where shares are < 0
    assert errors == pytest.approx(whole.standard_error, rel=0.01)
