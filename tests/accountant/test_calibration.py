"""The least noise and the least epsilon that keep a promise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incrowd.accountant.analyses import ANALYSES, analysis
from incrowd.accountant.certificates import (
    _before_redraws,
    certify,
    clearly_keeps,
    smallest_epsilon,
    smallest_noise,
    smallest_noise_for_eta,
)
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.pairs import pair_eta, papers_pair
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.accountant.search import first_below
from incrowd.errors import PrecisionError, PrivacyError
from tests.accountant.conftest import choice, everything, flip, free, same_noise
from tests.conftest import examples, one_in, slowly
from tests.oracles import expected

# Calibration


def scaled(reference, times):
    """The bit flip whose phi - 1 is that of the reference, divided."""
    spread = reference.p * reference.q / (reference.p - reference.q) ** 2 * times
    q = 0.5 * (1 - 1 / math.sqrt(1 + 4 * spread))
    return BitFlip(min(math.ceil(q * DENOMINATOR), DENOMINATOR // 2 - 1))


def mixed(reference):
    """Three messages with different noise, one of them sent three times."""
    return everything(
        (Schema.uniform([FREE_BIT] * 2, reference), 1),
        (Schema.uniform([choice(5)], scaled(reference, 2.0)), 3),
        (Schema.uniform([Domain(6, 0, 2)], scaled(reference, 0.5)), 1),
    )


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["blanket", "local", *slowly("outlier")])
def test_messages_scaled_together(analysis):
    """The noise holds; half a per cent less does not."""
    found = smallest_noise(analysis, mixed, 20_000, 1.0, 1e-5)
    assert certify(analysis, mixed(found), 20_000, 1.0).delta.upper <= 1e-5
    less = BitFlip(int(found.numerator * 0.995))
    assert certify(analysis, mixed(less), 20_000, 1.0).delta.estimate > 1e-5 * (analysis != "local")
    if analysis == "local":
        assert mixed(found).local_epsilon <= 1.0 < mixed(less).local_epsilon


@pytest.mark.parametrize(("bits", "crowd"), [(1, 5000), *slowly((2, 300), (8, 20_000))])
def test_what_clearly_keeps_a_promise_does(bits, crowd):
    """Never with less than the smallest noise; with a tenth more always."""
    promise = crowd, 1.0, 1e-6

    def sent(flip):
        return everything((Schema.uniform([FREE_BIT], flip), bits))

    found = smallest_noise("shuffle", sent, *promise)
    less, more = (BitFlip(int(found.numerator * share)) for share in (0.995, 1.1))
    assert not clearly_keeps("shuffle", sent(less), *promise)
    assert clearly_keeps("shuffle", sent(more), *promise)


def test_local_noise_is_exact():
    for epsilon in (0.02, 1.0, 40.0):
        found = smallest_noise("local", lambda f: Contribution.of(free(f.q, 3), 2), 2, epsilon, 0.1)
        exact = DENOMINATOR / (1 + math.exp(epsilon / 6))
        assert abs(found.numerator - exact) <= 2
        assert Contribution.of(free(found.q, 3), 2).local_epsilon <= epsilon


@pytest.mark.slow
def test_a_family_may_give_schemas():
    bare = smallest_noise("blanket", lambda f: free(f.q, 2), 1000, 1.0, 1e-5)
    assert bare == smallest_noise(
        "blanket", lambda f: Contribution.of(free(f.q, 2)), 1000, 1.0, 1e-5
    )


def with_device(channel):
    return lambda f: everything((Schema.of([Part(FREE_BIT, channel)]), 1), (free(f.q), 1))


@pytest.mark.slow
def test_fixed_randomizers_are_part_of_the_family():
    device = Simmons.from_probabilities(0.8, 0.3)
    family = with_device(device)
    found = smallest_noise("blanket", family, 5000, 1.0, 1e-6)
    alone = smallest_noise("blanket", lambda f: free(f.q), 5000, 1.0, 1e-6)
    assert found > alone
    assert certify("blanket", family(found), 5000, 1.0).delta.upper <= 1e-6


@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_fixed_randomizers_that_break_the_promise_are_named(analysis):
    device = Simmons.from_probabilities(0.01, 0.3)
    with pytest.raises(PrivacyError) as error:
        smallest_noise(analysis, with_device(device), 300, 1.0, 1e-6)
    (problem,) = error.value.problems
    assert problem.field == "privacy"
    assert "fixed randomizers" in str(problem) and str(device) in str(problem)


def test_a_promise_out_of_reach_without_fixed_randomizers():
    with pytest.raises(PrivacyError) as error:
        smallest_noise("blanket", lambda f: free(f.q, 60), 3, 1e-12, 1e-290)
    assert "no noise below 1/2" in str(error.value)
    assert "fixed" not in str(error.value)


@pytest.mark.slow
def test_noise_for_eta_of_several_messages():
    family = lambda f: everything((free(f.q, 2), 2), (free(f.q), 1))  # noqa: E731
    found = smallest_noise_for_eta("blanket", family, 10**4, 1.0, 1e-4)
    assert ANALYSES["blanket"].eta_bound(family(found), 10**4, 1.0) <= 1e-4
    less = BitFlip(int(found.numerator * 0.995))
    assert ANALYSES["blanket"].eta_bound(family(less), 10**4, 1.0) > 1e-4


def test_epsilon_and_delta_of_several_messages_are_inverse():
    sent = mixed(flip(0.3))
    epsilon = smallest_epsilon("blanket", sent, 20_000, 1e-6)
    assert certify("blanket", sent, 20_000, epsilon).delta.upper <= 1e-6 * (1 + 1e-9)
    assert certify("blanket", sent, 20_000, epsilon * 0.99).delta.upper > 1e-6


@pytest.mark.slow
def test_few_certificates_are_needed(monkeypatch):
    """All relations are tried at the end only: once or twice, however many there are."""
    asked, outlier = [], ANALYSES["outlier"]
    certificate = outlier.certificate

    def counted(sent, crowd, epsilon):
        asked.append(sent)
        return certificate(sent, crowd, epsilon)

    monkeypatch.setattr(outlier, "certificate", counted)
    smallest_noise("outlier", lambda f: free(f.q, 12), 10**4, 1.0, 1e-5)
    assert 1 <= len(asked) <= 3


# The search


@given(
    st.floats(-21.0, -1e-8),
    st.floats(0.05, 50.0),
    st.floats(-20.0, -1e-6),
    st.sampled_from(["line", "bend", "steps"]),
)
@example(-1e-8, 1.0, -1.0000000000000002e-06, "steps")  # once found with the slope of a guess
@examples(150)
def test_search_finds_the_first_noise_below(root, steep, start, shape):
    """Any falling height: the noise found holds, and hardly less does not."""
    heights = {
        "line": lambda logit: steep * (root - logit),
        "bend": lambda logit: steep * (math.exp(min(root - logit, 50.0)) - 1),
        "steps": lambda logit: steep * (math.floor((root - logit) * 1e3) + 0.5),
    }
    height = heights[shape]
    found, _ = first_below(lambda f: height(f.logit), BitFlip.from_logit(start), -1.0, 1e-6)
    assert found is not None and height(found.logit) <= 0
    below = BitFlip(max(found.numerator - 1, 1))
    nearly = height(found.logit) >= -1e-6 or height(found.logit + 2e-7 * found.logit) > 0
    assert nearly or below == found or height(below.logit) > 0


def test_search_says_when_there_is_none():
    assert first_below(lambda f: 1.0, flip(0.3), -1.0, 1e-3)[0] is None
    assert first_below(lambda f: -1.0, flip(0.3), -1.0, 1e-3)[0] == BitFlip(1)


@pytest.mark.parametrize("case", one_in(3, expected.CALIBRATED, whole=True))
def test_calibrated_noise_lies_where_the_bound_crosses_the_wanted_delta(case):
    bits, crowd, epsilon, wanted, less, more = case
    found = smallest_noise("blanket", same_noise([FREE_BIT] * bits), crowd, epsilon, wanted)
    assert less < found.q < more


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(
    st.sampled_from(["blanket", "outlier", "local"]),
    st.integers(1, 4),
    st.integers(30, 10**6),
    st.floats(0.2, 3.0),
    st.floats(-9.0, -3.0),
)
def test_calibrated_noise_holds_and_a_little_less_does_not(analysis, bits, crowd, epsilon, power):
    domains, wanted = [FREE_BIT] * bits, 10.0**power
    channel = smallest_noise(analysis, same_noise(domains), crowd, epsilon, wanted)
    assert certify(analysis, Schema.uniform(domains, channel), crowd, epsilon).delta.upper <= wanted
    if analysis != "local" and channel.numerator > 10_000:
        less = BitFlip(int(channel.numerator * 0.9995))
        found = certify(analysis, Schema.uniform(domains, less), crowd, epsilon)
        assert found.delta.estimate > wanted


def test_noise_for_eta_keeps_the_bound_and_the_papers_pair():
    channel = smallest_noise_for_eta("blanket", same_noise([FREE_BIT] * 3), 10**4, 1.0, 1e-4)
    report = Schema.uniform([FREE_BIT] * 3, channel)
    assert ANALYSES["blanket"].eta_bound(Contribution.of(report), 10**4, 1.0) <= 1e-4
    assert pair_eta(papers_pair(report, presence=False), 10**4, 1.0) <= 1e-4


def test_epsilon_and_delta_are_inverse():
    report = free(0.3, 5)
    epsilon = smallest_epsilon("blanket", report, 5000, 1e-6)
    assert certify("blanket", report, 5000, epsilon).delta.upper <= 1e-6 * (1 + 1e-9)
    assert certify("blanket", report, 5000, epsilon * 0.999).delta.estimate > 1e-6


# Composition


@pytest.mark.slow
def test_copies_need_more_noise():
    """docs/mathematics.md#large-crowds: q must rise with k; the paper's condition (6.3) lets it
    fall (error 2)."""
    noises = [
        smallest_noise("blanket", same_noise([FREE_BIT] * 8, copies), 10**5, 1.0, 1e-6).q
        for copies in (1, 4)
    ]
    assert noises[0] < noises[1]


# Deltas that are too small for double precision.


def three_choices(flip):
    return Contribution.of(Schema.uniform([choice(4)], flip), 3)


@pytest.mark.slow
def test_the_noise_for_the_smallest_delta_is_that_of_a_crowd():
    """It continues the trend of larger deltas, whose steps hardly change.

    The incorrect variant searches for a smaller delta all the same, and finds the local epsilon.
    """

    def two_bits(flip):
        return Contribution.of(free(flip.q, 1), 2)

    crowd, epsilon = 20_000, 1.0
    noises = [
        smallest_noise("shuffle", two_bits, crowd, epsilon, delta).q
        for delta in (1e-10, 1e-11, 1e-12)
    ]
    steps = [more - less for less, more in pairwise(noises)]
    assert steps[1] == pytest.approx(steps[0], rel=0.05)
    wrong = analysis("shuffle").noise(two_bits, crowd, epsilon, 1e-16)
    assert wrong.q > 0.3 and two_bits(wrong).local_epsilon <= epsilon


@pytest.mark.parametrize(
    ("by", "family", "least"),
    [
        ("shuffle", three_choices, 1e-12),
        ("seat", three_choices, 1e-12),
        ("blanket", lambda flip: Contribution.of(Schema.uniform([FREE_BIT], flip), 8000), 8e-12),
        ("shuffle", lambda flip: flip, 1e-290),
        ("exact", lambda flip: flip, 1e-290),
    ],
)
def test_a_delta_below_what_can_be_certified_is_refused(by, family, least):
    message = f"is {least:.3g}; use that or more"
    with pytest.raises(PrecisionError, match=message) as error:
        smallest_noise(by, family, 20_000, 1.0, least / 2)
    assert error.value.exit_code == 2
    assert error.value.problems[0].field == "delta"
    with pytest.raises(PrecisionError, match=message):
        smallest_noise_for_eta(by, family, 20_000, 1.0, least / 2)


def test_without_a_crowd_any_delta_can_be_certified():
    """Linked reports, and the analysis `local`, have exact guarantees."""

    def linked(flip):
        return Contribution.of(Schema.uniform([FREE_BIT], flip), 2, linked=True)

    for by, family in (("local", three_choices), ("shuffle", linked)):
        noise = smallest_noise(by, family, 1000, 1.0, 1e-295)
        assert certify(by, family(noise), 1000, 1.0).delta.upper <= 1e-295


@pytest.mark.parametrize("copies", [2, 50, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("crowd", [1000, *slowly(20, 1_000_000)])
def test_allowances_stay_far_below_the_smallest_delta(copies, crowd):
    """At most a fifth of it, so that noise decides about the rest."""

    def family(flip):
        return Contribution.of(Schema.uniform([FREE_BIT], flip), copies)

    by = analysis("shuffle")
    least = by.least_delta(family(BitFlip(2**30)))
    noise = smallest_noise("shuffle", family, crowd, 1.0, least)
    assert by.curve(family(noise), crowd).doubt <= least / 5


@pytest.mark.slow
def test_redraws_of_earlier_rounds_raise_the_smallest_delta():
    """The incorrect variant looks for noise that gives what is left of delta: nothing."""

    def family(flip):
        return Contribution(three_choices(flip).reports, redraws=1e-12)

    assert _before_redraws(1.0, 1e-9, 1e-9)[1] < 1e-290
    with pytest.raises(PrecisionError, match=r"and the redraws of earlier rounds is (\S+); use"):
        smallest_noise("shuffle", family, 1000, 1.0, 1e-9)
    noise = smallest_noise("shuffle", family, 1000, 1.0, 3e-9)
    assert noise.q < 0.4 and certify("shuffle", family(noise), 1000, 1.0).delta.upper <= 3e-9


def exact_delta(q, crowd, epsilon):
    """delta of one bit in the worst crowd, from the laws of the number of ones alone."""
    worst, zero, one = 0.0, [1 - q, q], [q, 1 - q]
    for ones in range(crowd):
        others = np.ones(1)
        for person in range(crowd - 1):
            others = np.convolve(others, one if person < ones else zero)
        a, b = np.convolve(others, zero), np.convolve(others, one)
        for x, y in ((a, b), (b, a)):
            worst = max(worst, float(np.maximum(x - math.exp(epsilon) * y, 0).sum()))
    return worst


def test_the_search_stops_before_the_cliff_where_delta_falls_to_zero():
    """With little more noise, the local epsilon alone is enough, and delta falls to 0: secants
    across that cliff are so steep that the search ended 17% above the smallest noise."""
    found = {
        analysis: smallest_noise(analysis, lambda flip: flip, 30, 2.0, 1e-3)
        for analysis in ("shuffle", "exact", "blanket", "local")
    }
    for name in ("shuffle", "exact"):
        q = found[name].q
        assert exact_delta(q, 30, 2.0) <= 1e-3 < exact_delta(q * 0.9999, 30, 2.0)
    assert found["shuffle"] == min(found.values()) and found["blanket"] < found["local"]
    assert exact_delta(0.9 * found["exact"].q, 30, 2.0) > 4e-3  # the oracle rejects less noise


def test_no_bound_needs_more_noise_than_the_local_epsilon():
    """Within the rounding of the bounds; and shuffle not even that."""
    for crowd, epsilon, delta in [(2, 3.21, 7.8e-8), (10, 1.78, 1.6e-9)]:
        local, blanket, shuffle = (
            smallest_noise(analysis, lambda flip: flip, crowd, epsilon, delta)
            for analysis in ("local", "blanket", "shuffle")
        )
        assert shuffle <= min(local, blanket) and blanket.q < local.q * (1 + 1e-6)
