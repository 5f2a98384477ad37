"""Regressions for people: words, rows, a forest plot; and for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from markupsafe import Markup
from rich.cells import cell_len

from incrowd.estimation.margins import listed, weights_facts
from incrowd.estimation.regression.results import Regression
from incrowd.presentation.advice import HALF_WIDTH
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.number_text import finite
from incrowd.presentation.shell import rendered
from incrowd.presentation.simulated import marked, marked_table, simulation_warning
from incrowd.reports.files import checked_ending, replaced

WAYS = {
    "table": "unbiased estimating equations, from the table of all questions",
    "pairs": "unbiased estimating equations, from pairs of questions",
    "likelihood": "maximum likelihood: consistent, not unbiased",
}
WIDTH = 560  # pixels of a forest plot, 7 of them for a roomy character of the names at its side
MOST_LABELS = 240
EFFECT = {"logistic": "odds ratio", "linear": "difference"}
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
        (f"{each.ratio:.3g}", f"{each.low:.3g} to {each.high:.3g}") for each in found.odds_ratios
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


def _between(low: float, high: float) -> str:
    return f"{_text(low)} to {_text(high)}"


def notes(found: Regression) -> list[str]:
    """What has to be said below."""
    if not found.estimable:
        return [f"cannot be estimated: {found.reason}{_enough(found)}", *_assumed(found)]
    said = [f"compared with {', '.join(found.references)}", f"standard errors: {found.errors}"]
    if found.weights_words:
        said.append(found.weights_words)
    if found.expected:
        seen = f"detectable {EFFECT[found.family]}: found in half of all surveys (5% false alarms)"
        return [*said, *_assumed(found), seen]
    if found.left_out:
        why = "did not answer, or are in strata that were released as one"
        said.append(f"{found.left_out:.1%} of the people are left out: they {why}")
    return [*said, WAYS[found.method]]


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


def forest_plot(found: Regression) -> Markup:
    """Point and interval of each coefficient as an <svg> element; odds ratios on their own scale.

    The intercept, which comes first, is left out: it is compared with nothing.
    """
    from incrowd.presentation.charts import drawn  # drawing is slow to import

    odds, shown = found.odds_ratios[1:], found.coefficients[1:]
    ends = [(o.ratio, o.low, o.high) for o in odds] or [(c.estimate, c.low, c.high) for c in shown]
    values = [
        {"term": each.term, "estimate": middle, "low": low, "high": high}
        for each, (middle, low, high) in zip(shown, ends, strict=True)
    ]
    labels = min(max(cell_len(str(each["term"])) for each in values) * 7 + 26, MOST_LABELS)
    return drawn(
        "forest.json",
        f"{title(found)}, drawn",
        values=values,
        labels=labels,
        plot=WIDTH - labels,
        domain=_domain([value for each in ends for value in each], bool(odds)),
        across="odds ratio" if odds else f"difference of {found.outcome}",
        nothing=1 if odds else 0,
        ticks=[step * 10.0**power for power in range(-12, 12) for step in (1, 2, 5)],
        scale="log" if odds else "linear",
    )


def _domain(ends: Sequence[float], log: bool) -> list[float]:
    """All that is drawn, and where nothing differs, with a little room at both ends."""
    low, high = min(ends), max(ends)
    if log:
        return [min(low, 1.0) / 1.1, max(high, 1.0) * 1.1]
    room = 0.03 * (max(high, 0.0) - min(low, 0.0)) or 0.01
    return [min(low, 0.0) - room, max(high, 0.0) + room]


def page(found: Regression) -> str:
    """A self-contained page: the forest plot and the numbers."""
    return rendered("regression.html", **parts(found), chart=chart(found))


def chart(found: Regression) -> str:
    """The forest plot, if there is something to draw."""
    return forest_plot(found) if found.estimable and not found.expected else Markup("")


def parts(found: Regression) -> dict[str, Any]:
    """What its page and a notebook show beside the chart."""
    warned = [] if found.seed is None else [simulation_warning(found.seed)]
    return {
        "title": title(found),
        "said": [*warned, guarantee_sentence(found.guarantee)],
        "headings": headings(found),
        "rows": rows(found),
        "notes": notes(found),
    }


def _write_json(found: Regression, path: Path) -> None:
    text = json.dumps(marked(facts(found), found.seed), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


_WRITERS: Mapping[str, Any] = {
    ".html": lambda found, path: path.write_text(page(found), encoding="utf-8"),
    ".csv": lambda found, path: pyarrow.csv.write_csv(regression_table(found), path),
    ".json": _write_json,
}


def check_regression_ending(path: Path) -> None:
    """Raises UsageError if a regression cannot be written with that ending."""
    checked_ending(path, _WRITERS)


def save_regression(found: Regression, path: Path) -> None:
    """Write a regression as .html, .csv or .json, whole or not at all."""
    writer = _WRITERS[checked_ending(path, _WRITERS)]
    with replaced(path) as temporary:
        writer(found, temporary)
