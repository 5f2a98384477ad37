"""Reports + Plan -> a regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, product
from typing import NamedTuple, Unpack, get_args

import numpy as np

from incrowd.catalog.sentences import Keyword, sentence, text_list, translatable
from incrowd.errors import IncrowdError, ReportsError, TableError, UsageError
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.options import WeightedOptions, without_sampling
from incrowd.estimation.pairwise_law import MOST_STATES
from incrowd.estimation.readings import (
    MessageSource,
    cells_reading,
    joint_readings,
    joint_sources,
    pair_weight,
    readings,
    sources,
)
from incrowd.estimation.regression.cell_pairs import ASSUMPTION, cell_pairs_of_stratum
from incrowd.estimation.regression.evidence import StratumEvidence
from incrowd.estimation.regression.fitting import (
    counted_shares,
    fit,
    fit_tables,
    fit_together,
    no_fit,
    silent_share,
)
from incrowd.estimation.regression.formula import formula_of, model_of, ways_out
from incrowd.estimation.regression.levels import level_rows, level_table
from incrowd.estimation.regression.likelihood import fit_likelihood, strata_of
from incrowd.estimation.regression.model import Levels, Model, ModelTerm, too_large
from incrowd.estimation.regression.pairs import MessageRows, pairs_of_stratum
from incrowd.estimation.regression.results import ModelFit, Regression, of_fit
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.weighting.known_margins import KnownMargin, known_margins
from incrowd.estimation.weighting.weighting import TableChange, counted_for, weighted_levels
from incrowd.methods import Family, Penalty, RegressionMethod
from incrowd.plans import Message, Outline, Plan
from incrowd.plans.plan import with_merged
from incrowd.plans.strata import StratumNames, answers_in
from incrowd.reports.acceptance import accepted
from incrowd.reports.collection import Collection
from incrowd.reports.consistency import smallest
from incrowd.reports.moments import extract
from incrowd.reports.tally import Tally
from incrowd.survey.formulas import Formula

METHODS: tuple[RegressionMethod, ...] = get_args(RegressionMethod)
TABLE = Keyword("method", "table")
CHUNK_NUMBERS = 1 << 19  # debiased values at once: 4 MB stay near the processor
CLOSE = 1e-9  # to zero, for a share


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
    penalty: Penalty | None = None,
    method: RegressionMethod | None = None,
    **options: Unpack[WeightedOptions],
) -> Regression:
    """Explain the answers to one question by those to others, without bias from the noise.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        All reports.
    outcome : str, optional
        The id of a question, or QUESTION=ANSWER for one answer against all others. By default, the
        survey's only regression.
    on : sequence of str, optional
        The predictors, named like the outcome. `score(a)` is one slope over the answers to a, and
        `a:b` the interaction of two predictors. An open question is a predictor without noise.
    reference : mapping of str to str, optional
        For a predictor, the answer with which the others are compared; by default its first.
    family : {"logistic", "linear"}, optional
        Log odds of yes, or of the named answer; or the mean of the outcome's scores.
    scores : sequence of float, optional
        For a linear model, the value of each answer to the outcome; by default the middle of a bin.
    predictor_scores : mapping of str to sequence of float, optional
        For `score(a)`, the values of the answers to a; by default the middle of a bin, or 1, 2, 3,
        and so on.
    penalty : {"firth"}, optional
        Firth's penalized likelihood, which works under separation, with intervals of a score test.
    method : {"table", "pairs", "likelihood"}, optional
        From the table of outcome and predictors together; for a linear model of any number of
        questions, from pairs of questions; or by maximum likelihood (logistic, one report per
        person, few questions: more precise, consistent, not unbiased). By default the table, or
        pairs if it is too large. Only "table" can be weighted to margins.

    Returns
    -------
    Regression
        People who did not answer are left out, and so are strata released as one that differ in a
        predictor. If there are too few reports, `reason` says what cannot be estimated.

    Raises
    ------
    UsageError
        For impossible models.
    TableError
        For questions that do not travel together or cannot be weighted.
    ReportsError
        As for `estimate`, and for a predictor with only one answer left.

    Notes
    -----
    If more than one in five such surveys would not support a logistic model, the maximum of its
    likelihood would be biased in the others. The result is then Firth's, with this chance
    (`refusal`), the people who are rarely seen (`risk`), and the models without a penalty that
    these reports support (`ways_out`).

    References
    ----------
    Firth (1993).

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> model = incrowd.regress(plan, reports, "physical_limitation", on=["self_rated_health"])
    >>> model.coefficients[1].term
    'self_rated_health=good'
    >>> round(model.odds_ratios[1].ratio)  # to "excellent"
    3
    """
    noise_only, margins = without_sampling(plan, options), options.get("margins")
    merge = options.get("merge")
    formula = formula_of(
        plan.survey, outcome, on, reference, family, scores, predictor_scores, merge, penalty
    )
    model = model_of(plan.survey, formula)
    unmerged, plan = plan, with_merged(plan, formula.merge)
    stated = () if margins is None else known_margins(plan.survey, margins)
    if stated:
        if method in METHODS and method != "table":
            raise UsageError.of(
                "method", "estimation.weights-need-table", value=method, option=TABLE
            )
        method = method or "table"
    method = chosen_method(plan, model, method, noise_only)
    parts = [reports] if isinstance(reports, Collection) else list(reports)
    ids = model.ids
    if method == "pairs":
        ids = ids[:2] if in_cell_pairs(plan, model) else ids[:1]  # any table has all cells counted
    joint = [counted_for(plan, ids, TableChange(stated))] if stated else []
    counted = count(plan, parts, tables=[ids, *joint], kind="pairs")
    arrived, guarantee = check_arrived(plan, counted, options)
    model = of_the_released(plan, model, counted)
    if stated:
        fitted = _weighted_by_table(plan, model, counted, stated, noise_only)
    else:
        fitted = _FITS[method](plan, model, parts, counted, noise_only)
    ways: tuple[str, ...] = ()
    if fitted.fit.separated:

        def of_another(formula: Formula) -> FitToPeople:
            merged = with_merged(unmerged, formula.merge)
            other = of_the_released(merged, model_of(merged.survey, formula), counted)
            weights = () if margins is None else known_margins(merged.survey, margins)
            return _weighted_by_table(merged, other, counted, weights, noise_only)

        refused = fitted.fit
        ways = _ways_out(unmerged, formula, refused, of_another)
        fitted = _penalized(formula, refused, ways, of_another)
        if fitted.fit.coefficients:
            model, method = replace(model, penalty="firth"), "table"
    return of_fit(plan, model, fitted.fit)(
        people=min(each.people for each in arrived),
        method=method,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        guarantee=guarantee,
        assumption=assumption_of(plan, model, method, noise_only),
        left_out=fitted.left_out,
        merged=fitted.merged,
        weighted_to=tuple(margin.name for margin in stated),
        error_ratio=fitted.error_ratio,
        ways_out=ways,
        seed=counted.seed,
    )


# --- near separation: docs/regression.md#what-cannot-be-estimated ------------------------------


def _ways_out(
    plan: Plan, formula: Formula, refused: ModelFit, fitted: Callable[[Formula], FitToPeople]
) -> tuple[str, ...]:
    """Return the changes of a model with which these reports support it, without a penalty."""

    def supported(formula: Formula) -> ModelFit:
        try:
            fit = fitted(formula).fit
        except IncrowdError as error:
            return no_fit(str(error))
        return replace(fit, reason=fit.reason or fit.near) if fit.separated else fit

    return tuple(way.words for way in ways_out(plan.survey, formula, refused, supported))


def _penalized(
    formula: Formula,
    refused: ModelFit,
    ways: Sequence[str],
    fitted: Callable[[Formula], FitToPeople],
) -> FitToPeople:
    """Return Firth's fit in place of another, which is refused too often; a refusal that names what
    works if Firth's fit sets no limit to any coefficient."""
    instead = fitted(formula.model_copy(update={"penalty": "firth"}))
    ends = [(each.low, each.high) for each in instead.fit.coefficients[1:]]
    fit = replace(instead.fit, refusal=refused.refusal, risk=refused.risk)
    if not ends or np.isinf(ends).all():
        advice = translatable("estimation.fewer-or-more")
        if ways:
            listed = text_list(ways, "estimation.or-else")
            advice = translatable("estimation.works-here", ways=listed)
        fit = no_fit(text_list((refused.reason or refused.near, advice)))
    return instead._replace(fit=fit)


