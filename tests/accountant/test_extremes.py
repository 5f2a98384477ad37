"""Extreme parameters: no warning, no fault, and bounds stay bounds, whatever is asked."""

import math
import random
import warnings

import pytest

from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import certify, smallest_epsilon, smallest_noise
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.errors import IncrowdError
from incrowd.guarantees.certified import recertify
from incrowd.planner.plan import make_plan
from incrowd.survey import Survey
from tests.conftest import one_in

HALF = DENOMINATOR // 2
CROWDS = [2, 3, 20, 70, 1000, 10**5, 10**9]
DELTAS = [5e-324, 1e-300, 1e-100, 1e-12, 1e-6, 0.1, 0.99]
ROUNDING = 1e-9


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def noise(draw):
    ends = [1, 2, 100, HALF - 1, HALF - 2, HALF - 1000, HALF - 10**6]
    return BitFlip(draw.choice([*ends, draw.randrange(1, HALF), int(HALF ** draw.random())]))


def channel(draw, domain):
    ones = [1, DENOMINATOR - 1, HALF - 1, HALF + 1, draw.randrange(1, DENOMINATOR)]
    if draw.random() < 0.15:
        return Bit(draw.choice(ones), draw.choice(ones))
    if domain[1:] == (1, 1) and draw.random() < 0.3:
        least = DENOMINATOR // domain.bits + 1
        return KAry(draw.choice([least, least + 1, DENOMINATOR - 1]), domain.bits)
    return noise(draw)


def schema(draw):
    if draw.random() < 0.5:
        return Schema.uniform([FREE_BIT] * draw.choice([1, 1, 2, 3, 13, 40, 64]), noise(draw))
    parts = []
    for _ in range(draw.choice([1, 1, 2])):
        bits = draw.choice([2, 3, 5, 10])
        domain = draw.choice([Domain(bits, 0, draw.randint(1, 2)), Domain(bits, 1, 1)])
        parts += [Part(domain, channel(draw, domain))] * draw.choice([1, 1, 2])
    return Schema.of(parts)


def setting(seed):
    """What is sent, a crowd, epsilon, delta and an analysis."""
    draw = random.Random(seed)
    sent = Contribution.of(schema(draw), draw.choice([1, 1, 1, 2, 20]))
    if draw.random() < 0.15:
        sent = sent.also(Contribution.of(schema(draw)))
    local = min(sent.local_epsilon, 690.0)
    epsilons = [0.0, 1e-300, 1e-9, 1e-3, 0.1, 1.0, 15.0, 102.0, 699.0]
    epsilons += [local, local / 3, local * (1 - 10 ** -draw.uniform(1, 15))] * 2
    question = draw.choice([certified, bounded, likely, calibrated, planned_noise])
    return question, (
        draw.choice(list(ANALYSES)),
        sent,
        draw.choice(CROWDS),
        draw.choice(epsilons),
        draw.choice(DELTAS),
    )


def certified(analysis, sent, crowd, epsilon, _):
    found = certify(analysis, sent, crowd, epsilon).delta
    assert 0 <= found.lower <= found.upper <= 1
    assert found.lower <= found.estimate * (1 + ROUNDING) <= found.upper * (1 + 3 * ROUNDING)
    if analysis in ("exact", "outlier"):  # what is reached is no more than what is proved
        for proved in ("blanket", "local"):
            upper = certify(proved, sent, crowd, epsilon).delta.upper
            assert found.lower <= upper * (1 + ROUNDING)


def bounded(analysis, sent, crowd, epsilon, _):
    lower = certify(analysis, sent, crowd, epsilon).delta.lower
    assert ANALYSES[analysis].bound(sent, crowd, epsilon) >= lower * (1 - ROUNDING)


def likely(analysis, sent, crowd, epsilon, _):
    assert 0 <= ANALYSES[analysis].eta(sent, crowd, epsilon) <= 1


def calibrated(analysis, sent, crowd, _, delta):
    epsilon = smallest_epsilon(analysis, sent, crowd, delta)
    assert 0 <= epsilon < math.inf
    if epsilon < 700:
        assert certify(analysis, sent, crowd, epsilon).delta.upper <= delta * (1 + 1e-6)


