"""Models of an openly asked outcome that a randomized item predicts, from a formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from incrowd.catalog.sentences import likely
from incrowd.errors import UsageError
from incrowd.estimation.regression.results import Coefficient, coefficients
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.columns import Factor
from incrowd.interviews.covariates import (
    IS_LEVEL,
    ModelMatrix,
    OpenColumns,
    complete_rows,
    model_matrix,
    rows_of,
)
from incrowd.interviews.designs import ForcedResponse
from incrowd.interviews.formula import INTERCEPT, ParsedFormula, parse_formula, term_text
from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import (
    HiddenAnswerFit,
    clustered_errors_hold,
    fit_hidden_answers,
    mean_differences,
    undetermined,
)
from incrowd.interviews.influence import check_clusters, freedom_of_errors, half_width
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.mean_shares import unknown_coefficients
from incrowd.interviews.outcome_regression import GroupVariation, OutcomeRegression
from incrowd.interviews.weighted_reports import LIMIT, fit_weighted_reports
from incrowd.methods import (
    FAMILIES,
    OUTCOME_ERRORS,
    OUTCOME_METHODS,
    Family,
    OutcomeErrors,
    OutcomeMethod,
)

GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples, modulo 1, are spread evenly and without a period
LOGISTIC_VARIANCE = math.pi**2 / 3


@dataclass(frozen=True, eq=False)
class OutcomeData:
    """What a formula and answers give: a model, and the interviews that it uses.

    named: the outcome in words. used: bool, shape (all interviews,).
    """

    model: HiddenAnswerModel
    named: str
    item: str
    answers: tuple[str, ...]
    matrix: ModelMatrix
    item_matrix: ModelMatrix
    used: np.ndarray


def regress_outcome(
    answers: InterviewAnswers,
    formula: str,
    *,
    family: Family | None = None,
    item: str | None = None,
    reference: Mapping[str, str] | None = None,
    intercepts: str | None = None,
    errors: OutcomeErrors | None = None,
    method: OutcomeMethod = "likelihood",
) -> OutcomeRegression:
    """Model an openly asked outcome by covariates and by a randomized item.

    Nobody's true answer is known, but its probability is, given the report, the outcome, and the
    covariates. The likelihood sums over the true answers, and its maximum is returned.

    Parameters
    ----------
    answers : InterviewAnswers
        The interviews.
    formula : str
        The outcome and its predictors, one of which is the item, such as "civic ~ age + armed" or
        "civic ~ age + armed + armed:female".
    family : {"logistic", "linear"}, optional
        By default logistic for an outcome with two values, otherwise linear.
    item : str, optional
        The model of the item, such as "armed ~ age + region"; by default the covariates of the
        outcome.
    reference : mapping of str to str, optional
        For columns of categories and for the item, the level that the others are compared with. For
        a logistic model, also the level of the outcome that counts as 0.
    intercepts : str, optional
        A column of groups, such as villages or interviewers, whose outcomes differ by a random
        intercept.
    errors : {"observed", "robust", "cluster"}, optional
        By default "cluster" if the survey names a column of clusters, otherwise "robust" with
        weights, and "observed" without.
    method : {"likelihood", "rr"}
        "likelihood" is the maximum of the likelihood. "rr" repeats the steps of R's package rr, to
        compare with published figures: it weights reports by the probability that they are true
        answers, and shrinks coefficients by weakly informative Cauchy priors. It is for a yes/no
        question with a forced response, without interactions, and a logistic model; it does not use
        weights and clusters.

    Returns
    -------
    OutcomeRegression
        Interviews without a report, the outcome, or a predictor are left out.

    Raises
    ------
    UsageError
        For formulas that cannot be read or computed, options that do not go together, and
        interviews that do not determine the coefficients.

    References
    ----------
    Blair, Imai, and Zhou (2015), section 4.2. Proof:
    docs/interviews-mathematics.md#hidden-answers, and for "rr"
    docs/interviews-mathematics.md#weighted-reports.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> smokes, cough = ["yes", "yes", "no", "no", "no"], [6.0, 7.0, 1.0, 2.0, 3.0]
    >>> table = pyarrow.table({"smokes": smokes * 40, "cough": cough * 40})
    >>> answers = incrowd.read_answers(survey, table)
    >>> found = incrowd.interviews.regress_outcome(answers, "cough ~ smokes")
    >>> found.family, found.differences[0].estimate > 1
    ('linear', True)
    """
    kinds = {
        "family": (family, FAMILIES),
        "errors": (errors, OUTCOME_ERRORS),
        "method": (method, OUTCOME_METHODS),
    }
    for field, (word, choices) in kinds.items():
        if word is not None and word not in choices:
            raise UsageError.of(field, "shared.use-one-of", value=word, choices=choices)
    parsed = parse_formula(formula)
    id = _item_of(answers, parsed)
    item_formula = _item_formula(parsed, id, item)
    if method == "rr":
        _check_for_rr(answers, parsed, id, {"intercepts": intercepts, "errors": errors})
        keep = np.ones(answers.people, bool)
        data = outcome_data(
            answers, parsed, item_formula, keep, id=id, family=family, reference=reference or {}
        )
        return _of_rr(answers, data)
    cluster = answers.survey.columns.cluster
    clusters = None if cluster is None else group_numbers(answers, cluster)
    groups = None if intercepts is None else group_numbers(answers, intercepts)
    errors = _checked_errors(answers, errors, intercepts)
    keep = np.ones(answers.people, bool)
    for each in (groups, clusters if errors == "cluster" else None):
        keep &= True if each is None else each >= 0
    data = outcome_data(
        answers, parsed, item_formula, keep, id=id, family=family, reference=reference or {}
    )
    if groups is not None:
        data = replace(data, model=replace(data.model, shifted="outcome"))
    weights = None if answers.weights is None else answers.weights[data.used]
    if groups is not None and len(np.unique(groups[data.used])) < 2:
        raise UsageError.of("intercepts", "interview_outcomes.few-groups", value=intercepts)
    clusters = clusters if errors == "cluster" else None
    numbers = None if clusters is None else without_gaps(clusters, data.used)
    if numbers is not None:
        check_clusters(np.ones(len(numbers), bool), numbers)
    fit = fit_hidden_answers(
        data.model,
        weights=weights,
        clusters=numbers,
        errors=errors,
        groups=None if groups is None else without_gaps(groups, data.used),
    )
    check_groups(fit, intercepts)
    _check_determined(data, fit)
    if numbers is not None and not clustered_errors_hold(fit, numbers, weights):
        count = int(numbers.max()) + 1
        raise UsageError.of("errors", "interview_models.few-clusters", value=errors, clusters=count)
    return _result(answers, data, fit, errors, clusters, weights, intercepts)


def _of_rr(answers: InterviewAnswers, data: OutcomeData) -> OutcomeRegression:
    """Return the result of the steps of rr."""
    outcome = data.model.outcome
    assert outcome is not None
    if outcome.family != "logistic":
        raise UsageError.of("method", "interview_outcomes.rr-linear", value="rr", name=data.named)
    fit = fit_weighted_reports(data.model)
    _check_determined(data, fit)
    end = fit_weighted_reports(data.model, stop=LIMIT).parameters[: outcome.size]
    result = _result(answers, data, fit, "observed", None, None, None)
    return replace(result, method="rr", limit=tuple(end.tolist()))


def _check_for_rr(
    answers: InterviewAnswers, formula: ParsedFormula, id: str, given: Mapping[str, str | None]
) -> None:
    """Raise UsageError for what the steps of rr do not have. given: options by their names."""
    for option, value in given.items():
        if value is not None:
            raise UsageError.of(option, "interview_outcomes.not-with-rr", value=value)
    design = answers.survey.item(id).design
    forced = all(isinstance(d, ForcedResponse) and d.repeats == 1 for d in design.designs)
    if not forced or len(design.answers) != 2:
        raise UsageError.of("method", "interview_outcomes.rr-design", value="rr", item=id)
    for term in formula.terms:
        if len(term) > 1 and any(id in part.columns for part in term):
            raise UsageError.of(
                "formula", "interview_outcomes.rr-interaction", value=term_text(term)
            )


def _check_determined(data: OutcomeData, fit: HiddenAnswerFit) -> None:
    """Raise UsageError if the data do not determine the parameters, with the terms."""
    if fit.determined:
        return
    value, terms = str(data.matrix.formula), [_labels(data)[place] for place in undetermined(fit)]
    terms = [term for term in terms if term != INTERCEPT] or terms
    raise UsageError.of("formula", "interview_outcomes.not-determined", value=value, terms=terms)


def outcome_data(
    answers: InterviewAnswers,
    formula: ParsedFormula,
    item_formula: ParsedFormula,
    keep: np.ndarray,
    *,
    id: str,
    family: Family | None,
    reference: Mapping[str, str],
) -> OutcomeData:
    """Return the model of a formula. keep: which interviews may be used. id: of the item."""
    item, names = answers.item(id), tuple(answers.survey.item(id).design.answers)
    values, named, family = _outcome(answers, formula.outcome, family, reference)
    columns: OpenColumns = {name: answers.column(name) for name in answers.names}
    # No one's answer is known, so that the columns are those of each possible answer in turn.
    spread = np.floor(np.arange(answers.people) * GOLDEN % 1 * len(names)).astype(int)
    with_item: OpenColumns = {**columns, id: Factor(names, spread)}
    keep = keep & (item.reported != MISSING) & np.isfinite(values)
    keep = keep & complete_rows(columns, item_formula.columns, answers.people)
    chosen = {name: level for name, level in reference.items() if name != formula.outcome}
    matrix = model_matrix(formula, with_item, keep, reference={id: names[0]} | chosen)
    of_item = {name: level for name, level in chosen.items() if name in item_formula.columns}
    item_matrix = model_matrix(item_formula, columns, matrix.used, reference=of_item)
    used = matrix.used
    if np.ptp(values[used]) == 0:
        same = f"{values[used][0]:g}"
        raise UsageError.of(
            "formula", "interview_outcomes.constant", value=formula.outcome, same=same
        )
    mine = {name: rows_of(column, used) for name, column in columns.items()}
    rows = int(used.sum())
    designs = [matrix.at({**mine, id: Factor(names, np.full(rows, a))}) for a in range(len(names))]
    reported = ReportedItem(item.reported[used], item.group[used], item.matrices)
    outcome = ObservedOutcome(family, values[used], np.stack(designs))
    model = HiddenAnswerModel(reported, item_matrix.values, outcome)
    return OutcomeData(model, named, id, names, matrix, item_matrix, used)


def _item_of(answers: InterviewAnswers, formula: ParsedFormula) -> str:
    """Return the id of the only randomized item among the predictors."""
    ids = [each.id for each in answers.survey.items]
    among = [name for name in formula.columns if name in ids]
    columns = [*answers.names, *ids]
    for name in formula.columns:
        if name not in columns:
            hint = likely(name, columns)
            raise UsageError.of(
                "formula", "interview_models.unknown-column", value=name, hint=hint, columns=columns
            )
    if formula.outcome in ids:
        command = f"incrowd interviews regress INTERVIEWS {str(formula)!r}"
        raise UsageError.of(
            "formula", "interview_outcomes.randomized", value=formula.outcome, command=command
        )
    if len(among) != 1:
        code = "interview_outcomes.several-items" if among else "interview_outcomes.no-item"
        raise UsageError.of("formula", code, value=formula.text, items=among or ids)
    return among[0]


def _item_formula(formula: ParsedFormula, id: str, text: str | None) -> ParsedFormula:
    """Return the model of the item: what is requested, or all terms without the item."""
    if text is None:
        terms = [t for t in formula.terms if not any(id in part.columns for part in t)]
        plain = ParsedFormula("", id, tuple(terms))
        return replace(plain, text=str(plain))
    parsed = parse_formula(text)
    if parsed.outcome != id:
        raise UsageError.of("item", "interview_outcomes.another-item", value=text, item=id)
    if id in parsed.columns or formula.outcome in parsed.columns:
        name = id if id in parsed.columns else formula.outcome
        raise UsageError.of("item", "interview_outcomes.of-itself", value=text, name=name)
    return parsed


def _outcome(
    answers: InterviewAnswers, name: str, family: Family | None, reference: Mapping[str, str]
) -> tuple[np.ndarray, str, Family]:
    """Return the values of the outcome, nan if missing, its name in words, and the family."""
    if name not in answers.names:
        names = [*answers.names]
        hint = likely(name, names)
        raise UsageError.of(
            "formula", "interview_outcomes.no-outcome", value=name, hint=hint, columns=names
        )
    column = answers.column(name)
    if isinstance(column, Factor):
        return _two_levels(column, name, family, reference)
    two = set(np.unique(column[~np.isnan(column)])) <= {0.0, 1.0}
    if family == "logistic" and not two:
        odd = next(value for value in column if value not in (0.0, 1.0) and not np.isnan(value))
        raise UsageError.of("family", "interview_outcomes.not-two", value=name, number=float(odd))
    return column, name, family or ("logistic" if two else "linear")


def _two_levels(
    column: Factor, name: str, family: Family | None, reference: Mapping[str, str]
) -> tuple[np.ndarray, str, Family]:
    """Return the values of an outcome with two names."""
    if family == "linear" or len(column.levels) != 2:
        linear = family == "linear"
        code = "interview_outcomes.names" if linear else "interview_outcomes.not-two-levels"
        raise UsageError.of("formula", code, value=name, levels=[*column.levels])
    zero = reference.get(name, column.levels[0])
    if zero not in column.levels:
        hint = likely(zero, column.levels)
        raise UsageError.of(
            ("reference", name),
            "interview_models.unknown-reference",
            value=zero,
            hint=hint,
            levels=[*column.levels],
        )
    counted = next(level for level in column.levels if level != zero)
    values = np.where(column.codes >= 0, column.codes == column.levels.index(counted), np.nan)
    return values, f"{name}{IS_LEVEL}{counted}", "logistic"


def group_numbers(answers: InterviewAnswers, name: str) -> np.ndarray:
    """Return the number of each interview's group, `MISSING` where there is none."""
    if name not in answers.columns:
        names = [*answers.names]
        raise UsageError.of(
            "intercepts",
            "interview_models.unknown-column",
            value=name,
            hint=likely(name, names),
            columns=names,
        )
    column = answers.column(name)
    if isinstance(column, Factor):
        return column.codes
    numbers = np.unique(column, return_inverse=True)[1]
    return np.where(np.isnan(column), MISSING, numbers)


