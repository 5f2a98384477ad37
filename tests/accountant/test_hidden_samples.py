"""People who take part by a secret coin: every sample, every answer, and every output of three.

Oracle: sums over subsets of people in fractions; nothing of it asks the accountant.
"""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import multinomial

from incrowd import accountant
from incrowd.accountant import BitFlip, Contribution, Domain, HiddenSample, KAry, Part, Schema
from incrowd.errors import PrivacyError
from tests.conftest import one_in

EPSILONS = (0.05, 0.3, 0.8, 1.5)
FLIP, CHOICE = BitFlip.at_least(0.2), KAry.from_probabilities(0.6, 3)
BIT = accountant.Bit.from_probabilities(0.1, 0.7)
NOTHING = "nothing"


def law_of(channel, answer):
    """The exact law of a report."""
    column = channel.numerators[:, answer]
    return {r: Fraction(int(n), channel.denominator) for r, n in enumerate(column)}


def sent_by(channel, answer, rate, blank):
    """What one person sends, by her coin."""
    law = defaultdict(Fraction)
    for report, chance in law_of(channel, answer).items():
        law[report] += rate * chance
    others = {NOTHING: Fraction(1)} if blank is None else law_of(channel, blank)
    for report, chance in others.items():
        law[report] += (1 - rate) * chance
    return law


def collection(channel, answers, rate, blank):
    """The law of what is published: the reports in the order of their values, without names.

    Each subset of people takes part with its probability; the others send nothing, or a blank.
    """
    total = defaultdict(Fraction)
    for taking in product((True, False), repeat=len(answers)):
        chance = math.prod((rate if each else 1 - rate for each in taking), start=Fraction(1))
        laws = []
        for part, answer in zip(taking, answers, strict=True):
            if part or blank is not None:
                laws.append(law_of(channel, answer if part else blank))
        for reports in product(*(law.items() for law in laws)):
            seen = tuple(sorted(r for r, _ in reports))
            total[seen] += chance * math.prod((c for _, c in reports), start=Fraction(1))
    return total


def delta(p, q, epsilon):
    with mp.workdps(30):
        alpha = mp.exp(mpf(epsilon))
        terms = (mpf(c.numerator) / c.denominator - alpha * q_of(q, s) for s, c in p.items())
        return float(sum(max(term, 0) for term in terms))


def q_of(q, seen):
    chance = q.get(seen, Fraction(0))
    return mpf(chance.numerator) / chance.denominator


def worst(channel, people, rate, blank, epsilon):
    """The largest delta over all answers of the others, and all pairs in both orders."""
    answers = range(len(channel.numerators))
    return max(
        delta(
            collection(channel, (x, *others), rate, blank),
            collection(channel, (other, *others), rate, blank),
            epsilon,
        )
        for others in combinations_with_replacement(answers, people - 1)
        for x, other in permutations(answers, 2)
    )


def alone(channel, rate, blank, epsilon):
    """The largest delta of one person's report with her name on it."""
    answers = range(len(channel.numerators))
    laws = [sent_by(channel, x, rate, blank) for x in answers]
    return max(delta(p, q, epsilon) for p, q in permutations(laws, 2))


def sample(channel, rate, blank=None):
    return HiddenSample.of(channel, float(rate), participation="hidden", blank=blank)


CASES = one_in(
    6,
    list(product((FLIP, CHOICE, BIT), (Fraction(1, 8), Fraction(1, 2)), (None, 0))),
)


@pytest.mark.parametrize(("channel", "rate", "blank"), CASES)
def test_three_people_are_hidden_as_certified(channel, rate, blank):
    """Of the bounds, the smallest is above the exact delta; without a crowd it is attained."""
    hidden = sample(channel, rate, blank)
    for epsilon in EPSILONS:
        exact, named = worst(channel, 3, rate, blank, epsilon), alone(channel, rate, blank, epsilon)
        for analysis in ("shuffle", "seat", "blanket"):
            certified = accountant.certify(analysis, hidden, 3, epsilon).delta.upper
            assert certified >= exact, (analysis, epsilon)
        certified = accountant.certify("shuffle", hidden, 3, epsilon).delta.upper
        assert certified <= named * (1 + 1e-6)
        if blank is None and epsilon == EPSILONS[0] and channel != BIT:
            assert certified <= 1.04 * exact  # 1.000 for whole answers
        local = accountant.certify("local", hidden, None, epsilon).delta.upper
        assert named <= local <= named * (1 + 1e-9) + 1e-15


@pytest.mark.filterwarnings("error")
def test_the_smallest_epsilon_of_all_is_bounded_without_a_warning():
    """A denormal, where what a decisive value has to spare overflows in a quotient."""
    hidden = sample(BitFlip.at_least(0.4), 0.5, 1)
    exact = worst(BitFlip.at_least(0.4), 3, Fraction(1, 2), 1, 0.0)
    named = alone(BitFlip.at_least(0.4), Fraction(1, 2), 1, 0.0)
    certified = accountant.certify("seat", hidden, 3, 5e-324).delta.upper
    assert exact <= certified <= named * (1 + 1e-9)