def planned_noise(analysis, sent, crowd, epsilon, delta):
    domains = [part.domain for part, count in sent.parts][:3]

    def family(flip):
        return Contribution.of(Schema.uniform(domains, flip), min(sent.copies, 3))

    flip = smallest_noise(analysis, family, crowd, epsilon, delta)
    assert certify(analysis, family(flip), crowd, epsilon).delta.upper <= delta


def sweep(first, number):
    """How many settings got an answer; the others a refusal in words."""
    answered = 0
    for seed in range(first, first + number):
        try:
            question, asked = setting(seed)
            question(*asked)
            answered += 1
        except IncrowdError as error:
            assert str(error.problems[0].message)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    return answered


@pytest.mark.slow
def test_every_analysis_takes_extremes():
    assert sweep(60, 20) >= 6


@pytest.mark.slow
def test_every_analysis_takes_many_extremes():
    assert sweep(10_000, 400) >= 160


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "bits", "crowd", "epsilon", "copies"),
    one_in(
        3, [(0.12944715070329077, 13, 2, 15.0, 2), (2.6e-4, 1, 20, 102.0, 1), (1e-9, 1, 2, 0.1, 3)]
    ),
)
def test_what_once_was_a_fault_or_a_warning(noise, bits, crowd, epsilon, copies):
    sent = Contribution.of(Schema.uniform([FREE_BIT] * bits, BitFlip.at_least(noise)), copies)
    for analysis in ("blanket", "outlier", "local"):
        certified(analysis, sent, crowd, epsilon, None)
        likely(analysis, sent, crowd, epsilon, None)


def planned(questions, **privacy):
    survey = {"name": "s", "crowd": privacy.pop("crowd", 20_000), "privacy": privacy}
    return make_plan(Survey.of(survey | {"question": questions}))


MOST = {"kind": "bit flip", "noise": (HALF - 1) / DENOMINATOR}
YES_NO, TEXT = {"id": "a", "type": "yesno"}, {"id": "b", "type": "text"}


@pytest.mark.parametrize(
    ("questions", "privacy"),
    [
        ([YES_NO], {"epsilon": 1.0, "delta": 5e-324}),
        pytest.param([YES_NO], {"epsilon": 1e-9, "delta": 1e-300}, marks=pytest.mark.slow),
        ([YES_NO], {"epsilon": 2.0**-29, "delta": 1e-300, "crowd": 2}),
        ([YES_NO | {"randomizer": MOST}], {"epsilon": 1.0, "delta": 1e-6}),
        ([TEXT | {"randomizer": MOST}], {"epsilon": 1.0, "delta": 1e-6}),
        ([TEXT | {"randomizer": MOST}, YES_NO], {"epsilon": 1.0, "delta": 1e-6}),
    ],
)
def test_a_plan_with_noise_next_to_one_half_keeps_its_promise(questions, privacy):
    try:
        plan = planned(questions, **privacy)
    except IncrowdError as error:
        assert error.problems[0].field in ("privacy", "delta")
        return
    assert recertify(plan).delta.upper <= privacy["delta"]


@pytest.mark.slow
def test_a_text_question_with_a_device_of_its_own_in_a_message_of_its_own():
    questions = [TEXT | {"randomizer": {"kind": "bit flip", "noise": 0.25}}, YES_NO]
    survey = {"name": "s", "crowd": 20_000, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    survey["message"] = [{"questions": ["b"]}, {"questions": ["a"]}]
    plan = make_plan(Survey.of(survey | {"question": questions}))
    assert plan.messages[0].noise_numerator is None


@pytest.mark.parametrize("numerator", [1, 100, HALF // 2, HALF - 10**6, HALF - 1000, HALF - 1])
def test_phi_less_one_keeps_its_digits(numerator):
    """Against integers: (p - q)^2 / (p q), which is p/q + q/p - 2."""
    rest = DENOMINATOR - numerator
    exact = (rest - numerator) ** 2 / (rest * numerator)
    assert BitFlip(numerator).excess == pytest.approx(exact, rel=1e-15)
    part = Part(Domain(1, 0, 1), BitFlip(numerator))
    assert math.expm1(part.log_phi) == pytest.approx(exact, rel=1e-13)
    assert BitFlip(numerator).logit == pytest.approx(math.log1p(-1 + numerator / rest), rel=1e-6)
