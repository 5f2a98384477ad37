"""What one person sends: reports of several schemas, counted together."""

import math
from functools import reduce

import pytest

from incrowd.accountant import AdditiveNoise, Alternatives
from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import assess, certify, privacy_curve, smallest_epsilon
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema, as_contribution
from incrowd.errors import ArgumentError, PrivacyError
from tests.accountant.conftest import choice, everything, flip, free

# What it is


def test_equal_schemas_are_counted_together():
    sent = everything((free(0.2), 2), (free(0.3), 1), (free(0.2), 3))
    assert dict(sent.reports) == {free(0.2): 5, free(0.3): 1}
    assert sent == everything((free(0.3), 1), (free(0.2), 5))
    assert sent.copies == 6 and sent.single is None
    assert (
        Contribution.of(free(0.2)).single == free(0.2)
        and Contribution.of(free(0.2), 2).single is None
    )
    assert (
        as_contribution(free(0.2)) == Contribution.of(free(0.2)) and as_contribution(sent) is sent
    )
    parts = {part: count for part, count in everything((free(0.2, 3), 2), (free(0.2), 1)).parts}
    assert parts == {Part(FREE_BIT, flip(0.2)): 7}


def test_local_epsilons_add_up():
    sent = everything((free(0.2, 2), 3), (Schema.uniform([choice(4)], flip(0.3)), 2))
    exact = 6 * math.log(0.8 / 0.2) + 4 * math.log(0.7 / 0.3)
    assert sent.local_epsilon == pytest.approx(exact, rel=1e-8)
    assert certify("local", sent, 2, sent.local_epsilon).delta.upper == 0.0


def test_a_schema_by_itself_is_one_report():
    for analysis in ANALYSES:
        for figure in (certify, assess):
            bare, sent = (
                figure(analysis, s, 30, 0.4) for s in (free(0.3), Contribution.of(free(0.3)))
            )
            assert bare == sent
    assert smallest_epsilon("blanket", free(0.3), 300, 1e-5) == smallest_epsilon(
        "blanket", Contribution.of(free(0.3)), 300, 1e-5
    )


def test_one_report_is_not_composed():
    """The sharp engine: the composition is close to it, and above it."""
    report = free(0.3, 4)
    sharp = certify("blanket", report, 3000, 0.5).delta
    composed = privacy_curve("blanket", report, 3000).delta(0.5)
    assert sharp.lower <= composed <= 1.05 * sharp.upper
    assert sharp.upper / sharp.lower < 1.001


def test_shifts_of_equal_noise_are_counted_together():
    one, other = AdditiveNoise.laplace(1.0, most=20), AdditiveNoise.gaussian(2.0, most=20)
    shifts = [Contribution((), shifts=((law, n),)) for law, n in ((one, 2), (other, 1), (one, 3))]
    sent, again = (reduce(Contribution.also, each) for each in (shifts, shifts[::-1]))
    assert dict(sent.shifts) == {one: 5, other: 1}
    assert sent == again and hash(sent) == hash(again) and sent.shifted == 6
    assert sent.copies == 0 and sent.single is None and sent.parts == () and sent.every == ()
    assert sent.local_epsilon == math.inf and not sent.needs_crowd
    both = sent.also(Contribution.of(free(0.2)))
    assert both.copies == 1 and both.single is None and both.needs_crowd
    assert both != Contribution.of(free(0.2)) and dict(both.parts) == {Part(FREE_BIT, flip(0.2)): 1}
    assert Alternatives((sent, Contribution.of(free(0.2)))).local_epsilon == math.inf
    with pytest.raises(ArgumentError, match="shifts"):
        Contribution((), shifts=((one, 0),))


# Extremes


def test_wrong_numbers_of_copies():
    with pytest.raises(PrivacyError, match="at least 1"):
        Contribution.of(free(0.3), 0)


def test_unknown_analyses_are_named():
    for figure in (certify, assess):
        with pytest.raises(PrivacyError, match="use one of"):
            figure("magic", Contribution.of(free(0.3), 2), 100, 1.0)
    with pytest.raises(PrivacyError, match="only reports of one bit"):
        certify("exact", Contribution.of(free(0.3, 2), 2), 100, 1.0)
    with pytest.raises(PrivacyError, match="shuffle or seat or blanket or outlier or exact"):
        privacy_curve("local", free(0.3), 100)
    with pytest.raises(PrivacyError, match="shuffle or local"):
        certify("outlier", Schema.uniform([FREE_BIT], Warner.from_probability(0.3)), 100, 1.0)