# --- which method -----------------------------------------------------------------------------


def chosen_method(
    plan: Outline, model: Model, method: RegressionMethod | None, noise_only: bool
) -> RegressionMethod:
    """Return the requested method, or a possible one.

    Raises UsageError for an impossible method, TableError for a table that is too large for memory.
    """
    if method is None:
        method = _possible_method(plan, model)
    if method not in METHODS:
        raise UsageError.of("method", "shared.use-one-of", value=method, choices=[*METHODS])
    if method == "pairs":
        _check_pairs(plan, model, noise_only)
    elif plan.pairs_in_cells(model.ids) and not any(m.holds(model.ids) for m in plan.messages):
        raise TableError.of("on", "estimation.only-pairs", family=model.family)
    if model.penalty and method != "table":
        raise UsageError.of("method", "estimation.penalty-needs-table", value=method, option=TABLE)
    if method == "likelihood":
        _check_likelihood(plan, model, noise_only)
    if method != "pairs" and not model.fits_a_table:
        raise too_large(model)
    return method


def _possible_method(plan: Outline, model: Model) -> RegressionMethod:
    """Return the table if cells hold it, then pairs of cells, which have less noise than joint
    reports; of joint reports the table, unless it is too large."""
    if in_cell_pairs(plan, model):
        whole = any(m.cells and m.holds(model.ids) for m in plan.messages)
        return "table" if whole and model.fits_a_table else "pairs"
    too_many = not model.fits_a_table and not plan.by_cells_alone(model.ids)
    return "pairs" if model.fits_pairs and too_many else "table"


