"""Plans: canonical, digested, refused when changed; the local noise keeps its promise."""

import hashlib
import json
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd import Plan, PlanError, PrivacyError, Survey, plan
from incrowd.accounting import local
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from tests.test_survey import GOOD


@pytest.fixture
def made():
    return plan(Survey.of(GOOD))


def test_digest_is_the_sha256_of_canonical_json(made):
    text = json.dumps(json.loads(made.dumps())["plan"], sort_keys=True, separators=(",", ":"))
    assert made.digest == hashlib.sha256(text.encode()).hexdigest()
    assert Plan.loads(made.dumps()) == made


def test_equal_surveys_give_equal_digests(made):
    reordered = dict(reversed(GOOD.items()))
    assert plan(Survey.of(reordered)).digest == made.digest
    assert plan(Survey.of(GOOD | {"crowd": 101})).digest != made.digest


def test_an_edited_plan_is_refused(made):
    noise = str(made.messages[0].noise_numerator)
    for old, new in [(noise, str(int(noise) - 1)), ('"A"', '"B"'), (made.digest, "0" * 64)]:
        assert old in made.dumps()
        with pytest.raises(PlanError, match="edited"):
            Plan.loads(made.dumps().replace(old, new))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"plan": {}}', '{"plan": 3, "digest": ""}']
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(PlanError):
        Plan.loads(text)


def test_files_that_are_no_plans(tmp_path):
    with pytest.raises(PlanError, match="No such file"):
        Plan.load(tmp_path / "none.json")
    (tmp_path / "p.json").write_bytes(b"\xff\x00")
    with pytest.raises(PlanError):
        Plan.load(tmp_path / "p.json")


def test_layout(made):
    message = made.messages[0]
    assert made.layout(message) == {
        "a": slice(0, 1),
        "b": slice(1, 4),
        "c": slice(4, 7),
        "d": slice(7, 10),
    }
    assert made.bits(message) == 10


def exact_epsilon(numerator, flips):
    """d ln(p/q) to 40 digits."""
    with mpmath.workdps(40):
        return flips * mpmath.log(mpmath.mpf(DENOMINATOR - numerator) / numerator)


@given(st.floats(1e-3, 30), st.integers(1, 64), st.integers(1, 50))
def test_local_noise_is_the_smallest_that_keeps_the_promise(epsilon, distance, copies):
    """Oracle: mpmath. The noise one step lower must not keep it, but for the rounding of a step."""
    try:
        noise = local.noise(epsilon, distance, copies).numerator
    except PrivacyError:  # less than one step of noise below 1/2
        assert exact_epsilon(DENOMINATOR // 2 - 1, distance * copies) > epsilon * (1 - 1e-6)
        return
    assert exact_epsilon(noise, distance * copies) <= epsilon
    assert noise < 3 or exact_epsilon(noise - 2, distance * copies) > epsilon
    assert local.epsilon(BitFlip(noise), distance, copies) >= exact_epsilon(
        noise, distance * copies
    )


@given(st.floats(1e-9, 0.4999))
def test_noise_is_rounded_up(q):
    numerator = BitFlip.at_least(q).numerator
    assert Fraction(numerator, DENOMINATOR) >= Fraction(q) > Fraction(numerator - 1, DENOMINATOR)


@pytest.mark.parametrize("q", [0, -1, 0.5, 1, float("nan")])
def test_noise_out_of_range(q):
    with pytest.raises(PrivacyError):
        BitFlip.at_least(q)


def test_sufficient_dp_4_3():
    """The paper's example: L = 5, lambda = 2 gives q = 0.465."""
    assert local.noise(float(mpmath.log(2)), 5).q == pytest.approx(0.465, abs=5e-4)
