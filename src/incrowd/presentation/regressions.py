"""Regressions for people: words and rows; and for machines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from incrowd.estimation.margins import listed, weights_facts
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.regression.variables import midpoints
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.simulated import marked_table
from incrowd.survey import Number

WAYS = {
    "table": "unbiased estimating equations, from the table of all questions",
    "pairs": "unbiased estimating equations, from pairs of questions",
    "likelihood": "maximum likelihood: consistent, not unbiased",
}
EFFECT = {"logistic": "odds ratio", "linear": "difference"}
SEEN = 0.0005  # of people, that a tenth of a percent shows
MOST = 700.0  # of which e^x is still a number
OTHERS_ALIKE = "all other answers are taken to be equally common, and nothing to depend on anything"


def title(found: Regression) -> str:
    """What stands above the coefficients."""
    what = "log odds" if found.family == "logistic" else "linear model"
    if found.expected:
        return f"{what} of {found.outcome}: the errors to expect of {found.people:,} people"
    return f"{what} of {found.outcome}, {found.people:,} people, 95% intervals"


def headings(found: Regression) -> tuple[str, ...]:
    """The columns of the table."""
    if found.expected:
        return ("term", "error", f"detectable {EFFECT[found.family]}")
    odds = ("odds ratio", "95% interval") if found.family == "logistic" else ()
    return ("term", "estimate", "error", "95% interval", *odds)


def rows(found: Regression) -> list[tuple[str, ...]]:
    """A line for each coefficient."""
    if found.expected:
        seen = ("" if size is None else f"{size:.3g}" for size in detectable(found))
        errors = ((each.term, f"{each.standard_error:.3g}") for each in found.coefficients)
        return [(*each, size) for each, size in zip(errors, seen, strict=True)]
    lines: list[tuple[str, ...]] = [
        (each.term, _text(each.estimate), _text(each.standard_error), _between(each.low, each.high))
        for each in found.coefficients
    ]
    odds = [
        (times(each.ratio), f"{times(each.low)} to {times(each.high)}")
        for each in found.odds_ratios
    ]
    return [line + more for line, more in zip(lines, odds, strict=True)] if odds else lines


def detectable(found: Regression) -> list[float | None]:
    """The smallest odds ratio, or difference of the outcome, that a 95% interval tells from none in
    half of all surveys; None of the intercept, which is compared with nothing."""
    errors = [each.standard_error for each in found.coefficients]
    reached = [HALF_WIDTH * error for error in errors[1:]]
    odds = found.family == "logistic"
    return [None, *(math.exp(min(size, MOST)) if odds else size for size in reached)][: len(errors)]


def _text(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.1f}"


def times(ratio: float) -> str:
    """How many times: three digits, or all of those before the point."""
    return f"{ratio:,.0f}" if 1000 <= ratio < 1e6 else f"{ratio:.3g}"


def _between(low: float, high: float) -> str:
    return f"{_text(low)} to {_text(high)}"


def notes(found: Regression) -> list[str]:
    """What has to be said below: at last, of what was found, how."""
    if not found.estimable:
        return said_below(found)
    way = [] if found.expected else [WAYS[found.method]]
    return [f"compared with {', '.join(found.references)}", *said_below(found), *way]


def said_below(found: Regression) -> list[str]:
    """What has to be said below a table that shows what is compared, in plain words."""
    if not found.estimable:
        return [f"cannot be estimated: {found.reason}{_enough(found)}", *_assumed(found)]
    said = [f"standard errors: {found.errors}"]
    if found.weights_words:
        said.append(found.weights_words)
    if found.expected:
        seen = f"detectable {EFFECT[found.family]}: found in half of all surveys (5% false alarms)"
        return [*said, *_scores(found), *_assumed(found), seen]
    return [*said, *_scores(found), *_left_out(found)]


def _scores(found: Regression) -> Iterator[str]:
    """What the answers to the outcome count, if they are not numbers themselves."""
    if not found.scores:
        return
    each = ", ".join(f"{answer} = {score:g}" for answer, score in found.scores)
    question = found.plan.survey.question(found.outcome_level[0])
    middles = isinstance(question, Number) and found.scores == tuple(
        zip(question.substantive, midpoints(question), strict=True)
    )
    how = ": the middle of each bin, the last taken to be as wide as the one before"
    yield f"answers to {question.id} count as {each}{how if middles else ''}"


def _left_out(found: Regression) -> Iterator[str]:
    """Levels and people that are no part of the model, and why."""
    if found.absent:
        levels = ", ".join(found.absent)
        yield f"no coefficient for {levels}: nobody was released who is known to have said so"
    reasons = {
        "were released as one with people who answered otherwise": found.merged,
        "did not answer": found.left_out - found.merged,
    }
    for why, share in reasons.items():
        if share >= SEEN:
            yield f"{share:.1%} of the people are left out: they {why}"


def _enough(found: Regression) -> str:
    """How many people it would take."""
    return f"; with this noise {found.enough:,} people would be enough" if found.enough else ""


def _assumed(found: Regression) -> list[str]:
    """What the errors to expect rest on."""
    if not found.expected:
        return []
    if not found.shares:
        alike = "all answers are taken to be equally common, and nothing to depend on anything"
        return [f"{alike}; rare answers make it less sharp: say how rare with shares"]
    told = ", ".join(found.shares)
    return [f"the shares of {told} are as stated; {OTHERS_ALIKE}"]


def facts(found: Regression) -> dict[str, Any]:
    """JSON-ready."""
    coefficients = [asdict(each) for each in found.coefficients]
    for each, odds in zip(coefficients, found.odds_ratios, strict=False):
        each["odds_ratio"] = finite(asdict(odds))
    return {
        "family": found.family,
        "outcome": found.outcome,
        "people": found.people,
        "coefficients": coefficients,
        "covariance": found.covariance.tolist(),
        "estimable": found.estimable,
        "reason": found.reason,
        "references": list(found.references),
        "method": found.method,
        "errors": found.errors,
        "left_out": found.left_out,
        "merged": found.merged,
        "absent": list(found.absent),
        "scores": dict(found.scores),
        "expected": found.expected,
        **({"shares": _shares(found), "enough": found.enough} if found.expected else {}),
        "guarantee": guarantee_facts(found.guarantee),
        **weights_facts(found.margins, found.error_ratio),
    }


def expected_facts(found: Regression) -> dict[str, Any]:
    """What a plan says of a regression, JSON-ready: errors, and what is assumed."""
    sizes = zip(found.coefficients, detectable(found), strict=True)
    known = facts(found)
    kept = ("outcome", "family", "people", "references", "method", "shares", "estimable")
    coefficients = [
        {"term": each.term, "standard_error": each.standard_error}
        | ({} if size is None else {"detectable": size})
        for each, size in sizes
    ]
    reason = {} if found.estimable else {"reason": found.reason, "enough": found.enough}
    return {name: known[name] for name in kept} | {"coefficients": coefficients} | reason


def _shares(found: Regression) -> dict[str, list[float]]:
    return {id: list(values) for id, values in found.shares.items()}


def regression_table(found: Regression) -> pa.Table:
    """A row for each coefficient."""
    names = ("term", "estimate", "standard_error", "low", "high")
    columns = {name: [getattr(each, name) for each in found.coefficients] for name in names}
    if found.margins:
        columns["weighted_to"] = [listed(found.margins)] * len(found.coefficients)
    return marked_table(pa.table(columns), found.seed)