def _check_pairs(plan: Outline, model: Model, noise_only: bool) -> None:
    """Raise an error for a model that cannot be fitted to pairs of questions."""
    if not model.fits_pairs:
        raise UsageError.of(
            "method",
            "estimation.pairs-not-enough",
            method=TABLE,
            family=Keyword("family", "linear"),
        )
    if in_cell_pairs(plan, model):
        if model.cells > MOST_STATES and not noise_only:
            raise TableError.of(
                "on",
                "estimation.too-many-combinations",
                combinations=model.cells,
                most=MOST_STATES,
                option=Keyword("noise_only", True),
            )
    elif not joint_sources(plan, model.ids):
        raise UsageError.of("method", "estimation.overlap-unknown", option=TABLE)


def _check_likelihood(plan: Outline, model: Model, noise_only: bool) -> None:
    """Raise UsageError for a model that the likelihood is not implemented for."""
    holding = sources(plan, model.ids)
    fits = model.family == "logistic" and not model.optional and not noise_only
    whole = all(v.name == v.question.id and not v.question.merged for v in model.randomized)
    one = len(holding) == 1 and holding[0].message.copies == 1 and not holding[0].message.cells
    if not (fits and whole and one):
        raise UsageError.of("method", "estimation.no-likelihood", option=TABLE)


def in_cell_pairs(plan: Outline, model: Model) -> bool:
    """Return whether pairs are enough for a model, and cells hold all pairs of its questions."""
    several = any(variable.question.many for variable in model.randomized)
    return model.fits_pairs and not several and plan.pairs_in_cells(model.ids)


def assumption_of(plan: Plan, model: Model, method: RegressionMethod, noise_only: bool) -> str:
    """Return what the standard errors assume besides the plan; "" if nothing."""
    by_law = method == "pairs" and not noise_only and in_cell_pairs(plan, model)
    return ASSUMPTION if by_law else ""


# --- the people, by their answers to open questions -------------------------------------------


class StratumShares(NamedTuple):
    """People with the same answers to open predictors: their levels, counts, and releases."""

    levels: Levels
    counted: Tally
    names: frozenset[StratumNames]


