"""Random plans against everything they publish, enumerated: no certificate is below the truth.

Nothing here is statistical: for each plan every crowd and every ordered pair of answers is tried.
Plans that are too large to enumerate, or that nothing can keep, are drawn again.
"""

import math
import random
from collections import Counter
from itertools import islice

import pytest

from incrowd.accountant.certificates import certify
from incrowd.accountant.schema import Contribution
from incrowd.errors import PrivacyError, SurveyError
from incrowd.planner.plan import make_plan
from incrowd.plans.sent import sent_by
from incrowd.survey import Survey
from tests.oracles.published import Published, answers

MOST_WORK = 2_000_000  # numbers to look at for one plan
ROUNDING = 1e-9  # relative, of the enumeration
NOTHING = 1e-14
QUICK, MANY = 10, 1000


def chance(draw, low, high):
    """A probability that is a whole number of 1024ths, so that nothing is rounded."""
    return draw.randint(round(low * 1024), round(high * 1024)) / 1024


def randomizer(draw, kind, exclusive):
    """A device with numbers of its own, or none: then the planner chooses the noise."""
    devices = ["bit flip", "warner", "simmons", "rappor", "two stages", "memoized", "bit"]
    device = draw.choice([None] * 5 + devices + ["k-ary"] * (2 * exclusive))
    if kind == "text":
        device = draw.choice([None, "bit flip"])
    stages = {"one_if_zero": chance(draw, 0.1, 0.3), "one_if_one": chance(draw, 0.6, 0.9)}
    return {
        None: {},
        "bit flip": {"noise": chance(draw, 0.2, 0.48)},
        "warner": {"spinner": chance(draw, 0.55, 0.8)},
        "simmons": {"unrelated": chance(draw, 0.4, 0.9), "prevalence": chance(draw, 0.2, 0.8)},
        "rappor": {"f": chance(draw, 0.4, 0.9)},
        "two stages": {"f": chance(draw, 0.4, 0.9), **stages},
        "memoized": {"f": chance(draw, 0.4, 0.9), **stages, "memoized": True},
        "bit": {"one_if_zero": chance(draw, 0.2, 0.4), "one_if_one": chance(draw, 0.5, 0.8)},
        "k-ary": {"keep": chance(draw, 0.5, 0.7)},
    }[device] | ({"kind": NAMES.get(device, device)} if device else {})


NAMES = {"two stages": "rappor", "memoized": "rappor"}


def question(draw, id, way):
    kinds = ["yesno", "yesno", "choice", "multi", "number", "text"]
    kind = draw.choice(["yesno", "choice", "number"] if way == "crossed" else kinds)
    found = {"id": id, "type": kind}
    options = [f"option {i}" for i in range(draw.choice([2, 2, 3]))]
    if kind in ("choice", "multi"):
        found["options"] = options
    if kind == "multi":
        found["at_most"] = draw.randint(1, len(options))
    if kind == "number":
        found["edges"] = list(range(len(options)))
    if kind == "text":
        found |= {"block": 2, "cohorts": draw.choice([1, 2])}
    elif draw.random() < 0.15:
        found["optional"] = True
    exclusive = kind in ("choice", "number") or (kind == "yesno" and "optional" in found)
    device = {} if way == "crossed" else randomizer(draw, kind, exclusive)
    return found | ({"randomizer": device} if device else {})


def message(draw, questions, ids):
    """A joint report, in copies or not, or cells where there are any."""
    sent = [question for question in questions if question["id"] in ids]
    several = sum(question.get("at_most", 1) > 1 for question in sent)
    with_cells = several < 2 and not any(
        "randomizer" in question or question["type"] == "text" for question in sent
    )
    if with_cells and draw.random() < 0.7:
        return {"questions": ids, "cells": True}
    return {"questions": ids, "copies": draw.choice([1, 1, 2])}


def survey(draw):
    """A survey of one to three questions; how they travel is fixed or left to the planner."""
    way = draw.choice(["together", "copies", "messages", "messages", "planner", "crossed"])
    number = draw.choice([2, 2, 3] if way == "crossed" else [1, 1, 2, 2, 3])
    questions = [question(draw, f"q{i}", way) for i in range(number)]
    fixed = any("randomizer" in question for question in questions)  # that need a weak promise
    epsilon = draw.choice([1.0, 2.0, 4.0] if fixed else [0.01, 0.1, 0.3, 1.0, 2.0, 4.0])
    privacy = {"epsilon": epsilon * draw.uniform(0.7, 1.4)}
    privacy["delta"] = 10 ** draw.uniform(-1 if fixed else -4, -0.1)
    if draw.random() < 0.1:
        privacy["analysis"] = "local"
    found = {"name": "s", "crowd": draw.choice([2, 2, 3, 3, 4, 5, 6]), "privacy": privacy}
    if way == "crossed":  # the cells of all questions together
        found["message"] = [{"questions": [q["id"] for q in questions], "cells": True}]
    if way == "copies":
        found["copies"] = draw.choice([2, 3])
    if way == "messages":
        groups = [[q["id"]] for q in questions]
        if len(groups) == 3 and draw.random() < 0.5:
            groups = [groups[0] + groups[1], groups[2]]
        if len(groups) == 2 and draw.random() < 0.3:
            groups = [groups[0] + groups[1]]
        found["message"] = [message(draw, questions, group) for group in groups]
    if way == "planner":
        found["reports_per_person"] = draw.randint(1, 4)
    return found | {"question": questions}