def of_counts(hidden, people, x, crowd):
    """The law of how many send each report; all others hold the answer `crowd`."""
    counts = [c for c in product(range(people), repeat=3) if sum(c) == people - 1]
    chances = multinomial.pmf(counts, people - 1, hidden.matrix[:, crowd])
    law = defaultdict(float)
    for count, chance in zip(counts, chances, strict=True):
        for report, share in enumerate(hidden.matrix[:, x]):
            law[tuple(np.add(count, np.eye(3, dtype=int)[report]))] += chance * share
    return law


@pytest.mark.parametrize("rate", one_in(2, [0.5, 0.1]))
def test_what_is_certified_is_nearly_attained(rate):
    """Forty people, of whom all others hold one answer: within 40 per cent of delta."""
    hidden = sample(FLIP, rate)
    for epsilon in (0.1, 0.3):
        attained = 0.0
        for x, crowd in product((0, 1), repeat=2):
            p, q = (of_counts(hidden, 40, each, crowd) for each in (x, 1 - x))
            attained = max(
                attained, sum(max(c - math.exp(epsilon) * q[s], 0) for s, c in p.items())
            )
        certified = accountant.certify("shuffle", hidden, 40, epsilon).delta.upper
        assert attained <= certified <= 1.4 * attained


@pytest.mark.parametrize("channel", [FLIP, CHOICE])
def test_the_formula_of_amplification_bounds_blank_reports_and_is_attained(channel):
    """delta at ln(1 + rate (e^epsilon - 1)) is rate times that of the channel, if x' is blank."""
    rate = Fraction(1, 4)
    for epsilon in (0.2, 0.7, 1.0):
        smaller = math.log1p(float(rate) * math.expm1(epsilon))
        bound = float(rate) * alone(channel, 1, None, epsilon)
        exact = alone(channel, rate, 0, smaller)
        assert math.isclose(exact, bound, rel_tol=1e-9)


def test_wrong_amplifications_are_rejected():
    """Rate times delta at a smaller epsilon, where it is visible who takes part."""
    rate, epsilon = Fraction(1, 4), 1.0
    smaller = math.log1p(float(rate) * math.expm1(epsilon))
    claimed = float(rate) * alone(FLIP, 1, None, epsilon)
    assert alone(FLIP, rate, None, smaller) > 1.1 * claimed  # nothing is visible as nothing
    assert alone(FLIP, 1, None, smaller) > 4 * claimed  # she is known to take part
    halved = accountant.certify("shuffle", sample(FLIP, 0.25), 3, smaller).delta.upper / 2
    assert worst(FLIP, 3, rate, None, smaller) > halved  # a bound of half the size
    # The same epsilon with rate times delta does not hold for blank reports that are not hidden by
    # the crowd: it is far above what is attained, so it is not what is certified.
    loose = float(rate) * alone(FLIP, 1, None, smaller)
    certified = accountant.certify("local", sample(FLIP, 0.25, 0), None, smaller).delta.upper
    assert certified < 0.9 * loose


def test_one_coin_for_two_reports_is_not_a_composition():
    """Enumerated: whoever sees both reports of a person learns more than the composed curve."""
    rate, epsilon = Fraction(1, 8), 0.8
    laws = []
    for x in (0, 1):
        law = defaultdict(Fraction)
        for (r, a), (s, b) in product(law_of(FLIP, x).items(), repeat=2):
            law[r, s] += rate * a * b
        for (r, a), (s, b) in product(law_of(FLIP, 0).items(), repeat=2):
            law[r, s] += (1 - rate) * a * b
        laws.append(law)
    one_coin = max(delta(*laws, epsilon), delta(*laws[::-1], epsilon))
    twice = Contribution.of(Schema.of([Part(Domain(2, 1, 1), sample(FLIP, rate, 0))]), 2)
    assert one_coin > 0.005 > accountant.certify("local", twice, None, epsilon).delta.upper


def test_a_hidden_sample_is_far_better_than_a_public_one_of_the_same_size():
    tenth = accountant.smallest_epsilon("shuffle", sample(FLIP, 0.1), 10_000, 1e-6)
    public = accountant.smallest_epsilon("shuffle", FLIP, 1_000, 1e-6)
    assert tenth < 0.2 * public


def test_estimates_are_unbiased():
    for blank in (None, 0):
        hidden = sample(CHOICE, 0.25, blank)
        assert np.allclose(hidden.inverse @ hidden.matrix, np.eye(3))


def test_public_participation_is_refused_with_the_reason():
    with pytest.raises(PrivacyError, match="whatever the rate"):
        HiddenSample.of(FLIP, 0.1, participation="public")


def test_a_hidden_sample_is_alone_in_its_report():
    hidden = Part(Domain(2, 1, 1), sample(FLIP, 0.1))
    with pytest.raises(PrivacyError, match="one coin"):
        Schema.of([hidden, hidden])
    with pytest.raises(PrivacyError, match="one coin"):
        Schema.of([hidden, Part(Domain(1, 0, 1), FLIP)])


def test_the_rate_is_rounded_up():
    assert sample(FLIP, 0.1).rate >= 0.1
    assert sample(FLIP, 2.0**-40).rate == 2.0**-32


def test_a_rate_that_is_rounded_up_to_1_is_refused_for_that_reason():
    """It lies between 0 and 1, so this cannot be what is wrong."""
    with pytest.raises(PrivacyError, match="4294967295") as caught:
        sample(FLIP, 1 - 2.0**-40)
    assert "between 0 and 1" not in str(caught.value)
    assert sample(FLIP, 1 - 2.0**-32).numerator == 2**32 - 1