def strata_by_answers(plan: Plan, model: Model, counted: Tally) -> list[StratumShares]:
    """Return the people, by their answers to the open questions among a model's predictors.

    Strata that were released as one although they differ in these answers are left out. Raises
    ReportsError if all are.
    """
    clear = [each for each in model.predictors if each.question.id in model.open]
    if not clear:
        return [StratumShares({}, counted, frozenset(counted.strata))]
    ids = [variable.question.id for variable in clear]
    answers = answers_in(plan.survey)
    order = [question.id for question in plan.survey.open]
    releases: dict[tuple[str, ...], list[StratumNames]] = {}
    for names in counted.strata:
        levels = {
            tuple(each.level_of(answers[name][order.index(each.question.id)]) for each in clear)
            for name in names
        }
        if len(levels) == 1:
            releases.setdefault(levels.pop(), []).append(names)
    if not releases:
        raise ReportsError.of(ids[0], "estimation.strata-as-one")
    return [
        StratumShares(dict(zip(ids, levels, strict=True)), counted.only(names), frozenset(names))
        for levels, names in releases.items()
    ]


def of_the_released(plan: Plan, model: Model, counted: Tally) -> Model:
    """Return a model without the levels of open questions that no released person is known to have.

    Raises ReportsError if a predictor has fewer than two levels left, and so explains nothing, or
    if no one has some combination of levels of an interaction.
    """
    strata = [each.levels for each in strata_by_answers(plan, model, counted)]
    absent = {}
    for variable in model.predictors:
        if variable.question.id in model.open:
            levels = {variable.level_of(stratum[variable.question.id]) for stratum in strata}
            absent[variable.name] = tuple(each for each in variable.levels if each not in levels)
    model = model.without(absent)
    for each in model.predictors:
        if each.counted.sum() < 2:
            who = sentence("estimation.nobody-released")
            for only in compress(each.levels, each.counted):
                who = sentence("estimation.one-answer-released", answer=only)
            raise ReportsError.of(each.name, "estimation.few-levels-released", who=who)
    for variables in model.interactions:
        clear = [each for each in variables if each.question.id in model.open]
        released = {tuple(v.level_of(stratum[v.question.id]) for v in clear) for stratum in strata}
        for combination in product(*(compress(each.levels, each.counted) for each in clear)):
            if combination not in released:
                term = ModelTerm(tuple(zip(clear, combination, strict=True)))
                raise ReportsError.of("on", "estimation.no-stratum", term=term.name)
    return model


def present(plan: Plan, strata: Sequence[StratumShares], counted: Tally) -> float:
    """Return the share of the people who are in some strata."""
    people = sum(smallest(plan, each.counted.messages) for each in strata)
    return min(people / smallest(plan, counted.messages), 1.0)


# --- the fits ---------------------------------------------------------------------------------


class FitToPeople(NamedTuple):
    """A fit, and the share of the people who are not part of the model.

    error_ratio: the error ratio of a weighted fit, its standard errors divided by those without
    weights. merged: the share of the people in strata that were released as one.
    """

    fit: ModelFit
    left_out: float
    error_ratio: float | None = None
    merged: float = 0.0


def weighted_fit(
    plan: Plan,
    model: Model,
    counted: Tally,
    margins: Sequence[KnownMargin],
    noise_only: bool = False,
    plain: ModelFit | None = None,
) -> FitToPeople:
    """Return a fit to people with known margins: pseudo-maximum likelihood (Binder 1983).

    The score is linear in the shares of the cells. So weighted shares give the score of the
    weighted people, and their covariance, which includes the errors of the weights, goes into the
    sandwich. Proof: docs/regression.md#weights.

    counted: the joint table of the model and the margins. plain: the fit without weights. Raises
    TableError for margins that do not fit the releases or are not clearly above the noise,
    ReportsError as `strata_by_answers` does.
    """
    strata = strata_by_answers(plan, model, counted)
    clear = any(each.question.id in model.open for each in model.predictors)
    groups = {str(place): sorted(each.names) for place, each in enumerate(strata)} if clear else {}
    joint = weighted_levels(plan, counted, model, tuple(margins), groups)
    if noise_only:
        joint = joint.noise_alone()
    levels = [each.levels for each in strata]
    merged, left_out = (
        share if abs(share := 1 - part) > CLOSE else 0.0
        for part in counted_shares(model, levels, joint)
    )
    weighted, ratio = fit_together(model, levels, joint), None
    if plain and plain.coefficients and weighted.coefficients and np.trace(plain.covariance):
        ratio = float(np.sqrt(np.trace(weighted.covariance) / np.trace(plain.covariance)))
    return FitToPeople(weighted, left_out, ratio, merged)


