"""Regressions for people: words and rows; and for machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from incrowd.estimation.tables import HALF_WIDTH
from incrowd.estimation.weighting.margins import listed, weights_facts, weights_words
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import marked_table
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View
from incrowd.survey.formulas import Penalty
from incrowd.survey.question import MERGED

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.quotients import Unbounded
    from incrowd.estimation.regression.results import Coefficient, Regression

WAYS = {
    "table": "unbiased estimating equations, from the table of all questions",
    "pairs": "unbiased estimating equations, from pairs of questions",
    "likelihood": "maximum likelihood: consistent, not unbiased",
}
PENALTIES: dict[Penalty, str] = {
    "firth": "Firth's penalized likelihood, from the table of all questions, with the intervals of "
    "a score test",
}
OPEN = "an interval with one end, or none (anything), is all that the reports tell"
EFFECT = {"logistic": "odds ratio", "linear": "difference"}
CLOSER = "the odds of these people come out too close to even on average"
SELDOM = 0.05  # of surveys, in which a model is refused without a word about it beforehand
SEEN = 0.0005  # of people, that a tenth of a percent shows
MOST = 700.0  # of which e^x is still a number
UNEVEN = (
    "if answers whose shares are not stated are uneven (one yes in ten; otherwise each answer half "
    "as common as the one before)"
)
OTHERS_ALIKE = "all other answers are taken to be equally common, and nothing to depend on anything"


def view(found: Regression) -> View:
    """The coefficients of a model, if there are any, and what is to be said of them."""
    named = title(found)
    numbers = Numbers(named, headings(found), tuple(rows(found)), spaces=2)
    above = [named] if found.expected and not found.estimable else []
    return View(
        title=named,
        facts=facts(found),
        seed=found.seed,
        promise=guarantee_sentence(found.guarantee),
        tables=(numbers,) if found.estimable else (),
        notes=(*above, *notes(found)),
    )


def title(found: Regression) -> str:
    """What stands above the coefficients."""
    what = "log odds" if found.family == "logistic" else "linear model"
    if found.expected:
        return f"{what} of {found.outcome}: the errors to expect of {found.people:,} people"
    return f"{what} of {found.outcome}, {found.people:,} people, 95% intervals"


def way(found: Regression) -> str:
    """How the coefficients were estimated."""
    return PENALTIES[found.penalty] if found.penalty else WAYS[found.method]


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
    odds = [(times(each.ratio), odds_between(each.low, each.high)) for each in found.odds_ratios]
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
    return _interval(low, high, -math.inf, _text)


def odds_between(low: float, high: float) -> str:
    """An interval of odds ratios, whose lower end may be 0 and whose upper one infinite."""
    return _interval(low, high, 0.0, times)


def _interval(low: float, high: float, least: float, text: Callable[[float], str]) -> str:
    """ "1.4 to 3.3"; "above 1.4", "below 3.3" or "anything" where an end is open."""
    if high == math.inf:
        return "anything" if low <= least else f"above {text(low)}"
    return f"below {text(high)}" if low <= least else f"{text(low)} to {text(high)}"


def is_open(low: float, high: float) -> bool:
    """Whether the interval of a coefficient has an end that the reports do not tell."""
    return math.isinf(low) or math.isinf(high)


def notes(found: Regression) -> list[str]:
    """What has to be said below: at last, of what was found, how."""
    if not found.estimable:
        return said_below(found)
    last = [] if found.expected else [way(found)]
    compared = [f"compared with {', '.join(found.references)}"] if found.references else []
    return [*compared, *said_below(found), *last]


def said_below(found: Regression) -> list[str]:
    """What has to be said below a table that shows what is compared, in plain words."""
    if not found.estimable:
        return [f"cannot be estimated: {found.reason}", *_refusals(found), *_assumed(found)]
    said = [f"standard errors: {found.errors}", *filter(None, [found.assumption])]
    if any(is_open(each.low, each.high) for each in found.coefficients) and not found.expected:
        said.append(OPEN)
    if found.weighted_to:
        said.append(weights_words(found.weighted_to, found.error_ratio))
    if found.expected:
        refused = (found.refusal or 0.0) > SELDOM
        of = "the surveys that support the model" if refused else "all surveys"
        seen = f"detectable {EFFECT[found.family]}: found in half of {of} (5% false alarms)"
        return [*_refusals(found), *said, *_scores(found), *_assumed(found), seen]
    return [*said, *_scores(found), *_left_out(found), *_selected(found)]


def _selected(found: Regression) -> Iterator[str]:
    """That others like it are refused, and in which direction those that are not are off."""
    if found.refusal is not None and found.refusal > SELDOM and found.risk:
        yield (
            f"close to separation: by these reports about {found.refusal:.0%} of surveys like this "
            f"one would not support the model, since few people {found.risk} are seen; in those "
            f"that do, as here, {CLOSER}, and intervals hold less often than in 95%; penalty firth "
            "is for such models"
        )


def _refusals(found: Regression) -> Iterator[str]:
    """How often reports will not tell the model, if that is not rare, and what would work."""
    if not found.expected or found.refusal is None or found.refusal <= SELDOM:
        return
    why = f": too few people {found.risk} will be seen through the noise" if found.risk else ""
    others = f"; in the others {CLOSER}" if found.risk else ""
    chance = f"about {found.refusal:.0%} of surveys"
    yield f"reports will not support this model in {chance}{why}{others}"
    people = [f"{found.enough:,} people with this noise"] if found.enough else []
    if ways := [*found.ways_out, *people]:
        yield f"what would work: {'; or '.join(ways)}"


def _scores(found: Regression) -> Iterator[str]:
    """What answers count, if they are not numbers themselves, and which are read as one."""
    for id, scored in found.slopes:
        each = ", ".join(f"{answer} = {score:g}" for answer, score in scored)
        yield f"answers to {id} count as {each}; the slope is for a step of one"
    for id in dict.fromkeys(id for term in found.terms for id, _ in term):
        for name, answers in found.plan.survey.question(id).merged:
            if name != MERGED.join(answers):
                yield f"{id}={name} is {MERGED.join(answers)}"
    if not found.scores:
        return
    each = ", ".join(f"{answer} = {score:g}" for answer, score in found.scores)
    question = found.plan.survey.question(found.outcome_level[0])
    scores = tuple(score for _, score in found.scores)
    middles = question.of_numbers and not question.rounded and scores == question.values
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


def _assumed(found: Regression) -> list[str]:
    """What the errors to expect rest on."""
    if not found.expected:
        return []
    if not found.shares:
        alike = "all answers are taken to be equally common, and nothing to depend on anything"
        rare = "rare answers make it less sharp: say how rare with shares"
        return [f"{alike}; {rare}", *_if_uneven(found)]
    told = ", ".join(found.shares)
    return [f"the shares of {told} are as stated; {OTHERS_ALIKE}", *_if_uneven(found)]


def _if_uneven(found: Regression) -> Iterator[str]:
    """How much worse it is if answers whose shares are not stated are uneven."""
    if found.uneven is None:
        return
    ratio, chance = found.uneven.error_ratio, found.uneven.refusal
    worse = [] if ratio is None else [f"errors up to {ratio:.2g} times these"]
    worse += [f"a refusal in about {chance:.0%} of surveys"] if chance > SELDOM else []
    if worse:
        yield f"{UNEVEN}: {', and '.join(worse)}"


def _unbounded(each: Coefficient) -> Unbounded:
    """On which sides its interval has no end, as comparisons say it."""
    above, below = math.isinf(each.high), math.isinf(each.low)
    return "everywhere" if above and below else "above" if above else "below" if below else "no"


def _merged(found: Regression) -> dict[str, dict[str, list[str]]]:
    """By question and name, the answers that are read as one."""
    ids = dict.fromkeys(id for term in found.terms for id, _ in term)
    ids |= {found.outcome_level[0]: None}
    merged = {id: found.plan.survey.question(id).merged for id in ids}
    return {
        id: {name: list(answers) for name, answers in each} for id, each in merged.items() if each
    }


def facts(found: Regression) -> dict[str, Any]:
    """JSON-ready."""
    coefficients = [asdict(each) for each in found.coefficients]
    for each, shown in zip(coefficients, found.coefficients, strict=True):
        each |= finite({"low": shown.low, "high": shown.high}) | {"unbounded": _unbounded(shown)}
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
        "assumption": found.assumption,
        "left_out": found.left_out,
        "merged": found.merged,
        "absent": list(found.absent),
        "scores": dict(found.scores),
        "slopes": {id: dict(scores) for id, scores in found.slopes},
        "merged_answers": _merged(found),
        "penalty": found.penalty,
        "expected": found.expected,
        **(_expectation(found) if found.expected else {}),
        "guarantee": guarantee_facts(found.guarantee),
        **weights_facts(found.weighted_to, found.error_ratio),
    }


def expected_facts(found: Regression) -> dict[str, Any]:
    """What a plan says of a regression, JSON-ready: errors, and what is assumed."""
    sizes = zip(found.coefficients, detectable(found), strict=True)
    known = facts(found)
    kept = ("outcome", "family", "people", "references", "method", "penalty", "estimable")
    coefficients = [
        {"term": each.term, "standard_error": each.standard_error}
        | ({} if size is None else {"detectable": size})
        for each, size in sizes
    ]
    reason = {} if found.estimable else {"reason": found.reason}
    more = {"coefficients": coefficients} | _expectation(found) | reason
    return {name: known[name] for name in kept} | more


def _expectation(found: Regression) -> dict[str, Any]:
    """What is assumed, how often the model will be refused, and what would work."""
    return {
        "shares": {id: list(values) for id, values in found.shares.items()},
        "refusal": found.refusal,
        "ways_out": list(found.ways_out),
        "if_uneven": None if found.uneven is None else asdict(found.uneven),
        "enough": found.enough,
    }


def regression_table(found: Regression) -> pa.Table:
    """A row for each coefficient."""
    import pyarrow as pa  # slow to load, and a plan needs none

    names = ("term", "estimate", "standard_error", "low", "high")
    columns = {name: [getattr(each, name) for each in found.coefficients] for name in names}
    if found.weighted_to:
        columns["weighted_to"] = [listed(found.weighted_to)] * len(found.coefficients)
    return marked_table(pa.table(columns), found.seed)
