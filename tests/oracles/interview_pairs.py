"""Fourteen features of regressions of interviews, and how every two of them meet.

`meeting` carries a pair out, and compares the result with a likelihood that is written here from
the textbook: at its maximum the likelihood does not rise in any direction. `python -m
tests.oracles.interview_pairs` writes the table of the manual.
"""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import special

import incrowd
from incrowd import interviews
from incrowd.errors import IncrowdError

FEATURES = (
    "weights", "clusters", "groups", "missing reports", "repeats", "unknown prevalence",
    "several answers", "direct group", "one-sided design", "honesty model", "random intercepts",
    "ordinal model", "covariates with missing values", "item as predictor",
)  # fmt: skip
TOGETHER, REFUSED, NEITHER = "E", "R", "-"
PAGE = Path(__file__).parents[2] / "docs" / "interviews-mathematics.md"
BEGIN, END = "<!-- from tests/oracles/interview_pairs.py -->", "<!-- end of the pairs -->"
PEOPLE, VILLAGES = 900, 30
OPTIONS = ("never", "rarely", "often")
# No function has an option for both.
APART = {
    frozenset(pair)
    for pair in (
        ("honesty model", "random intercepts"),
        ("honesty model", "item as predictor"),
        ("ordinal model", "random intercepts"),
        ("ordinal model", "item as predictor"),
    )
}


def unrelated(p):
    """P[report, answer] of an unrelated question, by the share of "yes" to it."""

    def law(theta):
        return p * np.eye(2) + (1 - p) * np.array([[1 - theta] * 2, [theta] * 2])

    return law


def designs_of(features):
    """The design of each group as a survey states it, with P[report, answer] for theta."""
    several = {"several answers", "ordinal model"} & features
    if several and "one-sided design" in features:
        law = np.array([[3, 1, 1], [0, 2, 1], [1, 1, 2]]) / 4
        keys = {name: [str(p) for p in law[:, a]] for a, name in enumerate(OPTIONS)}
        one = {"kind": "matrix", "columns": keys}, lambda _: law
    elif several:
        one = (
            {"kind": "forced", "forced": dict.fromkeys(OPTIONS, "1/9")},
            lambda _: np.full((3, 3), 1 / 9) + np.eye(3) * 2 / 3,
        )
    elif "one-sided design" in features:
        one = {"kind": "mangat", "p": "3/4"}, lambda _: np.array([[3 / 4, 0], [1 / 4, 1]])
    else:
        one = {"kind": "warner", "p": "5/6"}, lambda _: np.array([[5, 1], [1, 5]]) / 6
    two = {"kind": "warner", "p": "2/3"}, lambda _: np.array([[2, 1], [1, 2]]) / 3
    chosen = [one, one if several else two]
    if "repeats" in features:
        red = {"yes": (3 / 4, 1 / 4), "no": (0 if "one-sided design" in features else 1 / 4, 3 / 4)}
        yes, no = red["yes"][0], red["no"][0]
        law = np.array([[(1 - q) ** 2, 2 * q * (1 - q), q**2] for q in (no, yes)]).T
        chosen[0] = {"kind": "kuk", "yes": str(yes), "no": str(no), "repeats": 2}, lambda _: law
    if "unknown prevalence" in features:
        chosen = [
            *chosen[: bool({"repeats", "one-sided design", "honesty model"} & features)],
            *(({"kind": "unrelated", "p": str(p)}, unrelated(p)) for p in (3 / 4, 1 / 4)),
        ]
    if "direct group" in features:
        chosen.append(({"kind": "direct"}, lambda _: np.eye(3 if several else 2)))
    if {"groups", "unknown prevalence", "direct group", "honesty model"} & features:
        return chosen
    return chosen[:1]


