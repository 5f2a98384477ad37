"""The noise that services add: as small as each view allows, and no smaller."""

import math
from contextlib import suppress

import pytest

from incrowd.accountant import (
    AdditiveNoise,
    BitFlip,
    Contribution,
    Domain,
    Schema,
    added_noise,
    certify,
)
from incrowd.errors import PrecisionError, PrivacyError
from tests.conftest import one_in

SMALL, SMALLER = (2.0, 1e-5), (1.0, 1e-6)


def learned(laws, shifts, epsilon, beside=None, crowd=None):
    sent = beside or Contribution(())
    for law, cells in zip(laws, shifts, strict=True):
        sent = sent.also(Contribution((), shifts=((law, cells),)))
    return certify("shuffle", sent, crowd, epsilon).delta.upper


@pytest.mark.parametrize(
    ("promise", "shifts", "deviation", "published"),
    [
        (SMALL, 1, 0.61, 0.86),
        (SMALL, 2, 1.36, 1.92),
        (SMALL, 4, 2.80, 3.96),
        (SMALLER, 1, 1.36, 1.92),
        (SMALLER, 2, 2.80, 3.96),
        (SMALLER, 4, 5.65, 7.98),
    ],
)
def test_noise_is_as_small_as_that_of_a_pure_laplace_law(promise, shifts, deviation, published):
    epsilon, delta = promise
    (law,) = added_noise([shifts], [1.0], epsilon, delta)
    assert law.deviation <= deviation and math.sqrt(2) * law.deviation <= published
    assert learned([law], [shifts], epsilon) <= delta
    pure = 1 / (math.cosh(epsilon / shifts) - 1)  # the variance of a discrete Laplace law
    assert law.variance <= 1.001 * pure
    assert learned([law.plus(law)], [shifts], epsilon) < delta


@pytest.mark.parametrize(
    ("shifts", "times", "published"), [(1, 1.4, 0.61), (2, 1.7, 1.37), (4, 2.3, 2.81)]
)
def test_readers_have_the_precision_of_a_trusted_curator(shifts, times, published):
    """If each service alone may learn more, the sum of both is one discrete Laplace variable."""
    (law,) = added_noise([shifts], [1.0], 2.0, 1e-5, service_epsilon=2 * times)
    assert math.sqrt(2) * law.deviation <= published
    assert learned([law], [shifts], 2 * times) <= 1e-5
    assert learned([law.plus(law)], [shifts], 2.0) <= 1e-5


def laws_of(deviation, mosts):
    """Laplace and Gaussian laws of a standard deviation, with edges here and there."""
    loss = math.acosh(1 + 1 / deviation**2)
    for most in mosts:
        with suppress(PrivacyError):  # an edge below 2^-64
            yield AdditiveNoise.laplace(loss, most=most)
            yield AdditiveNoise.gaussian(deviation, most=most)


@pytest.mark.parametrize("shifts", one_in(5, [1, 2, 4, 8, 20]))
@pytest.mark.parametrize("times", [1.0, 1.2])
def test_no_law_with_less_noise_keeps_the_promise(shifts, times):
    """A standard deviation that is one percent smaller, with any edge."""
    epsilon, delta = 1.0, 1e-5
    (law,) = added_noise([shifts], [1.0], epsilon, delta, service_epsilon=times * epsilon)
    tried = 0
    for less in laws_of(0.99 * law.deviation, range(4, 2 * law.most, 6)):
        service = learned([less], [shifts], times * epsilon)
        readers = learned([less.plus(less)], [shifts], epsilon)
        assert max(service, readers) > delta
        tried += 1
    assert tried > 10


def test_fewer_invented_messages_would_show_the_edge():
    (law,) = added_noise([1], [1.0], 2.0, 1e-5)
    shorter = AdditiveNoise.laplace(2.0, most=law.most - 2)
    assert learned([shorter], [1], 2.0) > 1e-5


def test_messages_share_the_noise_in_proportion():
    laws = added_noise([2, 2, 1], [1.0, 4.0, 1.0], 2.0, 1e-6)
    assert laws[0] == laws[2]
    assert laws[1].variance == pytest.approx(4 * laws[0].variance, rel=0.02)
    assert 0.5e-6 < learned(laws, [2, 2, 1], 2.0) <= 1e-6
    alone = added_noise([5], [1.0], 2.0, 1e-6)
    assert laws[0].variance < alone[0].variance < laws[1].variance


