"""What a plan promises, by an independent path: explicit laws, rounds and rows of one person."""

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest

import incrowd
from incrowd.errors import PlanError, PrivacyError
from incrowd.plans import JointReport
from incrowd.plans.sent import sent
from incrowd.presentation.guarantee_text import assumption_text
from tests.conftest import slowly
from tests.planner.conftest import yes_no_survey


def collection_laws(flips, crowd):
    """Laws of the count vector of reports: the person holds 0 or 1...1, the others nothing but
    the blanket's worst case is not assumed: every collection of the others is listed."""
    bits = len(flips)
    channel = reduce(np.kron, [np.array([[f.p, f.q], [f.q, f.p]]) for f in flips])
    kinds = 1 << bits
    for others in product(range(kinds), repeat=crowd - 1):
        if list(others) != sorted(others):
            continue
        laws = []
        for mine in (0, kinds - 1):
            law = {}
            for reports in product(range(kinds), repeat=crowd):
                chance = math.prod(
                    channel[r, x] for r, x in zip(reports, (mine, *others), strict=True)
                )
                key = tuple(np.bincount(reports, minlength=kinds))
                law[key] = law.get(key, 0.0) + chance
            laws.append(law)
        keys = list(laws[0])
        yield np.array([laws[0][k] for k in keys]), np.array([laws[1][k] for k in keys])


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_no_certificate_is_below_the_explicit_composition(epsilon):
    """Two messages of one and two bits in a crowd of three: the laws of all collections, composed
    by multiplying them out, never exceed what the accountant certifies; without composition, the
    claim would be too small."""
    survey = yes_no_survey(3, crowd=3, privacy={"epsilon": epsilon, "delta": 0.9})
    messages = [
        JointReport(questions=survey.questions[:1], noise_numerator=int(0.2 * 2**32)),
        JointReport(questions=survey.questions[1:], noise_numerator=int(0.3 * 2**32)),
    ]
    everything = sent(survey, messages)
    bound = incrowd.certify("shuffle", everything, 3, epsilon).delta.upper
    worst = 0.0
    ones = list(collection_laws([messages[0].noise], 3))
    twos = list(collection_laws([messages[1].noise] * 2, 3))
    for (a, b), (c, d) in product(ones, twos):
        for (p, q), (r, s) in (((a, b), (c, d)), ((b, a), (d, c))):
            excess = np.outer(p, r) - math.exp(epsilon) * np.outer(q, s)
            worst = max(worst, float(np.maximum(excess, 0).sum()))
    assert worst <= bound
    alone = incrowd.certify("shuffle", sent(survey, messages[:1]), 3, epsilon).delta.upper
    assert alone < worst


@pytest.mark.slow
def test_earlier_rounds_are_covered():
    """The second round needs more noise than alone, and both together keep the promise."""
    first = incrowd.plan(yes_no_survey(1, crowd=20_000, privacy={"epsilon": 0.5}))
    ledger = incrowd.Ledger().with_plan(first, 20_000)
    survey = yes_no_survey(2, crowd=20_000, name="second")
    alone = incrowd.plan(survey)
    second = incrowd.plan(survey, earlier=ledger.asked)
    assert second.messages[0].noise_numerator > alone.messages[0].noise_numerator
    both = sent(first.survey, first.messages).also(sent(survey, second.messages))
    assert incrowd.certify("shuffle", both, 20_000, 2.0).delta.upper <= 1e-8
    assert incrowd.Plan.loads(second.dumps()) == second
    with pytest.raises(PlanError, match="does not cover"):
        ledger.with_plan(alone, 20_000)
    with pytest.raises(PlanError, match="already"):
        ledger.with_plan(second, 20_000).with_plan(second, 20_000)
    with pytest.raises(
        PrivacyError, match=r"have spent epsilon 0\.5 "
    ):  # nothing is left of the promise
        incrowd.plan(
            yes_no_survey(1, crowd=20_000, privacy={"epsilon": 0.1}, name="x"), earlier=ledger.asked
        )


@pytest.mark.slow
def test_several_rows_of_a_person_are_composed():
    one, three = (
        incrowd.plan(yes_no_survey(2, crowd=20_000, rows_per_person=rows)) for rows in (1, 3)
    )
    assert three.messages[0].noise_numerator > one.messages[0].noise_numerator
    assert "more than 3 rows" in assumption_text(three.guarantee)
    assert three.guarantee.crowd == 20_000 // 3


@pytest.mark.parametrize("rows", [1, *slowly(2, 5)])
def test_rows_of_one_person_in_one_collection_are_covered(rows):
    """One yes/no question, 300 rows: the exact delta of all of a person's rows, the others having
    any number of ones, is below the promise. With the crowd counted in rows it is not."""
    from scipy.stats import binom

    raw = {"crowd": 300, "rows_per_person": rows, "privacy": {"epsilon": 1.0, "delta": 1e-4}}
    made = incrowd.plan(yes_no_survey(1, **raw))

    def exact(flip):
        worst = 0.0
        for ones in range(0, 301 - rows, 5):
            zeros = 300 - rows - ones
            rest = np.convolve(
                binom.pmf(np.arange(ones + 1), ones, flip.p),
                binom.pmf(np.arange(zeros + 1), zeros, flip.q),
            )
            own = np.arange(rows + 1)
            yes, no = (np.convolve(rest, binom.pmf(own, rows, c)) for c in (flip.p, flip.q))
            for a, b in ((yes, no), (no, yes)):
                worst = max(worst, float(np.maximum(a - math.e * b, 0).sum()))
        return worst

    assert exact(made.messages[0].noise) <= 1e-4
    if rows > 1:
        schema = incrowd.Schema.uniform([incrowd.Domain(1, 0, 1)], made.messages[0].noise)
        wrong = incrowd.smallest_noise(
            "blanket",
            lambda flip: incrowd.Contribution.of(
                schema.uniform([incrowd.Domain(1, 0, 1)], flip), rows
            ),
            300,
            1.0,
            1e-4,
        )
        assert exact(wrong) > 1e-4