def answers_of(features, seed=0):
    """The survey, the columns, and the matrices of interviews with some features."""
    rng = np.random.default_rng(seed)
    designs = designs_of(features)
    kind = {"type": "yesno"}
    if {"several answers", "ordinal model"} & features:
        kind = {"type": "choice", "options": list(OPTIONS)}
    question = {"id": "q", **kind}
    raw = {"name": "Pairs", "device": {"kind": "spinner", "sectors": 36}, "columns": {}}
    if len(designs) > 1:
        question |= {"designs": [keys for keys, _ in designs]}
        raw |= {"groups": {"codes": [str(place) for place in range(len(designs))]}}
        raw["columns"] |= {"group": "g"}
    else:
        question |= {"design": designs[0][0]}
    raw["columns"] |= {"weight": "w"} if "weights" in features else {}
    raw["columns"] |= {"cluster": "v"} if "clusters" in features else {}
    survey = incrowd.InterviewSurvey.of(raw | {"question": [question]})
    x, group = rng.normal(size=PEOPLE), rng.integers(len(designs), size=PEOPLE)
    village = np.arange(PEOPLE) % VILLAGES
    felt = rng.normal(size=VILLAGES)[village] * 0.8 + 0.7 * x
    cuts = (-0.5, 0.8) if kind["type"] == "choice" else (0.3,)
    true = (felt + rng.logistic(size=PEOPLE) > np.array(cuts)[:, None]).sum(axis=0)
    names = survey.items[0].design.reports
    laws = [law(0.4) for _, law in designs]
    lying = ("honesty model" in features) & (rng.random(PEOPLE) < 0.3) & (true == 1)
    reported = [
        0 if lies and laws[g].shape[0] == 2 else rng.choice(len(laws[g]), p=laws[g][:, a])
        for g, a, lies in zip(group, true, lying, strict=True)
    ]
    y = rng.random(PEOPLE) < special.expit(0.8 * true - 0.5 + 0.5 * x)
    spelled = [names[g][r] for g, r in zip(group, reported, strict=True)]
    gaps = rng.random((2, PEOPLE)) < 0.1
    columns = {
        "q": pa.array(spelled, mask=gaps[0] & ("missing reports" in features)),
        "x": pa.array(x, mask=gaps[1] & ("covariates with missing values" in features)),
        "y": y.astype(float),
        "w": rng.gamma(4, 0.25, PEOPLE) + 0.01,
        "g": group.astype(str),
        "v": village.astype(str),
    }
    answers = incrowd.read_answers(survey, pa.table(columns))
    whole = ~(gaps[0] & ("missing reports" in features))
    whole &= ~(gaps[1] & ("covariates with missing values" in features))
    weight = columns["w"] if "weights" in features else np.ones(PEOPLE)
    rows = {"x": x, "y": columns["y"], "w": weight, "v": village, "g": group}
    rows |= {"r": np.array(reported)}
    return answers, {name: each[whole] for name, each in rows.items()}, [law for _, law in designs]


def fitted(answers, features):
    """The parameters of the result, in the order of `log_likelihood`."""
    if "item as predictor" in features:
        groups = "v" if "random intercepts" in features else None
        result = interviews.regress_outcome(answers, "y ~ x + q", intercepts=groups)
        every = (*result.coefficients, *result.item_coefficients)
        parameters, unknown = [each.estimate for each in every], result.unknown
    elif "random intercepts" in features:
        result = interviews.regress_with_intercepts(answers, "q ~ x", "v")
        parameters, unknown = [each.estimate for each in result.coefficients], result.unknown
    else:
        options = {"ordinal": "ordinal model" in features, "lies": "honesty model" in features}
        result = interviews.regress(answers, "q ~ x", **options)
        parameters, unknown = [each.estimate for each in result.coefficients], result.unknowns
    parameters += [each.estimate for each in unknown]
    if "random intercepts" in features:
        parameters.append(np.sqrt(result.variation.variance))
    assert np.isfinite(np.diag(result.covariance)).all()
    return np.array(parameters)