def plans(first):
    """Plans and what they publish, from the seed `first` on, and the crowd that they assume."""
    for seed in range(first, first + 100_000):
        raw = survey(random.Random(seed))
        if pairs(raw) > MOST_WORK / 20:
            continue
        try:
            plan = make_plan(Survey.of(raw))
        except (PrivacyError, SurveyError):
            continue
        published = Published(plan.content, raw["crowd"])
        if published.work <= MOST_WORK:
            yield plan, published


def pairs(raw):
    """Crowds times ordered pairs of answers."""
    records = math.prod(len(answers(question)) for question in raw["question"])
    return math.comb(records + raw["crowd"] - 2, raw["crowd"] - 1) * records**2


def below(certified, truth):
    return certified < truth * (1 - ROUNDING) - NOTHING


def single_reports(sent):
    """A wrong accountant: it leaves out composition, and looks at the first report alone."""
    return Contribution.of(sent.reports[0][0])


def compare(number, first):
    """How often a certificate is below the truth: the right ones, and wrong variants of them."""
    found, seen = Counter(), Counter()
    for plan, published in islice(plans(first), number):
        promise, sent = plan.guarantee, sent_by(plan)
        truth = published.delta(promise.epsilon)
        seen.update(q["type"] for q in published.questions)
        seen.update((q.get("randomizer") or {}).get("kind", "planned") for q in published.questions)
        seen["cells"] += any(message.cells for message in plan.messages)
        seen["crossed"] += any(m.cells and len(m.ids) > 1 for m in plan.messages)
        seen["copies"] += sent.copies > len(plan.messages)
        found["plan"] += below(promise.certified_delta, truth)
        found["promise"] += below(promise.delta, truth)
        for analysis in ("shuffle", "seat", "blanket", "local"):
            figures = certify(analysis, sent, promise.crowd, promise.epsilon).delta
            found[analysis] += below(figures.upper, truth)
        found["beyond local epsilon"] += published.delta(promise.local_epsilon) > NOTHING
        wrong = certify("blanket", sent, 2 * promise.crowd, promise.epsilon)
        found["crowd doubled"] += below(wrong.delta.upper, truth)
        wrong = certify("blanket", sent, promise.crowd + 1, promise.epsilon)
        found["crowd and one"] += below(wrong.delta.upper, truth)
        wrong = certify("blanket", single_reports(sent), promise.crowd, promise.epsilon)
        found["composition left out"] += below(wrong.delta.upper, truth)
        if not any((q.get("randomizer") or {}).get("memoized") for q in published.questions):
            check_exact(sent, promise, truth, found)  # else the promise is for all rounds
    return found, seen


def check_exact(sent, promise, truth, found):
    """`exact` is the truth; `outlier` is no more than it."""
    for analysis in ("exact", "outlier"):
        try:
            figures = certify(analysis, sent, promise.crowd, promise.epsilon).delta
        except PrivacyError:
            continue
        found[f"{analysis} tried"] += 1
        if analysis == "exact" and sent.single:
            found[analysis] += abs(figures.upper - truth) > 1e-8 * truth + NOTHING
        elif analysis == "exact":
            found[analysis] += below(figures.upper, truth)
        elif sent.single:
            found[analysis] += below(truth, figures.lower)


PROVED = ("shuffle", "seat", "blanket", "local", "exact")
RIGHT = ("plan", "promise", *PROVED, "outlier", "beyond local epsilon")
KINDS = {"yesno", "choice", "multi", "number", "text"}
DEVICES = {"planned", "bit flip", "warner", "simmons", "rappor", "bit", "k-ary"}


@pytest.mark.slow
def test_some_random_plans():
    found, _ = compare(QUICK, first=0)
    assert not any(found[variant] for variant in RIGHT), found
    assert found["exact tried"] >= 3 and found["outlier tried"] >= 3
    for wrong in ("crowd doubled", "crowd and one", "composition left out"):
        assert found[wrong] >= 3, found


@pytest.mark.slow
def test_a_thousand_random_plans():
    found, seen = compare(MANY, first=1_000_000)
    assert not any(found[variant] for variant in RIGHT), found
    for wrong in ("crowd doubled", "crowd and one", "composition left out"):
        assert found[wrong] >= MANY / 20, found
    ways = {"cells", "crossed", "copies"}
    assert all(seen[kind] >= MANY / 50 for kind in KINDS | DEVICES | ways), seen
