"""Counts that one party publishes: the people in each cell, and noise by the plan's law."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.stats import chi2

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.errors import AnswersError, IncrowdWarning, ReportsError
from incrowd.plans import JointReport
from incrowd.reports.tally import published
from incrowd.sampling import randomize as randomizing
from incrowd.sampling.added import draw, with_noise
from incrowd.sampling.keystream import Keystream
from tests.conftest import run
from tests.oracles.service_plans import QUESTIONS, plan_of, survey_of

QUIET = AdditiveNoise.laplace(43.0, most=2)  # no noise, but once in 10^18 draws
MULTI = {"id": "tools", "type": "multi", "options": ["pen", "ink"], "at_most": 2}
AMOUNT = {"id": "cost", "type": "amount", "edges": [0, 10, 30]}
LARGE = {"id": "day", "type": "choice", "options": [str(n) for n in range(100)]}
OPEN = {"id": "site", "type": "choice", "options": ["x", "y", "z"], "open": True}


def quiet(survey, *tables):
    """The plan with counts that can be known, whatever it promises."""
    loud = plan_of(survey, *tables)
    sent = [message.model_copy(update={"added": QUIET}) for message in loud.messages]
    return loud.model_copy(update={"messages": tuple(sent)})


def counts(plan, collections):
    """The published counts of the first message, by stratum."""
    first = [each for each in collections if each.message == 0]
    return {each.strata: published(each, plan.messages[0].record_bits).tolist() for each in first}


def answers(people=12):
    return pa.table(
        {"smokes": ["yes", "no", "no"] * (people // 3), "team": ["a", "b", "b"] * (people // 3)}
    )


# --- what is counted -----------------------------------------------------------------------------


def test_each_count_is_of_the_people_in_a_cell():
    plan = quiet(survey_of(), ("smokes", "team"), ("team",))
    made = incrowd.randomize(plan, answers())
    assert counts(plan, made) == {(): [0, 8, 0, 4, 0, 0]}
    assert published(made[1], 3).tolist() == [4, 8, 0]
    assert [(each.people, each.draws, each.release) for each in made] == [(12, 1, None)] * 2


def test_options_of_several_and_those_who_give_any_answer():
    """Of 10 people, 5 choose the pen, 3 of them ink as well, and 2 nothing."""
    survey = survey_of([MULTI, QUESTIONS[0]])
    tools = [["pen"], ["pen", "ink"], []] * 2 + [["pen", "ink"], ["ink"], ["ink"], ["ink"]]
    smokes = ["yes"] * 3 + ["no"] * 7
    plan = quiet(survey, ("tools",), ("tools", "smokes"))
    made = incrowd.randomize(plan, pa.table({"tools": tools, "smokes": smokes}))
    assert counts(plan, made) == {(): [5, 6]}
    crossed = plan.messages[1].crossing
    both = published(made[1], plan.messages[1].record_bits)
    options, whole = (both[block.cells].reshape(block.shape) for block in crossed.blocks)
    assert options.tolist() == [[3, 2], [5, 1]] and whole.tolist() == [7, 3]


def test_an_amount_is_rounded_once_for_all_tables():
    survey = survey_of([AMOUNT, QUESTIONS[0]])
    plan = quiet(survey, ("cost",), ("cost", "smokes"))
    given = pa.table({"cost": [4, 21, 10, 30] * 5, "smokes": ["no"] * 20})
    alone, crossed = incrowd.randomize(plan, given, simulation_seed=2)
    edges = published(alone, 3)
    assert edges.sum() == 20 and edges[1] >= 5 and edges[2] >= 5
    assert published(crossed, 6).reshape(3, 2).sum(axis=1).tolist() == edges.tolist()


def test_nobody_answers_is_a_cell():
    survey = survey_of([{**QUESTIONS[0], "optional": True}])
    plan = quiet(survey)
    made = incrowd.randomize(plan, pa.table({"smokes": ["yes", None, "no"] * 4}))
    assert sorted(*counts(plan, made).values()) == [4, 4, 4]


def test_rows_of_one_person_count_once_if_she_is_named():
    plan = quiet(survey_of())
    given = {"smokes": ["yes", "yes", "no", "no"] * 3, "team": ["a", "a", "b", "b"] * 3}
    named = pa.table(given | {"who": [n // 2 for n in range(12)]})
    assert sum(*counts(plan, incrowd.randomize(plan, named)).values()) == 12
    with pytest.raises(AnswersError, match=r"6 people answered; a release needs at least 10"):
        incrowd.randomize(plan, named, id="who")


# --- the noise -----------------------------------------------------------------------------------


def misfit(drawn, chances):
    """The chance of frequencies that fit so badly, by the chi-square test; rare numbers pooled."""
    reach = len(chances) // 2
    seen = np.bincount(drawn + reach, minlength=len(chances))
    expected = len(drawn) * chances
    enough = np.flatnonzero(expected >= 10)
    first, last = enough[0], enough[-1] + 1
    bins = [slice(0, first), *(slice(n, n + 1) for n in range(first, last)), slice(last, None)]
    pairs = [(seen[each].sum(), expected[each].sum()) for each in bins]
    square = sum((s - e) ** 2 / e for s, e in pairs if e > 1e-9)
    return chi2.sf(square, len(pairs) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("service", "draws"), [(None, 1), (3.0, 2)])
def test_noise_is_added_by_the_law_as_often_as_readers_need(service, draws):
    """30,000 draws; false alarm below 1e-6. As many draws as the plan has otherwise are refused."""
    survey = survey_of([QUESTIONS[0], LARGE], service=service)
    plan, drawn = plan_of(survey), []
    law = plan.messages[0].added
    given = pa.table({"smokes": ["no"] * 60, "day": [str(n) for n in range(60)]})
    inside = np.repeat([1, 0], [60, 140])
    for seed in range(150):
        (made,) = incrowd.randomize(plan, given, simulation_seed=seed)
        drawn.append(published(made, 200) - inside)
    assert made.draws == draws
    once, twice = law.chances, np.convolve(law.chances, law.chances)
    right, wrong = (once, twice) if draws == 1 else (twice, once)
    drawn = np.concatenate(drawn)
    assert misfit(drawn, right) > 1e-6
    inside_of_wrong = drawn[np.abs(drawn) <= len(wrong) // 2]
    assert misfit(inside_of_wrong, wrong) < 1e-12


@pytest.mark.slow
def test_noise_of_cells_and_of_draws_is_independent():
    """Correlations of 30,000 pairs within 6 standard errors; equal noise is seen."""
    law, stream = AdditiveNoise.laplace(0.5, most=40), Keystream.for_simulation(7)
    noise = np.array([with_noise(np.zeros(3, np.int64), law, 1, stream) for _ in range(30_000)])
    limit = 6 / np.sqrt(len(noise))
    apart = np.corrcoef(noise.T)[np.triu_indices(3, 1)]
    after = [np.corrcoef(noise[:-1, n], noise[1:, n])[0, 1] for n in range(3)]
    assert np.abs([*apart, *after]).max() < limit
    assert np.corrcoef(noise[:, 0], noise[:, 0])[0, 1] > limit


def test_a_word_is_drawn_where_the_law_says():
    """All words below the sum of the first numerators are the least number, and so on."""
    law = AdditiveNoise.of([4.0, 2.0, 1.0])
    ends = np.cumsum([int(each) for each in law.whole])
    words = [0, ends[0] - 1, ends[0], ends[1] - 1, ends[1], 2**64 - 1]
    assert draw(law, np.array(words, np.uint64)).tolist() == [-2, -2, -1, -1, 0, 2]


@pytest.mark.slow
def test_published_counts_can_be_below_zero_and_above_everybody():
    plan = plan_of(survey_of())
    every = [
        published(each, 6)
        for seed in range(200)
        for each in incrowd.randomize(plan, answers(), simulation_seed=seed)
    ]
    assert np.min(every) < 0
    for made in incrowd.randomize(plan, answers(), simulation_seed=1):
        tally = incrowd.count(plan, made, tables=[("smokes",)])
        assert tally.messages[0].tables[("smokes", "team")][0] == 12


# --- releases ------------------------------------------------------------------------------------


def sites(*sizes):
    named = np.repeat(["x", "y", "z"][: len(sizes)], sizes)
    return pa.table({"site": named, "smokes": ["yes"] * len(named)})


@pytest.mark.parametrize(
    ("rule", "released"), [("delete", [("x",)]), ("merge", [("x",), ("y", "z")])]
)
def test_a_stratum_needs_the_least_number_of_people_and_no_crowd(rule, released):
    survey = survey_of([OPEN, QUESTIONS[0]], crowd=500, least=5, small_strata=rule)
    plan = quiet(survey)
    with pytest.warns(IncrowdWarning, match="fewer than 5 people"):
        made = incrowd.randomize(plan, sites(5, 4, 1))
    assert list(counts(plan, made)) == released
    assert [each.people for each in made] == [5] * len(released)
    with pytest.raises(AnswersError, match=r"4 people in the largest stratum; .* at least 5"):
        incrowd.randomize(quiet(survey.model_copy(update={"small_strata": "delete"})), sites(4, 4))


def test_fewer_people_than_the_crowd_are_no_reason_to_warn():
    """All warnings are errors in these tests. Where flips count on the crowd there is one."""
    survey = survey_of(crowd=500)
    incrowd.randomize(plan_of(survey), answers())
    team = survey.question("team")
    flips = JointReport(questions=(team,), noise_numerator=1 << 30)
    with pytest.warns(IncrowdWarning, match="12 people are randomized"):
        incrowd.randomize(plan_of(survey, ("smokes",), others=[flips]), answers())


def test_fewer_people_than_a_release_needs_are_refused(tmp_path):
    plan = plan_of(survey_of(least=13))
    with pytest.raises(AnswersError, match="12 people answered; a release needs at least 13"):
        incrowd.randomize(plan, answers())
    pa.csv.write_csv(answers(), tmp_path / "a.csv")
    with pytest.raises(AnswersError, match="12 people answered"):
        randomizing.randomize_files(plan, tmp_path / "a.csv", tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()


def test_a_check_says_so_before(tmp_path):
    found = incrowd.check(survey_of(least=13, crowd=500), answers())
    assert [str(each.message) for each in found.findings] == [
        "12 people answered; a release needs at least 13; collect more answers, or set least to a "
        "smaller number, at least 2"
    ]
    assert incrowd.check(survey_of(least=12, crowd=500), answers()).accepted
    assert not incrowd.check(survey_of(least=12, crowd=500), answers()).findings


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("open_questions", [[], [OPEN]])
def test_files_in_many_batches_have_the_same_counts(tmp_path, monkeypatch, open_questions):
    plan = quiet(survey_of([*open_questions, QUESTIONS[0]], least=5))
    known = sites(30, 20, 7) if open_questions else sites(57).select(["smokes"])
    pa.csv.write_csv(known, tmp_path / "a.csv")
    monkeypatch.setattr(randomizing, "batch_rows", lambda _: 4)
    place = tmp_path / ("counts" if open_questions else "counts.parquet")
    written = randomizing.randomize_files(plan, tmp_path / "a.csv", place)
    loaded = incrowd.load_reports(place)
    assert counts(plan, loaded) == counts(plan, incrowd.randomize(plan, known))
    assert written.reports == (1,) * len(loaded)
    assert [each.draws for each in loaded] == [1] * len(loaded)


@pytest.mark.slow
def test_a_file_in_many_batches_gets_noise_once(tmp_path, monkeypatch):
    """Noise for each of 15 batches would be seen: its sum has a variance 15 times as large."""
    plan, known = plan_of(survey_of()), answers(60)
    [(_, inside)] = counts(quiet(survey_of()), incrowd.randomize(quiet(survey_of()), known)).items()
    pa.csv.write_csv(known, tmp_path / "a.csv")
    monkeypatch.setattr(randomizing, "batch_rows", lambda _: 4)
    drawn = []
    for seed in range(100):
        path = tmp_path / f"{seed}.parquet"
        randomizing.randomize_files(plan, tmp_path / "a.csv", path, simulation_seed=seed)
        [(_, made)] = counts(plan, incrowd.load_reports(path)).items()
        drawn.append(np.subtract(made, inside))
    variance, law = np.var(drawn), plan.messages[0].added.variance
    assert 0.5 * law < variance < 1.6 * law


@pytest.mark.slow
def test_joint_reports_of_the_same_plan_are_shuffled_as_ever(tmp_path, monkeypatch):
    survey = survey_of(crowd=12)
    flips = JointReport(questions=(survey.question("team"),), noise_numerator=1 << 30)
    plan = plan_of(survey, ("smokes",), others=[flips])
    pa.csv.write_csv(answers(), tmp_path / "a.csv")
    monkeypatch.setattr(randomizing, "batch_rows", lambda _: 4)
    written = randomizing.randomize_files(plan, tmp_path / "a.csv", tmp_path / "made")
    assert written.reports == (1, 12)
    loaded = incrowd.load_reports(tmp_path / "made")
    assert [(each.draws, each.bits) for each in loaded] == [(1, 64), (0, 3)]
    assert incrowd.verify(plan, loaded).reports == 12


def test_counts_with_less_noise_than_readers_need_are_refused():
    plan = plan_of(survey_of(service=3.0))
    (made,) = incrowd.randomize(plan, answers())
    with pytest.raises(ReportsError, match="noise was added 1 time"):
        incrowd.count(plan, replace(made, draws=1))
    (other,) = incrowd.randomize(plan_of(survey_of()), answers())
    with pytest.raises(ReportsError, match="noise was added 3 times"):
        incrowd.count(plan_of(survey_of()), replace(other, draws=3))


# --- from an empty folder to a table -------------------------------------------------------------


def test_a_data_owner_publishes_a_table(tmp_path):
    """The commands, one after the other; no output has a number of reports."""
    plan = plan_of(survey_of(crowd=12))
    (tmp_path / "plan.json").write_text(plan.dumps())
    pa.csv.write_csv(answers(), tmp_path / "a.csv")

    def called(*arguments):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    said = called("randomize", "plan.json", "a.csv", "-o", "counts.parquet")
    assert "wrote 6 counts to counts.parquet" in said and "reports" not in said
    assert "and not from whoever has the answers" in said
    assert "can come" not in (said := called("verify", "plan.json", "counts.parquet"))
    assert "6 published counts of 12 people add up to" in said and "explains" in said
    said = called("tally", "plan.json", "counts.parquet", "-o", "tally.json")
    assert "published counts of 12 people" in said and "accepted" not in said
    for source in ("counts.parquet", "tally.json"):
        told = json.loads(called("estimate", "plan.json", source, "--json"))
        (message,) = told["messages"]
        assert (message["people"], message["noise_added"]) == (12, 1)
        assert "reports" not in message and told["reports"] is None
        assert told["guarantee"]["mixed_by"] == ["curator"]
        assert told["guarantee"]["against"]["curator"]["epsilon"] == "unbounded"
    said = called("estimate", "plan.json", "counts.parquet")
    assert "Reports" not in said and "whoever has the answers" not in said
    said = called("estimate", "plan.json", "counts.parquet", "-v")
    assert "Reports" not in said and "whoever holds the answers" in said
    assert "whoever has the answers added noise" in " ".join(said.split())
    for ending in ("html", "csv", "xlsx", "R"):
        called("estimate", "plan.json", "counts.parquet", "-o", f"table.{ending}")
