"""Reports + Plan -> a regression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, product
from typing import NamedTuple, get_args

import numpy as np

from incrowd.errors import MISSING, IncrowdError, InWords, ReportsError, TableError, UsageError
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.pairwise_law import MOST_STATES
from incrowd.estimation.readings import (
    Ids,
    Source,
    cells_reading,
    joint_readings,
    joint_sources,
    pair_weight,
    readings,
    sources,
)
from incrowd.estimation.regression.cell_pairs import ASSUMPTION, cell_pairs_of_stratum
from incrowd.estimation.regression.fitting import (
    counted_shares,
    fit,
    fit_tables,
    fit_together,
    no_fit,
    silent_share,
)
from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.levels import level_rows, level_table
from incrowd.estimation.regression.likelihood import fit_likelihood, strata_of
from incrowd.estimation.regression.model import Levels, Model, Term, too_large
from incrowd.estimation.regression.pairs import MessageRows, pairs_of_stratum
from incrowd.estimation.regression.results import Fit, Method, Regression, of_fit
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.regression.variables import Variable
from incrowd.estimation.results import Received
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY, TableEstimate
from incrowd.estimation.weighting.known_margins import Given, KnownMargin, known_margins
from incrowd.estimation.weighting.weighting import Change, counted_for, weighted_levels
from incrowd.plans import Message, Plan
from incrowd.plans.plan import with_merged
from incrowd.plans.strata import Names, answers_in
from incrowd.reports.acceptance import accepted
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import smallest
from incrowd.reports.moments import extract
from incrowd.reports.tally import Tally
from incrowd.survey import Survey
from incrowd.survey.formulas import BETWEEN, IS, Family, Formula, Penalty, named, scored
from incrowd.survey.merging import Merge, merged_answers, merged_questions
from incrowd.survey.question import MERGED

# Which regression is asked for: one that is named, or the only one that the survey wants.


TILDE = "~"  # between what is explained and its predictors
_PLUS = re.compile(r"\s+\+\s+")  # between predictors; an answer may be called 18+


def _written_out(
    survey: Survey, outcome: str | None, on: Sequence[str] | None
) -> tuple[str | None, Sequence[str] | None]:
    """Outcome and predictors of a formula, as "smokes ~ age + sex:age"; of anything else as is."""
    questions = {question.id: question for question in survey.questions}
    if outcome is None or TILDE not in outcome or named(outcome, questions):
        return outcome, on
    if on is not None:
        raise UsageError.of(
            "on", list(on), f"the formula {outcome!r} says it; leave one of them out"
        )
    explained, _, predictors = outcome.partition(TILDE)
    terms = _PLUS.split(predictors.strip())
    if not explained.strip() or not all(terms):
        allowed = "should be a formula such as 'smokes ~ age + sex'"
        raise UsageError.of("outcome", outcome, allowed)
    return explained.strip(), terms


def formula_of(
    survey: Survey,
    outcome: str | None,
    on: Sequence[str] | None,
    reference: Mapping[str, str] | None = None,
    family: str | None = None,
    scores: Sequence[float] | None = None,
    predictor_scores: Mapping[str, Sequence[float]] | None = None,
    merge: Merge | None = None,
    penalty: str | None = None,
) -> Formula:
    """The formula that is asked for. What else is given takes the place of what the survey says.

    outcome may be a whole formula, as "smokes ~ age + sex"; then there is no `on`.
    Without `on` it is the survey's only regression, or the only one of that outcome. Raises
    UsageError if that is none, or one of several.
    """
    outcome, on = _written_out(survey, outcome, on)
    values = {
        "reference": dict(reference or {}),
        "family": family,
        "scores": tuple(scores or ()),
        "predictor_scores": dict(predictor_scores or {}),
        "merge": dict(merge or {}),
        "penalty": penalty,
    }
    given = {name: value for name, value in values.items() if value}
    if outcome is not None and on is not None:
        written = Formula.model_construct(outcome=outcome, on=tuple(on))
        return written.model_copy(update=given)
    wanted = [each for each in survey.regressions if outcome in (None, each.outcome)]
    if on is None and len(wanted) == 1:
        return wanted[0].model_copy(update=given)
    listed = ", ".join(f"'{each}'" for each in survey.regressions) or "no regression"
    allowed = f"name what is explained, and by what; the survey wants {listed}"
    raise UsageError.of("outcome" if outcome is None else "on", MISSING, allowed)


# The people of a regression by what they answered in clear.


class StratumShares(NamedTuple):
    """People who gave the same answers in clear: those, their counts, the releases they are in."""

    levels: Levels
    counted: Tally
    names: frozenset[Names]


def strata_by_answers(plan: Plan, model: Model, counted: Tally) -> list[StratumShares]:
    """The people by what they answered in clear to the predictors of a model.

    Strata that were released as one and differ in it are left out. Raises ReportsError if all are.
    """
    clear = [each for each in model.predictors if each.question.id in model.open]
    if not clear:
        return [StratumShares({}, counted, frozenset(counted.strata))]
    apart: dict[tuple[str, ...], list[Names]] = {}
    for names in counted.strata:
        said = _levels(plan, clear, names)
        if len(said) == 1:
            apart.setdefault(said.pop(), []).append(names)
    ids = [variable.question.id for variable in clear]
    if not apart:
        allowed = "they tell none of its answers apart; leave it out of the model"
        raise ReportsError.of(ids[0], InWords("strata were released as one"), allowed)
    return [
        StratumShares(dict(zip(ids, levels, strict=True)), counted.only(names), frozenset(names))
        for levels, names in apart.items()
    ]


def of_the_released(plan: Plan, model: Model, counted: Tally) -> Model:
    """A model without the levels in clear that none of the released people are known to be on.

    Raises ReportsError if fewer than two levels of a predictor are left, which explain nothing, or
    if nobody is on some levels of an interaction.
    """
    found = [each.levels for each in strata_by_answers(plan, model, counted)]
    clear = [each for each in model.predictors if each.question.id in model.open]
    left = model.without({each.name: _absent(each, found) for each in clear})
    for each in left.predictors:
        if each.counted.sum() < 2:
            only = ", ".join(compress(each.levels, each.counted)) or "nobody who answered"
            allowed = "it tells no released people apart; leave it out of the model"
            raise ReportsError.of(each.name, InWords(f"{only} alone was released"), allowed)
    for among in left.interactions:
        _check_there([each for each in among if each.question.id in model.open], found)
    return left


def _absent(variable: Variable, found: Sequence[Levels]) -> tuple[str, ...]:
    there = {variable.level_of(levels[variable.question.id]) for levels in found}
    return tuple(level for level in variable.levels if level not in there)


def _check_there(clear: Sequence[Variable], found: Sequence[Levels]) -> None:
    """Raises ReportsError if no released people are on some combination of levels."""
    there = {tuple(v.level_of(levels[v.question.id]) for v in clear) for levels in found}
    for wanted in product(*(compress(each.levels, each.counted) for each in clear)):
        if wanted not in there:
            said = Term(tuple(zip(clear, wanted, strict=True))).name
            allowed = "by itself; leave the interaction out of the model"
            raise ReportsError.of("on", InWords(f"nobody with {said} was released"), allowed)


def _levels(plan: Plan, clear: Sequence[Variable], names: Names) -> set[tuple[str, ...]]:
    """On which levels of some variables in clear the people of a release may be."""
    answers, ids = answers_in(plan.survey), [question.id for question in plan.survey.open]
    places = [ids.index(each.question.id) for each in clear]
    return {
        tuple(each.level_of(answers[name][at]) for each, at in zip(clear, places, strict=True))
        for name in names
    }


def present(plan: Plan, found: Sequence[StratumShares], counted: Tally) -> float:
    """The share of the people who are in some strata."""
    people = sum(smallest(plan, each.counted.messages) for each in found)
    return min(people / smallest(plan, counted.messages), 1.0)


# Regressions of people who have known margins: pseudo-maximum likelihood (Binder 1983).
#
# The score is linear in the shares of people in cells, so weighted shares make the score of the
# weighted people, and their covariance, in which the weights are estimates, is carried on into the
# sandwich. The proof is in docs/regression.md#weights.


CLOSE = 1e-9


class Found(NamedTuple):
    """A fit, the share of the people who are no part of the model, of weights standard errors over
    those without them, and the share of people in strata that were released as one."""

    fit: Fit
    left_out: float
    error_ratio: float | None = None
    merged: float = 0.0


def weighted_fit(
    plan: Plan,
    model: Model,
    counted: Tally,
    known: Sequence[KnownMargin],
    noise_only: bool = False,
    plain: Fit | None = None,
) -> Found:
    """A fit to people who have known margins.

    counted: the joint table of the model and the margins. plain: the fit without weights. Raises
    TableError for margins that do not fit the releases or are not clear of the noise, ReportsError
    as `strata_by_answers`.
    """
    strata = strata_by_answers(plan, model, counted)
    apart = any(each.question.id in model.open for each in model.predictors)
    groups = {str(place): sorted(each.names) for place, each in enumerate(strata)}
    joint = weighted_levels(plan, counted, model, tuple(known), groups if apart else {})
    if noise_only:
        joint = joint.noise_alone()
    levels = [each.levels for each in strata]
    missing, merged = (_clear(1 - each) for each in reversed(counted_shares(model, levels, joint)))
    found = fit_together(model, levels, joint)
    ratio = None if plain is None else _error_ratio(found, plain)
    return Found(found, missing, ratio, merged)


def _clear(share: float) -> float:
    """Without what rounding leaves of nothing."""
    return share if abs(share) > CLOSE else 0.0


def _error_ratio(found: Fit, plain: Fit) -> float | None:
    """In the mean square; None if one of them has no coefficients."""
    errors = [np.trace(each.covariance) for each in (found, plain) if each.coefficients]
    return float(np.sqrt(errors[0] / errors[1])) if len(errors) == 2 and errors[1] else None


# What works where a model is refused because groups are separated.


Groups = Mapping[str, Mapping[str, tuple[str, ...]]]  # by question, answers by their merged name


class WayOut(NamedTuple):
    """A formula that can be estimated in the place of another, and how to ask for it."""

    words: str
    formula: Formula


def ways_out(
    survey: Survey, formula: Formula, refused: Fit, fitted: Callable[[Formula], Fit]
) -> Iterator[WayOut]:
    """The ways out of separation that work: merged answers, one slope, Firth's penalty.

    refused: what came of the formula. fitted: what comes of another one.
    """
    if not refused.separated or formula.penalty:
        return
    candidates = [
        _merged(survey, formula, refused, fitted),
        *(_scored(survey, formula, id) for id in dict.fromkeys(id for id, _ in refused.separated)),
        WayOut(
            "use Firth's penalized likelihood (penalty firth)",
            formula.model_copy(update={"penalty": "firth"}),
        ),
    ]
    yield from (way for way in candidates if way and not fitted(way.formula).reason)


def _merged(
    survey: Survey, formula: Formula, refused: Fit, fitted: Callable[[Formula], Fit]
) -> WayOut | None:
    """Each answer that is not seen is merged with its neighbor, until all are seen."""
    groups: Groups = {id: dict(merged_answers(each)) for id, each in formula.merge.items()}
    before, changed = groups, formula
    while refused.separated:
        step = next(_merged_further(survey, formula, groups, refused), None)
        if step is None:
            return None
        groups = {**groups, **step}
        changed = formula.model_copy(
            update={"merge": groups, "reference": _references(survey, formula, groups)}
        )
        refused = fitted(changed)
    each = (
        f'"{id}: {MERGED.join(answers)}"'
        for id, named in groups.items()
        for name, answers in named.items()
        if name not in before.get(id, {})
    )
    return WayOut(f"merge answers (merge {', '.join(each)})", changed)


def _merged_further(
    survey: Survey, formula: Formula, groups: Groups, refused: Fit
) -> Iterator[Groups]:
    """For a question with an answer that is not seen, its groups with one more merge."""
    questions = merged_questions(survey.questions, groups)
    for id, level in refused.separated:
        levels = questions[id].substantive
        if id not in formula.on or level not in levels or len(levels) < 3:
            continue  # one answer against all others, a slope, or two groups
        place = levels.index(level)
        outward = place - 1 if place < len(levels) / 2 else place + 1
        other = outward if 0 <= outward < len(levels) else 2 * place - outward
        named = dict(groups.get(id, {}))
        parts = [named.pop(levels[each], (levels[each],)) for each in sorted((place, other))]
        answers = (*parts[0], *parts[1])
        yield {id: {**named, MERGED.join(answers): answers}}


def _references(survey: Survey, formula: Formula, merge: Merge) -> dict[str, str]:
    """The levels that others are compared with, as they are called after merging."""
    questions = merged_questions(survey.questions, merge)
    named = {id: questions[id].read_as(level) for id, level in formula.reference.items()}
    return {id: level for id, level in named.items() if level in questions[id].answers}


def _scored(survey: Survey, formula: Formula, id: str) -> WayOut | None:
    """One slope in the place of the levels of a predictor."""
    question = merged_questions(survey.questions, formula.merge)[id]
    if id not in formula.on or question.rounded or not question.exclusive:
        return None
    if question.merged or len(question.substantive) < 3:
        return None

    def replaced(text: str) -> str:
        return BETWEEN.join(scored(id) if part == id else part for part in text.split(BETWEEN))

    on = tuple(text if IS in text else replaced(text) for text in formula.on)
    reference = {key: level for key, level in formula.reference.items() if key != id}
    words = f"give {id} one slope, if its answers are in order ({scored(id)} as a predictor)"
    return WayOut(words, formula.model_copy(update={"on": on, "reference": reference}))


def advice(ways: Sequence[str]) -> str:
    """What to do, in words. ways: those that work."""
    if not ways:
        return "merge answers, use fewer predictors, or collect more reports"
    return f"what works here: {'; or '.join(ways)}"


METHODS: tuple[Method, ...] = get_args(Method)
CHUNK_NUMBERS = 1 << 19  # debiased values at once: 4 MB stay near the processor


def regress(
    plan: Plan,
    reports: Reports,
    outcome: str | None = None,
    *,
    on: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    family: Family | None = None,
    scores: Sequence[float] | None = None,
    predictor_scores: Mapping[str, Sequence[float]] | None = None,
    merge: Merge | None = None,
    penalty: Penalty | None = None,
    method: Method | None = None,
    margins: Given | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> Regression:
    """Explain the answers to one question by those to others, without bias from the noise.

    outcome, on: ids of questions, or QUESTION=ANSWER for one answer against all others; in `on`,
    `score(a)` is one slope over the answers to a, and `a:b` the interaction of two predictors; what
    is asked in clear is a predictor without noise. By default the survey's only regression.
    reference: for a predictor the answer with which the others are compared, by default its first.
    family: "logistic" (log odds of yes, or of the answer that was named) or "linear" (scores: the
    value of each answer, by default the middle of a bin). predictor_scores: for `score(a)` the same
    for the answers to a, by default the middle of a bin, or 1, 2, 3 and so on. merge: as for
    `estimate`. penalty: "firth" for Firth's penalized likelihood, which separated groups do not
    stop, with intervals of a score test. method: "table" (of outcome and predictors together),
    "pairs" (a linear model of any number of questions) or "likelihood" (logistic, one report a
    person, few questions: sharper, consistent, not unbiased); by default the table, or pairs where
    it is too large. margins: as for `estimate`: the model is of people who have them ("table").
    received: as for `estimate`.

    Left out are people who did not answer, and strata released as one that differ in a predictor;
    answers in clear that no others gave have no coefficient (`absent`). `reason` says what reports
    are too few for. Raises UsageError for what no model can be, TableError for questions that do
    not travel together or cannot be weighted, ReportsError as `estimate`, and for a predictor of
    which one answer is left.
    """
    what = outcome, on, reference, family, scores, predictor_scores, merge, penalty
    formula = formula_of(plan.survey, *what)
    return _explained(
        plan, formula, reports, method, margins, noise_only, accept_smaller_crowd, received
    )


def _explained(
    plan: Plan,
    formula: Formula,
    reports: Reports,
    method: Method | None,
    margins: Given | None,
    noise_only: bool,
    accept_smaller_crowd: bool,
    received: Sequence[Received],
) -> Regression:
    model = model_of(plan.survey, formula)
    asked, plan = plan, with_merged(plan, formula.merge)
    known = () if margins is None else known_margins(plan.survey, margins)
    method = chosen_method(plan, model, _weighted_method(method, known), noise_only)
    parts = [reports] if isinstance(reports, Collection) else list(reports)
    counted = count(plan, parts, tables=_tables_for(plan, model, method, known), kind="pairs")
    arrived, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    model = of_the_released(plan, model, counted)
    found = _FITS[method](plan, model, parts, counted, noise_only)
    if known:
        found = weighted_fit(plan, model, counted, known, noise_only, plain=found.fit)
    elif found.fit.separated:
        found = found._replace(fit=_advised(asked, formula, found.fit, counted, noise_only))
    made = _regression(plan, model, found, method, noise_only)
    people, names = min(each.people for each in arrived), tuple(each.name for each in known)
    return made(people=people, guarantee=guarantee, weighted_to=names, seed=counted.seed)


def _advised(plan: Plan, formula: Formula, refused: Fit, counted: Tally, noise_only: bool) -> Fit:
    """A refusal with the ways out that work for these reports."""

    def fitted(formula: Formula) -> Fit:
        try:
            read = with_merged(plan, formula.merge)
            model = of_the_released(read, model_of(read.survey, formula), counted)
            made = _by_table(read, model, (), counted, noise_only).fit
        except IncrowdError as error:
            return no_fit(str(error))
        ends = [(each.low, each.high) for each in made.coefficients[1:]]
        nothing = bool(ends) and np.isinf(ends).all()
        return no_fit("no interval has an end") if nothing else made

    ways = ways_out(plan.survey, formula, refused, fitted)
    return replace(refused, reason=f"{refused.reason}; {advice([way.words for way in ways])}")


def _regression(
    plan: Plan, model: Model, found: Found, method: Method, noise_only: bool
) -> Callable[..., Regression]:
    """What a fit to reports says; of whom is left open."""
    return partial(
        of_fit(plan, model, found.fit),
        method=method,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        assumption=assumption_of(plan, model, method, noise_only),
        left_out=found.left_out,
        merged=found.merged,
        error_ratio=found.error_ratio,
    )


def chosen_method(plan: Plan, model: Model, method: Method | None, noise_only: bool) -> Method:
    """The method that was asked for, or that is possible.

    Raises UsageError for another, TableError for a table that no memory holds.
    """
    if method is None:
        method = _possible_method(plan, model)
    if method not in METHODS:
        raise UsageError.of("method", method, f"use one of {', '.join(METHODS)}")
    if method == "pairs" and not model.fits_pairs:
        allowed = (
            "pairs of questions are enough for linear models without interactions of questions "
            "with noise, if nobody is left out; use method='table', or family='linear'"
        )
        raise UsageError.of("method", method, allowed)
    if method == "pairs" and in_cell_pairs(plan, model):
        _check_law(model, noise_only)
    elif method == "pairs" and not joint_sources(plan, model.ids):
        allowed = "cells do not tell how the options of a question overlap; use method='table'"
        raise UsageError.of("method", method, allowed)
    elif plan.pairs_in_cells(model.ids) and not any(m.holds(model.ids) for m in plan.messages):
        raise _only_pairs(model)
    if model.penalty and method != "table":
        allowed = "a penalty is for the table of all questions; use method='table', or no penalty"
        raise UsageError.of("method", method, allowed)
    if method == "likelihood":
        _check_likelihood(plan, model, noise_only)
    if method != "pairs" and not model.fits_a_table:
        raise too_large(model)
    return method


def in_cell_pairs(plan: Plan, model: Model) -> bool:
    """Whether cells hold all pairs of questions of a model that pairs are enough for."""
    several = any(variable.question.many for variable in model.randomized)
    return model.fits_pairs and not several and plan.pairs_in_cells(model.ids)


def assumption_of(plan: Plan, model: Model, method: Method, noise_only: bool) -> str:
    """What the standard errors rest on besides the plan; "" if on nothing."""
    by_law = method == "pairs" and not noise_only and in_cell_pairs(plan, model)
    return ASSUMPTION if by_law else ""


def _possible_method(plan: Plan, model: Model) -> Method:
    """The table, if cells hold it, then pairs of cells, which have less noise than joint reports;
    of these the table if there can be one."""
    if in_cell_pairs(plan, model):
        whole = any(m.cells and m.holds(model.ids) for m in plan.messages)
        return "table" if whole and model.fits_a_table else "pairs"
    too_many = not model.fits_a_table and not plan.by_cells_alone(model.ids)
    return "pairs" if model.fits_pairs and too_many else "table"


def _check_law(model: Model, noise_only: bool) -> None:
    """Raises TableError if errors by sampling need too large a law."""
    if model.cells > MOST_STATES and not noise_only:
        allowed = (
            f"its errors by sampling need at most {MOST_STATES:,}; drop a predictor, or have "
            "errors of the noise alone"
        )
        raise TableError.of("on", InWords(f"{model.cells:,} combinations of answers"), allowed)


def _only_pairs(model: Model) -> IncrowdError:
    """The error for a model that pairs of cells do not tell."""
    linear = "a linear model of all answers of each question, without interactions of them"
    allowed = (
        "its cells are held in pairs alone, and one table must hold all its questions; name it as "
        f"a [[regression]] in the survey and plan again, or fit {linear}"
    )
    return TableError.of("on", InWords(f"a {model.family} model"), allowed)


def _weighted_method(method: Method | None, known: Sequence[KnownMargin]) -> Method | None:
    """Weights are for the cells of a table. Raises UsageError for a method that makes none."""
    if known and method in METHODS and method != "table":
        allowed = "weights are for the table of all questions; use method='table', or no margins"
        raise UsageError.of("method", method, allowed)
    return (method or "table") if known else method


def _check_likelihood(plan: Plan, model: Model, noise_only: bool) -> None:
    """Raises UsageError for a model that has no likelihood here."""
    held = sources(plan, model.ids)
    fits = model.family == "logistic" and not model.optional and not noise_only
    whole = all(v.name == v.question.id and not v.question.merged for v in model.randomized)
    one = len(held) == 1 and held[0].message.copies == 1 and not held[0].message.cells
    if not (fits and whole and one):
        allowed = (
            "it needs a logistic model of whole questions that everybody answers, without merged "
            "answers or scores, one joint report of each person, and has errors of noise and "
            "sampling; use method='table'"
        )
        raise UsageError.of("method", "likelihood", allowed)


# --- the three methods -----------------------------------------------------------------------


def _tables_for(
    plan: Plan, model: Model, method: Method, known: tuple[KnownMargin, ...]
) -> list[Ids]:
    """What is counted: the table of the model, and the same with the margins' questions."""
    few = 2 if in_cell_pairs(plan, model) else 1  # all cells are counted with any table of them
    ids = model.ids[:few] if method == "pairs" else model.ids
    together = [counted_for(plan, ids, Change(known, answered=False))] if known else []
    return [ids, *together]


