"""Reports + Plan -> a regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from incrowd.errors import IncrowdError, InWords, TableError, UsageError
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.pairwise_law import MOST_STATES
from incrowd.estimation.regression.cell_pairs import ASSUMPTION, cell_pairs_of_stratum
from incrowd.estimation.regression.fitting import fit, fit_tables, no_fit, silent_share
from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.levels import level_rows, level_table
from incrowd.estimation.regression.likelihood import fit_likelihood, strata_of
from incrowd.estimation.regression.model import Levels, Model, too_large
from incrowd.estimation.regression.pairs import Sent, pairs_of_stratum
from incrowd.estimation.regression.results import Fit, Method, Regression, of_fit
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.results import Received
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.planner.margins import Given, Known, known_margins
from incrowd.planner.sources import (
    Ids,
    Source,
    cells_reading,
    joint_readings,
    joint_sources,
    pair_weight,
    readings,
    sources,
)
from incrowd.planner.weighting import Change, counted_for
from incrowd.plans import Message, Plan
from incrowd.plans.merging import with_merged
from incrowd.reports.collection import Collection
from incrowd.survey.formulas import Family, Formula, Penalty
from incrowd.survey.merging import Merge
from incrowd.tally.acceptance import accepted
from incrowd.tally.moments import extract
from incrowd.tally.tally import Tally
from incrowd.workflow.estimate import Reports, check_arrived, count
from incrowd.workflow.formulas import formula_of
from incrowd.workflow.regression_strata import (
    Stratum,
    of_the_released,
    present,
    strata_by_answers,
)
from incrowd.workflow.separation import advice, ways_out
from incrowd.workflow.weighted_regression import Found, weighted_fit

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
    return made(people=people, guarantee=guarantee, margins=names, seed=counted.seed)


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


def _weighted_method(method: Method | None, known: Sequence[Known]) -> Method | None:
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


def _tables_for(plan: Plan, model: Model, method: Method, known: tuple[Known, ...]) -> list[Ids]:
    """What is counted: the table of the model, and the same with the margins' questions."""
    few = 2 if in_cell_pairs(plan, model) else 1  # all cells are counted with any table of them
    ids = model.ids[:few] if method == "pairs" else model.ids
    together = [counted_for(plan, ids, Change(known, answered=False))] if known else []
    return [ids, *together]


def _tables(
    plan: Plan, model: Model, strata: Sequence[Stratum], noise_only: bool
) -> list[tuple[Levels, JointEstimate]]:
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
    plan: Plan, model: Model, strata: Sequence[Stratum], counted: Tally, noise_only: bool
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


def _sent(plan: Plan, model: Model, source: Source, parts: Sequence[Collection]) -> Sent:
    """The reports of a message; it weighs as the pairs of the outcome with each predictor do."""
    packed = [accepted(source.message, p.packed) for p in parts if p.message == source.number]
    rows = partial(_rows, source.message, model, packed)
    message, weight = source.message, pair_weight(plan.survey, source.message, model.ids)
    return Sent(rows, message.copies, message.independent_copies, weight)


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