def _by_table(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> FitToPeople:
    strata = strata_by_answers(plan, model, counted)
    tables = [
        (
            each.levels,
            level_table(model.randomized, readings(plan, each.counted, model.ids), noise_only),
        )
        for each in strata
    ]
    silent, there = silent_share(model, tables), present(plan, strata, counted)
    return FitToPeople(fit_tables(model, tables), 1 - there * (1 - silent), merged=1 - there)


def _weighted_by_table(
    plan: Plan,
    model: Model,
    counted: Tally,
    margins: Sequence[KnownMargin],
    noise_only: bool,
) -> FitToPeople:
    """Return the fit to people with known margins, if there are any, compared with that without."""
    plain = _by_table(plan, model, (), counted, noise_only)
    if not margins:
        return plain
    return weighted_fit(plan, model, counted, margins, noise_only, plain=plain.fit)


def _by_pairs(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> FitToPeople:
    strata, evidence = strata_by_answers(plan, model, counted), list[StratumEvidence]()
    for stratum in strata:
        if in_cell_pairs(plan, model):
            reading = cells_reading(plan, stratum.counted)
            pairs = cell_pairs_of_stratum(model, stratum.levels, reading, not noise_only)
            evidence.append(pairs)
            continue
        reports = [part for part in parts if not part.strata or part.strata in stratum.names]
        rows = [_rows_of(plan, model, each, reports) for each in joint_sources(plan, model.ids)]
        evidence.append(pairs_of_stratum(model, stratum.levels, rows, not noise_only))
    merged = 1 - present(plan, strata, counted)
    return FitToPeople(fit(model, Strata(evidence, not noise_only)), merged, merged=merged)


def _by_likelihood(
    plan: Plan, model: Model, parts: Sequence[Collection], counted: Tally, noise_only: bool
) -> FitToPeople:
    """Return the fit that starts from that of the table, which also shows whether there are enough
    reports."""
    start = _by_table(plan, model, parts, counted, noise_only)
    if start.fit.reason:
        return start
    patterns = count(plan, parts, tables=[model.ids], kind="patterns")
    (source,) = sources(plan, model.ids)
    histograms = [
        (each.levels, joint_readings(plan, each.counted, model.ids)[0].counts)
        for each in strata_by_answers(plan, model, patterns)
    ]
    beta = np.array([each.estimate for each in start.fit.coefficients])
    strata = strata_of(model, histograms, source.message.channels)
    result = fit_likelihood(model, strata, beta)
    near = {name: getattr(start.fit, name) for name in ("separated", "refusal", "risk")}
    return start._replace(fit=replace(result, **near))


_FITS: Mapping[RegressionMethod, Callable[..., FitToPeople]] = {
    "table": _by_table,
    "pairs": _by_pairs,
    "likelihood": _by_likelihood,
}


def _rows_of(
    plan: Plan, model: Model, source: MessageSource, parts: Sequence[Collection]
) -> MessageRows:
    """Return the reports of a message, with its weight for the pairs of the outcome and each
    predictor."""
    message, weight = source.message, pair_weight(plan.survey, source.message, model.ids)
    packed = [accepted(message, part.packed) for part in parts if part.message == source.number]
    rows = partial(_debiased, message, model, packed)
    return MessageRows(rows, message.copies, message.independent_copies, weight)


def _debiased(message: Message, model: Model, packed: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the debiased levels of each variable, a chunk of reports at a time."""
    layout, channels = message.layout, message.channels
    decoders = [level_rows(each, channels[each.question.id]) for each in model.randomized]
    size = max(1, CHUNK_NUMBERS // sum(map(len, decoders)))
    for part in packed:
        for start in range(0, len(part), size):
            chunk = part[start : start + size]
            bits = [extract(chunk, np.r_[layout[id]]) for id in model.ids]
            pairs = zip(bits, decoders, strict=True)
            yield np.hstack([each @ rows[:, 1:].T + rows[:, 0] for each, rows in pairs])
