"""Regressions as text and rows for people, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.errors import quantity
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.methods import Penalty
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import marked_table
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View
from incrowd.survey.question import MERGED
from incrowd.views import with_and

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.ratios import Unbounded
    from incrowd.estimation.regression.results import Coefficient, EvenForecast, Regression

WAYS = {
    "table": "unbiased estimating equations, from the table of all questions",
    "pairs": "unbiased estimating equations, from pairs of questions",
    "likelihood": "maximum likelihood: consistent, not unbiased",
}
PENALTIES: dict[Penalty, str] = {
    "firth": "Firth's penalized likelihood, from the table of all questions, with the intervals of "
    "a score test",
}
OPEN = "where an interval has only one end, or none (anything), the reports give no other limit"
EFFECT = {"logistic": "odds ratio", "linear": "difference"}
CLOSER = "the estimated odds of these people are too close to even on average"
SELDOM = 0.05  # share of surveys not supporting a model, up to which it is not mentioned
OFTEN = 0.2  # share of surveys not supporting a model, above which that is said first
SEEN = 0.0005  # the smallest share of people that rounds to a tenth of a percent
MOST = 700.0  # e^700 is still a finite number
LEAST_P = 0.0005  # rounds to 0.001
LESS_FAVORABLE = (
    "equally common or uneven (one yes in ten; otherwise each answer half as common as the one "
    "before), whichever makes a figure less favorable"
)
INTERVALS = {
    "wald": "95% intervals and p-values: Wald's test (normal, on the scale of the coefficients)",
    "score": "95% intervals and p-values: score test",
}


def view(model: Regression) -> View:
    """The view of a model: its coefficients, if it is estimable, and notes."""
    named = title(model)
    numbers = Numbers(named, headings(model), tuple(rows(model)), spaces=2)
    above = [named] if model.expected and not model.estimable else []
    legend = tuple(first_lines(model))
    return View(
        title=named,
        facts=facts(model),
        seed=model.seed,
        legend=legend,
        promise=guarantee_sentence(model.guarantee),
        tables=(numbers,) if model.estimable else (),
        notes=(*above, *(text for text in notes(model) if text not in legend)),
    )


def often_refused(model: Regression) -> bool:
    """Whether a forecast is first of all that reports will not support the model."""
    return model.expected and (model.refusal or 0.0) > OFTEN


def first_lines(model: Regression) -> Iterator[str]:
    """State above a forecast that reports will often not support the model."""
    if often_refused(model):
        yield from _refusals(model)


def title(model: Regression) -> str:
    """The title of the table of coefficients."""
    what = "log odds" if model.family == "logistic" else "linear model"
    if model.expected:
        return f"{what} of {model.outcome}: expected errors with {quantity(model.people, 'people')}"
    return f"{what} of {model.outcome}, {quantity(model.people, 'people')}, 95% intervals"


def way(model: Regression) -> str:
    """The method of estimation, in words."""
    return PENALTIES[model.penalty] if model.penalty else WAYS[model.method]


def headings(model: Regression) -> tuple[str, ...]:
    """The headings of the table of coefficients."""
    if model.expected:
        return ("term", "error", f"detectable {EFFECT[model.family]}")
    odds = ("odds ratio", "95% interval") if model.family == "logistic" else ()
    return ("term", "estimate", "error", "95% interval", *odds, "p")


def rows(model: Regression) -> list[tuple[str, ...]]:
    """A row for each coefficient."""
    if model.expected:
        sizes = ("" if size is None else f"{size:.3g}" for size in detectable(model))
        return [
            (coefficient.term, f"{coefficient.standard_error:.3g}", size)
            for coefficient, size in zip(model.coefficients, sizes, strict=True)
        ]
    odds: list[tuple[str, ...]] = [
        (times(each.ratio), odds_between(each.low, each.high)) for each in model.odds_ratios
    ]
    return [
        (
            each.term,
            _text(each.estimate),
            _text(each.standard_error) if each.bounded else "",
            _interval(each.low, each.high, -math.inf, _text),
            *ratio,
            p_text(each.p_value),
        )
        for each, ratio in zip(
            model.coefficients, odds or [()] * len(model.coefficients), strict=True
        )
    ]


def p_text(p: float | None) -> str:
    """A p-value with three decimals, or "<0.001"; "" if there is none."""
    if p is None:
        return ""
    return "<0.001" if p < LEAST_P else f"{p:.3f}"


def detectable(model: Regression) -> list[float | None]:
    """The smallest effect of each coefficient that is detected in half of all surveys.

    An effect is an odds ratio or a difference of the outcome; it is detected if its 95% interval
    excludes no effect. None for the intercept, which is compared with nothing.
    """
    errors = [each.standard_error for each in model.coefficients]
    reached = [HALF_WIDTH * error for error in errors[1:]]
    odds = model.family == "logistic"
    return [None, *(math.exp(min(size, MOST)) if odds else size for size in reached)][: len(errors)]


def _text(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.1f}"


def times(ratio: float) -> str:
    """A number with three significant digits, or all digits before the decimal point."""
    return f"{ratio:,.0f}" if 1000 <= ratio < 1e6 else f"{ratio:.3g}"


def odds_between(low: float, high: float) -> str:
    """An interval of odds ratios; its lower end may be 0 and its upper end infinite."""
    return _interval(low, high, 0.0, times)


def _interval(low: float, high: float, least: float, text: Callable[[float], str]) -> str:
    """ "1.4 to 3.3"; "above 1.4", "below 3.3" or "anything" where an end is open."""
    if high == math.inf:
        return "anything" if low <= least else f"above {text(low)}"
    return f"below {text(high)}" if low <= least else f"{text(low)} to {text(high)}"


def is_open(low: float, high: float) -> bool:
    """Whether the interval of a coefficient lacks an end."""
    return math.isinf(low) or math.isinf(high)


def notes(model: Regression) -> list[str]:
    """The notes below the table at a terminal: comparisons first, the method last."""
    if not model.estimable:
        return table_notes(model)
    method = [] if model.expected else [way(model)]
    compared = [f"compared with {', '.join(model.references)}"] if model.references else []
    return [*compared, *table_notes(model), *people_notes(model), *method]


def table_notes(model: Regression) -> list[str]:
    """The notes below a table that names the reference answers itself."""
    if not model.estimable:
        return [f"cannot be estimated: {model.reason}", *_refusals(model), *_assumed(model)]
    texts = [f"standard errors: {model.errors}", *filter(None, [model.assumption])]
    if not model.expected:
        texts.append(INTERVALS[model.interval_method])
    if any(is_open(each.low, each.high) for each in model.coefficients) and not model.expected:
        texts.append(OPEN)
    if model.weighted_to:
        texts.append(weights_words(model.weighted_to, model.error_ratio))
    if model.expected:
        refused = (model.refusal or 0.0) > SELDOM
        of = "the surveys that support the model" if refused else "all surveys"
        explained = f"detectable {EFFECT[model.family]}: detected in half of {of} (5% false alarms)"
        return [*_refusals(model), *texts, *_scores(model), *_assumed(model), explained]
    return [*_instead(model), *texts, *_scores(model), *_left_out(model)]


def _instead(model: Regression) -> Iterator[str]:
    """Explain a penalty that nobody requested, and list models that need none."""
    if not (model.penalty and model.risk):
        return
    yield (
        f"close to separation: few people {model.risk} are visible through the noise; judging by "
        f"these reports, {_of_surveys(model.refusal or 0.0)} like this one would not support the "
        f"model without a penalty, and in the others {CLOSER}, so these are the coefficients of "
        "Firth's penalized likelihood"
    )
    if model.ways_out:
        yield f"what works here without a penalty: {'; or '.join(model.ways_out)}"


def people_notes(model: Regression, names: Mapping[str, str] | None = None) -> Iterator[str]:
    """List the people in each group, and how many would be as precise without noise.

    names: those of groups to show, by the term.
    """
    if model.expected:
        return
    sizes = [
        f"{(names or {}).get(each.term, each.term)} "
        f"{max(each.people, 0):,.0f} ({each.effective:,.0f})"
        for each in model.groups
        if each.effective is not None
    ]
    effects = [each.design_effect for each in model.coefficients if each.design_effect is not None]
    if sizes:
        people = "weighted number of people" if model.weighted_to else "people"
        yield f"{people} (effective number): {', '.join(sizes)}"
    if effects:
        ends = dict.fromkeys(f"{end(effects):.3g}" for end in (min, max))
        yield f"design effect of the coefficients: {' to '.join(ends)}"


def _of_surveys(chance: float) -> str:
    """How many surveys, in words; never all of them, as some others are described."""
    return f"about {chance:.0%} of surveys" if chance < 0.995 else "nearly all surveys"


def _refusals(model: Regression) -> Iterator[str]:
    """State how often reports will not support the model, unless rare, and what would work."""
    if not model.expected or model.refusal is None or model.refusal <= SELDOM:
        return
    why = f": too few people {model.risk} will be visible through the noise" if model.risk else ""
    others = f"; in the others {CLOSER}" if model.risk else ""
    chance = _of_surveys(model.refusal)
    then = "" if model.penalty else "; Firth's penalized likelihood then takes its place"
    yield f"reports will not support this model in {chance}{why}{others}{then}"
    people = [f"{model.enough:,} people with this noise"] if model.enough else []
    if ways := [*model.ways_out, *people]:
        yield f"what would work: {'; or '.join(ways)}"


def _scores(model: Regression) -> Iterator[str]:
    """List the scores of answers that are not numbers, and the answers that are merged."""
    for id, scored in model.slopes:
        each = ", ".join(f"{answer} = {score:g}" for answer, score in scored)
        yield f"answers to {id} count as {each}; the slope is for an increase of one"
    for id in dict.fromkeys(id for term in model.terms for id, _ in term):
        for name, answers in model.plan.survey.question(id).merged:
            if name != MERGED.join(answers):
                yield f"{id}={name} is {MERGED.join(answers)}"
    if not model.scores:
        return
    each = ", ".join(f"{answer} = {score:g}" for answer, score in model.scores)
    question = model.plan.survey.question(model.outcome_level[0])
    scores = tuple(score for _, score in model.scores)
    middles = question.of_numbers and not question.rounded and scores == question.values
    how = ": the middle of each bin, the last assumed to be as wide as the one before"
    yield f"answers to {question.id} count as {each}{how if middles else ''}"


def _left_out(model: Regression) -> Iterator[str]:
    """Name the levels and people that the model leaves out, with the reasons."""
    if model.absent:
        levels = ", ".join(model.absent)
        yield f"no coefficient for {levels}: no released stratum is known to have this answer"
    reasons = {
        "were released together with people who gave other answers": model.merged,
        "did not answer": model.left_out - model.merged,
    }
    for why, share in reasons.items():
        if share >= SEEN:
            yield f"{share:.1%} of the people are left out: they {why}"


def _assumed(model: Regression) -> list[str]:
    """State what the expected errors assume."""
    if not model.expected:
        return []
    independent = "all questions are assumed to be independent"
    stated = f"the shares of {', '.join(model.shares)} are as stated; " if model.shares else ""
    if model.even is None:
        return [f"{stated}{independent}"]
    which = "other answers" if model.shares else "answers"
    return [
        f"{stated}{which} are assumed to be {LESS_FAVORABLE}; {independent}; state how common "
        "answers are with shares",
        _if_even(model.even),
    ]


def _if_even(even: EvenForecast) -> str:
    """State the favorable case."""
    error = even.largest_error
    errors = "the model could not be estimated" if error is None else f"errors of up to {error:.3g}"
    return (
        f"if they were equally common: {errors}, and no support for the model in about "
        f"{even.refusal:.0%} of surveys"
    )


def _unbounded(each: Coefficient) -> Unbounded:
    """The sides on which an interval has no end, in the words of comparisons."""
    above, below = math.isinf(each.high), math.isinf(each.low)
    return "everywhere" if above and below else "above" if above else "below" if below else "no"


def _merged(model: Regression) -> dict[str, dict[str, list[str]]]:
    """The merged answers, by question and by the name they are merged under."""
    ids = dict.fromkeys(id for term in model.terms for id, _ in term)
    ids |= {model.outcome_level[0]: None}
    merged = {id: model.plan.survey.question(id).merged for id in ids}
    return {
        id: {name: list(answers) for name, answers in each} for id, each in merged.items() if each
    }


def facts(model: Regression) -> dict[str, Any]:
    """The regression as JSON-ready data."""
    coefficients = [asdict(each) for each in model.coefficients]
    for each, shown in zip(coefficients, model.coefficients, strict=True):
        each |= finite({"low": shown.low, "high": shown.high}) | {"unbounded": _unbounded(shown)}
        each |= {} if shown.bounded else {"standard_error": None}
    for each, odds in zip(coefficients, model.odds_ratios, strict=False):
        each["odds_ratio"] = finite(asdict(odds))
    return {
        "family": model.family,
        "outcome": model.outcome,
        "people": model.people,
        "coefficients": coefficients,
        "covariance": model.covariance.tolist(),
        "estimable": model.estimable,
        "reason": model.reason,
        "references": list(model.references),
        "method": model.method,
        "errors": model.errors,
        "assumption": model.assumption,
        "left_out": model.left_out,
        "merged": model.merged,
        "absent": list(model.absent),
        "scores": dict(model.scores),
        "slopes": {id: dict(scores) for id, scores in model.slopes},
        "merged_answers": _merged(model),
        "penalty": model.penalty,
        "interval_method": model.interval_method,
        "groups": [asdict(each) for each in model.groups],
        "refusal": model.refusal,
        "risk": model.risk,
        "ways_out": list(model.ways_out),
        "expected": model.expected,
        **(_expectation(model) if model.expected else {}),
        "guarantee": guarantee_facts(model.guarantee),
        **weights_facts(model.weighted_to, model.error_ratio),
    }


def expected_facts(model: Regression) -> dict[str, Any]:
    """A plan's forecast of a regression as JSON-ready data: expected errors and assumptions."""
    sizes = zip(model.coefficients, detectable(model), strict=True)
    every = facts(model)
    names = ("outcome", "family", "people", "references", "method", "penalty", "estimable")
    coefficients = [
        {"term": each.term, "standard_error": each.standard_error}
        | ({} if size is None else {"detectable": size})
        for each, size in sizes
    ]
    reason = {} if model.estimable else {"reason": model.reason}
    more = {"coefficients": coefficients} | _expectation(model) | reason
    return {name: every[name] for name in names} | more


def _expectation(model: Regression) -> dict[str, Any]:
    """The assumptions, how often reports will not support the model, and what would work."""
    return {
        "shares": {id: list(values) for id, values in model.shares.items()},
        "refusal": model.refusal,
        "ways_out": list(model.ways_out),
        "if_even": None if model.even is None else asdict(model.even),
        "enough": model.enough,
    }


def regression_table(model: Regression) -> pa.Table:
    """An Arrow table with a row for each coefficient."""
    import pyarrow as pa  # slow to load, and planning does not need it

    names = ("term", "estimate", "standard_error", "low", "high", "p_value", "design_effect")
    columns = {name: [getattr(each, name) for each in model.coefficients] for name in names}
    pairs = zip(columns["standard_error"], model.coefficients, strict=True)
    columns["standard_error"] = [error if each.bounded else None for error, each in pairs]
    if model.weighted_to:
        columns["weighted_to"] = [with_and(model.weighted_to)] * len(model.coefficients)
    return marked_table(pa.table(columns), model.seed)