def check_groups(fit: HiddenAnswerFit, intercepts: str | None) -> None:
    """Raise UsageError if random intercepts have no bound. intercepts: the column of groups."""
    if fit.groups_decide:
        raise UsageError.of("intercepts", "interview_outcomes.groups-decide", value=intercepts)


def without_gaps(groups: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return the groups of the interviews that are used, numbered without gaps."""
    return np.unique(groups[used], return_inverse=True)[1]


def _checked_errors(
    answers: InterviewAnswers, errors: OutcomeErrors | None, intercepts: str | None
) -> OutcomeErrors:
    """Return the kind of errors. Raises UsageError for one that does not hold."""
    columns = answers.survey.columns
    weight, cluster = columns.weight, columns.cluster
    if intercepts is not None:
        if weight is not None:
            raise UsageError.of(
                "intercepts", "interview_outcomes.intercepts-weights", value=intercepts, name=weight
            )
        if errors not in (None, "observed"):
            raise UsageError.of("errors", "interview_outcomes.intercepts-errors", value=errors)
        check_intercepts(answers, intercepts)
        return "observed"
    if errors == "cluster" and cluster is None:
        raise UsageError.of("errors", "interview_outcomes.no-clusters", value=errors)
    if errors == "observed" and weight is not None:
        raise UsageError.of(
            "errors", "interview_outcomes.weights-observed", value=errors, name=weight
        )
    return errors or ("cluster" if cluster else "robust" if weight else "observed")


def check_intercepts(answers: InterviewAnswers, intercepts: str) -> None:
    """Raise UsageError if the interviews are in clusters of another column."""
    cluster = answers.survey.columns.cluster
    if cluster not in (None, intercepts):
        raise UsageError.of(
            "intercepts", "interview_outcomes.intercepts-clusters", value=intercepts, name=cluster
        )


def _labels(data: OutcomeData) -> tuple[str, ...]:
    """Return the names of all parameters; those of the item begin with its name."""
    outcome = data.model.outcome
    assert outcome is not None
    sigma = ("log sigma",) if outcome.family == "linear" else ()
    of_item = (f"{data.item}: {name}" for name in _item_terms(data))
    unknown = (f"logit {name}" for name in data.model.item.matrices.names)
    return (*data.matrix.names, *sigma, *of_item, *unknown)


def _item_terms(data: OutcomeData) -> tuple[str, ...]:
    """Return the names of the coefficients of the item, with the answer if there are several."""
    names = data.item_matrix.names
    if len(data.answers) == 2:
        return names
    return tuple(f"{answer}: {name}" for answer in data.answers[1:] for name in names)


def _result(
    answers: InterviewAnswers,
    data: OutcomeData,
    fit: HiddenAnswerFit,
    errors: OutcomeErrors,
    clusters: np.ndarray | None,
    weights: np.ndarray | None,
    intercepts: str | None,
) -> OutcomeRegression:
    """Return a fit as a result."""
    outcome = data.model.outcome
    assert outcome is not None
    size = outcome.designs.shape[2]
    first, second, _ = data.model.ends
    degrees = freedom_of_errors(data.used, clusters)
    half, unknowns = half_width(data.used, clusters), data.model.item.matrices.names
    linear = outcome.family == "linear"
    sigma = math.exp(fit.parameters[size]) if linear else None
    differences: tuple[Coefficient, ...] = ()
    if fit.intercepts is None:
        means, spread = mean_differences(fit, weights)
        names = [f"{data.item}{IS_LEVEL}{answer}" for answer in data.answers[1:]]
        differences = coefficients(names, means, np.diag(spread**2), degrees)
    inner = fit.covariance[first:second, first:second]
    variation = None
    if fit.intercepts and intercepts:
        rest = LOGISTIC_VARIANCE if sigma is None else sigma**2
        variation = GroupVariation.of(intercepts, fit.intercepts, rest)
    return OutcomeRegression(
        guarantee=answers.guarantee,
        family=outcome.family,
        outcome=data.named,
        item=data.item,
        answers=data.answers,
        formula=str(data.matrix.formula),
        item_formula=str(data.item_matrix.formula),
        people=data.model.people,
        left_out=answers.people - data.model.people,
        coefficients=coefficients(
            list(data.matrix.names), fit.parameters[:size], fit.covariance[:size, :size], degrees
        ),
        item_coefficients=coefficients(
            list(_item_terms(data)), fit.parameters[first:second], inner, degrees
        ),
        differences=differences,
        unknown=unknown_coefficients(unknowns, fit.unknown, fit.unknown_errors, half),
        covariance=fit.covariance,
        labels=_labels(data),
        sigma=sigma,
        errors=errors,
        log_likelihood=fit.log_likelihood,
        weighted=weights is not None,
        variation=variation,
    )