def log_likelihood(parameters, features, rows, laws):
    """The weighted log-likelihood of the reports, and of the outcome that they predict."""
    left = list(parameters)
    tau = left.pop() if "random intercepts" in features else 0.0
    honesty = left.pop() if "honesty model" in features else None
    theta = left.pop() if "unknown prevalence" in features else 0.0
    of_outcome = "item as predictor" in features
    answers = 3 if {"several answers", "ordinal model"} & features else 2
    beta = [left.pop(0) for _ in range(1 + answers)] if of_outcome else []
    matrices = [law(theta) for law in laws]
    if honesty is not None:
        lied = [np.column_stack([m[:, 0], [1 - honesty, honesty]]) for m in matrices]
        is_direct = [np.array_equal(m, np.eye(len(m))) for m in matrices]
        both = zip(matrices, lied, is_direct, strict=True)
        matrices = [m if direct else new for m, new, direct in both]
    chances = np.array([matrices[g][r] for g, r in zip(rows["g"], rows["r"], strict=True)])
    points, masses = np.polynomial.hermite_e.hermegauss(61) if tau else (np.zeros(1), np.ones(1))
    logs = []
    for shift in tau * points:
        here = 0.0 if of_outcome else shift
        if "ordinal model" in features:
            below = special.expit(np.array(left[:2]) - rows["x"][:, None] * left[2])
            shares = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1)
        else:
            gamma = np.array(left).reshape(answers - 1, 2)
            odds = gamma[:, 0] + np.multiply.outer(rows["x"], gamma[:, 1]) + here
            shares = special.softmax(np.pad(odds, ((0, 0), (1, 0))), axis=1)
        if of_outcome:
            height = beta[0] + rows["x"] * beta[1] + shift
            each = special.expit(height[:, None] + np.array([0.0, *beta[2:]]))
            shares = shares * np.where(rows["y"][:, None] == 1, each, 1 - each)
        logs.append(np.log((chances * shares).sum(axis=1)))
    if not tau:
        return float(rows["w"] @ logs[0])
    of_villages = np.array([np.bincount(rows["v"], each, VILLAGES) for each in logs])
    return float(special.logsumexp(of_villages.T, b=masses / masses.sum(), axis=1).sum())


def meeting(pair):
    """How two features meet. Raises AssertionError if the estimates are not at the maximum."""
    if pair in APART:
        return NEITHER
    try:
        answers, rows, laws = answers_of(pair)
        parameters = fitted(answers, pair)
    except IncrowdError:
        return REFUSED
    step = 1e-4
    slopes = [
        (
            log_likelihood(parameters + move, pair, rows, laws)
            - log_likelihood(parameters - move, pair, rows, laws)
        )
        / (2 * step)
        for move in step * np.eye(len(parameters))
    ]
    assert np.abs(slopes).max() < 1e-2, (sorted(pair), parameters, slopes)
    return TOGETHER


def pairs():
    """Every two features, in the order of `FEATURES`."""
    return [frozenset(pair) for pair in combinations(FEATURES, 2)]


def table(met):
    """The table of the manual. met: how each pair meets."""
    numbers = range(1, len(FEATURES) + 1)
    yield f"| | feature | {' | '.join(map(str, numbers))} |"
    yield f"|---|---|{'---|' * len(FEATURES)}"
    for number, name in zip(numbers, FEATURES, strict=True):
        cells = [met.get(frozenset((name, other)), "") for other in FEATURES]
        yield f"| {number} | {name} | {' | '.join(cells)} |"


def written():
    """How each pair meets, as the manual says."""
    between = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| \d+ \| (.+?) \| (.+) \|$", between, re.MULTILINE)
    return {
        frozenset((name, other)): cell.strip()
        for name, cells in rows
        for other, cell in zip(FEATURES, cells.split(" | "), strict=True)
        if name != other
    }


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    lines = "\n".join(table({pair: meeting(pair) for pair in pairs()}))
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}", encoding="utf-8")