def test_equal_variances_have_one_law():
    laws = added_noise([2, 2, 1], [3.0] * 3, 2.0, 1e-5)
    assert len(set(laws)) == 1
    (law,) = added_noise([5], [7.0], 2.0, 1e-5)
    assert laws[0].deviation == pytest.approx(law.deviation, rel=1e-3)


@pytest.mark.slow
def test_what_is_sent_beside_the_counts_takes_its_part():
    flips = Contribution.of(Schema.uniform([Domain(1, 0, 1)], BitFlip.at_least(0.3)), 2)
    earlier = Contribution((), shifts=((AdditiveNoise.laplace(0.3, most=90), 2),))
    (alone,) = added_noise([2], [1.0], 2.0, 1e-5)
    for beside, crowd in ((flips, 500), (earlier, None), (flips.also(earlier), 500)):
        (law,) = added_noise([2], [1.0], 2.0, 1e-5, beside=beside, crowd=crowd)
        assert law.variance > alone.variance
        assert 0.5e-5 < learned([law], [2], 2.0, beside, crowd) <= 1e-5
    (fewer,) = added_noise([2], [1.0], 2.0, 1e-5, beside=flips, crowd=100)
    (more,) = added_noise([2], [1.0], 2.0, 1e-5, beside=flips, crowd=10_000)
    assert fewer.variance > more.variance
    # Readers see both noises of what was asked earlier, too.
    (law,) = added_noise([2], [1.0], 2.0, 1e-5, service_epsilon=3.0, beside=earlier)
    both = earlier.shifts[0][0].plus(earlier.shifts[0][0])
    readers = Contribution((), shifts=((both, 2),))
    assert learned([law], [2], 3.0, earlier) <= 1e-5
    assert learned([law.plus(law)], [2], 2.0, readers) <= 1e-5


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 8.0, 30.0, 200.0])
def test_any_epsilon_has_a_noise(epsilon):
    for shifts in (1, 3):
        (law,) = added_noise([shifts], [1.0], epsilon, 1e-6)
        assert law.reach >= 1 and learned([law], [shifts], epsilon) <= 1e-6


def test_tiny_deltas_have_a_noise_down_to_the_denominator():
    (law,) = added_noise([2], [1.0], 1.0, 1e-14)
    assert learned([law], [2], 1.0) <= 1e-14
    with pytest.raises(PrecisionError, match="smallest that can be certified for 2 shifted counts"):
        added_noise([2], [1.0], 1.0, 1e-15)


def test_what_cannot_be_promised_is_refused():
    flips = Contribution.of(Schema.uniform([Domain(1, 0, 1)], BitFlip.at_least(0.01)))
    with pytest.raises(PrivacyError, match="everything else that one person sends already has"):
        added_noise([2], [1.0], 1.0, 1e-6, beside=flips, crowd=10)
    with pytest.raises(PrivacyError, match="crowd: missing"):
        added_noise([2], [1.0], 1.0, 1e-6, beside=flips)
    with pytest.raises(PrivacyError, match="more than 40,000 invented messages"):
        added_noise([2], [1.0], 1e-4, 1e-9)
    with pytest.raises(PrivacyError, match="at least epsilon"):
        added_noise([2], [1.0], 1.0, 1e-6, service_epsilon=0.5)
    with pytest.raises(PrivacyError, match="one for each"):
        added_noise([2, 1], [1.0], 1.0, 1e-6)
    with pytest.raises(PrivacyError, match="greater than 0"):
        added_noise([2], [0.0], 1.0, 1e-6)
    with pytest.raises(PrivacyError, match="greater than 0"):
        added_noise([2], [1.0], 0.0, 1e-6)
    with pytest.raises(PrivacyError, match="at least 1"):
        added_noise([0], [1.0], 1.0, 1e-6)
    with pytest.raises(PrivacyError, match="strictly between 0 and 1"):
        added_noise([2], [1.0], 1.0, 1.0)