def _tables(
    plan: Plan, model: Model, strata: Sequence[StratumShares], noise_only: bool
) -> list[tuple[Levels, TableEstimate]]:
    ids = model.ids
    return [
        (each.levels, level_table(model.randomized, readings(plan, each.counted, ids), noise_only))
        for each in strata
    ]


def _by_table(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> Found:
    strata = strata_by_answers(plan, model, counted)
    tables = _tables(plan, model, strata, noise_only)
    silent = silent_share(model, tables)
    there = present(plan, strata, counted)
    return Found(fit_tables(model, tables), 1 - there * (1 - silent), merged=1 - there)


def _by_pairs(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> Found:
    strata = strata_by_answers(plan, model, counted)
    if in_cell_pairs(plan, model):
        return _by_cell_pairs(plan, model, strata, counted, noise_only)
    each, found = [], joint_sources(plan, model.ids)
    for stratum in strata:
        own = [part for part in parts if not part.strata or part.strata in stratum.names]
        sent = [_sent(plan, model, source, own) for source in found]
        each.append(pairs_of_stratum(model, stratum.levels, sent, not noise_only))
    made = fit(model, Strata(each, not noise_only))
    merged = 1 - present(plan, strata, counted)
    return Found(made, merged, merged=merged)


def _by_cell_pairs(
    plan: Plan, model: Model, strata: Sequence[StratumShares], counted: Tally, noise_only: bool
) -> Found:
    each = [
        cell_pairs_of_stratum(
            model, stratum.levels, cells_reading(plan, stratum.counted), not noise_only
        )
        for stratum in strata
    ]
    merged = 1 - present(plan, strata, counted)
    return Found(fit(model, Strata(each, not noise_only)), merged, merged=merged)


def _by_likelihood(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> Found:
    """From where the table leads, which also says whether there is enough to go on."""
    first = _by_table(plan, model, parts, counted, noise_only)
    if first.fit.reason:
        return first
    patterns = count(plan, parts, tables=[model.ids], kind="patterns")
    (source,) = sources(plan, model.ids)
    histograms = [
        (each.levels, joint_readings(plan, each.counted, model.ids)[0].counts)
        for each in strata_by_answers(plan, model, patterns)
    ]
    start = np.array([each.estimate for each in first.fit.coefficients])
    found = strata_of(model, histograms, source.message.channels)
    return first._replace(fit=fit_likelihood(model, found, start))


_FITS: Mapping[Method, Callable[..., Found]] = {
    "table": _by_table,
    "pairs": _by_pairs,
    "likelihood": _by_likelihood,
}


def _sent(plan: Plan, model: Model, source: Source, parts: Sequence[Collection]) -> MessageRows:
    """The reports of a message; it weighs as the pairs of the outcome with each predictor do."""
    packed = [accepted(source.message, p.packed) for p in parts if p.message == source.number]
    rows = partial(_rows, source.message, model, packed)
    message, weight = source.message, pair_weight(plan.survey, source.message, model.ids)
    return MessageRows(rows, message.copies, message.independent_copies, weight)


def _rows(message: Message, model: Model, packed: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """What reports say of the levels of each variable, some reports at a time."""
    layout, channels = message.layout, message.channels
    ids = model.ids
    said = [
        level_rows(variable, channels[id])
        for variable, id in zip(model.randomized, ids, strict=True)
    ]
    size = max(1, CHUNK_NUMBERS // sum(map(len, said)))
    for part in packed:
        for start in range(0, len(part), size):
            some = part[start : start + size]
            bits = [extract(some, np.r_[layout[id]]) for id in ids]
            pairs = zip(bits, said, strict=True)
            yield np.hstack([each @ rows[:, 1:].T + rows[:, 0] for each, rows in pairs])
