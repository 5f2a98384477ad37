"""What the pages of proofs state, in fractions, for every collection of a few people.

Only contours are rounded. Each statement has a wrong variant beside it, which the same numbers
refute.
"""

import math
from collections import defaultdict
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, pairwise, permutations, product

import numpy as np
import pytest

import incrowd
from incrowd.accountant.schema import Contribution
from incrowd.errors import SurveyError
from incrowd.plans import EarlierPlan
from incrowd.plans.ledger import Ledger
from incrowd.plans.sent import sent_by

# Laws are dicts of exact probabilities; a report is a tuple of bits, a collection their sum.


def bit(held, noise):
    """The law of one flipped bit."""
    return {(held,): 1 - noise, (1 - held,): noise}


def added(one, other):
    """The law of the sum of two independent counts."""
    total = defaultdict(Fraction)
    for (a, p), (b, r) in product(one.items(), other.items()):
        total[tuple(map(sum, zip(a, b, strict=True)))] += p * r
    return dict(total)


def beside(one, other):
    """The law of two independent collections."""
    return {(a, b): p * r for (a, p), (b, r) in product(one.items(), other.items())}


def collection(laws):
    """The law of what is published of independent reports."""
    return reduce(added, laws)


def delta(p, q, alpha):
    """The sum of max(0, P - alpha Q)."""
    return sum((max(Fraction(0), chance - alpha * q.get(s, 0)) for s, chance in p.items()))


# --- several rows of one person (docs/mathematics.md#several-rows) ---------------------------


def under_one_key(rows, noise):
    """The law of the total of one person's rows whose equal answers have equal responses."""
    different = sorted(set(rows))
    total = defaultdict(Fraction)
    for responses in product(*(bit(held, noise).items() for held in different)):
        sent = {held: report for held, (report, _) in zip(different, responses, strict=True)}
        chance = reduce(lambda a, b: a * b, (chance for _, chance in responses))
        total[sum(sent[row][0] for row in rows),] += chance
    return dict(total)


def with_own_keys(rows, noise):
    """The law of the total of rows that are answered under different keys."""
    return collection([bit(row, noise) for row in rows])


def worst_of_rows(law, people, rows, noise, alpha):
    """The largest delta over everybody's rows."""
    every = list(combinations_with_replacement((0, 1), rows))
    return max(
        delta(*(collection([*others, law(own, noise)]) for own in pair), alpha)
        for held in combinations_with_replacement(every, people - 1)
        for others in [[law(each, noise) for each in held]]
        for pair in permutations(every, 2)
    )


def composed(crowds, noises, alpha):
    """The largest delta of independent collections of one bit: all crowds and orders of each."""
    pairs = []
    for people, noise in zip(crowds, noises, strict=True):
        here = []
        for ones in range(people):
            rest = [bit(int(i < ones), noise) for i in range(people - 1)]
            here += [
                tuple(collection([*rest, bit(own, noise)]) for own in order)
                for order in ((0, 1), (1, 0))
            ]
        pairs.append(here)
    return max(
        delta(*(reduce(beside, laws) for laws in zip(*each, strict=True)), alpha)
        for each in product(*pairs)
    )


@pytest.mark.parametrize("people, rows", [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("noise", [Fraction(1, 10), Fraction(2, 5)])
def test_rows_under_one_key_have_no_guarantee(people, rows, noise):
    """At any epsilon at least p^2 + q^2. Wrong: the local guarantee of as many responses as there
    are answers, and the composition of as many collections as there are rows."""
    alpha = Fraction(10) ** 9
    assert worst_of_rows(under_one_key, people, rows, noise, alpha) >= noise**2 + (1 - noise) ** 2
    local = ((1 - noise) / noise) ** min(rows, 2)
    assert composed([1] * rows, [noise] * rows, local**2) == 0 < alpha - local**2
    assert composed([people] * rows, [noise] * rows, alpha) == 0


@pytest.mark.parametrize("noise", [Fraction(1, 5), Fraction(2, 5)])
def test_rows_under_one_key_are_local_if_the_same_rows_are_equal(noise):
    """(0, 0, 1) against (1, 1, 0), with names: two responses. Wrong: only one of them."""
    x, other = (under_one_key(rows, noise) for rows in ((0, 0, 1), (1, 1, 0)))
    odds = (1 - noise) / noise
    assert delta(x, other, odds**2) == 0 < delta(x, other, odds)


@pytest.mark.parametrize("noise", [Fraction(1, 5), Fraction(2, 5)])
@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(5, 4), Fraction(3, 2)])
def test_a_key_for_each_row_gives_the_composition(noise, alpha):
    """Three people with two rows each. Wrong: one row of a person, or all rows as the crowd."""
    truth = worst_of_rows(with_own_keys, 3, 2, noise, alpha)
    assert truth <= composed([3, 3], [noise] * 2, alpha)
    assert truth > composed([6], [noise], alpha)


@pytest.fixture(scope="module")
def diary():
    """A plan of three people with two rows each, whose noise is drawn anew."""
    return incrowd.plan(survey("diary", {"id": "mood", "type": "yesno"}, 0.4, rows_per_person=2))


@pytest.fixture(scope="module")
def panel(diary):
    """Two rounds of a permanent response of the same people."""
    ill = {"id": "ill", "type": "yesno", "memoized": True}
    earlier = Ledger().with_plan(diary, 6).asked
    return incrowd.plan(survey("panel", ill, 0.5, crowd=3, rounds=2), earlier=earlier)


def survey(name, question, most, **changes):
    privacy = {"epsilon": 2.0, "delta": most}
    raw = {"name": name, "crowd": 6, "questions": [question], "privacy": privacy, "tables": "any"}
    return incrowd.Survey.of(raw | changes)


def noise_of(plan):
    [message] = plan.messages
    return Fraction(message.channels[message.ids[0]].numerator, 2**32)


def test_rows_beside_permanent_responses_are_charged_as_they_are_sent(diary, panel):
    """Two rows of the diary and the permanent response once, against all that is published."""
    sent = sent_by(panel)
    assert isinstance(sent, Contribution) and not sent.linked
    counts = {schema.parts[0][0].channel.numerator: number for schema, number in sent.reports}
    mood, ill = noise_of(diary), noise_of(panel)
    assert counts == {mood * 2**32: 2, ill * 2**32: 1}
    assert panel.guarantee.crowd == 3
    alpha = Fraction(7389056, 10**6)  # a little less than e^2
    truth = max(
        delta(*(beside(a, b) for a, b in zip(fresh, kept, strict=True)), alpha)
        for fresh in neighbors(2, mood)
        for kept in neighbors(1, ill)
    )
    assert truth <= panel.guarantee.certified_delta <= 0.5
    forgotten = composed([3, 3], [mood, ill], alpha)
    assert truth > forgotten


def neighbors(rows, noise):
    """The laws of both collections of three people, for everybody's rows."""
    every = list(combinations_with_replacement((0, 1), rows))
    for held in combinations_with_replacement(every, 2):
        others = [with_own_keys(each, noise) for each in held]
        for pair in permutations(every, 2):
            yield [collection([*others, with_own_keys(own, noise)]) for own in pair]


def test_no_round_of_a_ledger_has_permanent_responses_in_several_rows(panel):
    """Neither in a survey nor in an earlier round of a plan."""
    entry = panel.model_copy(update={"earlier": ()}).asked.model_dump(mode="json")
    assert EarlierPlan.model_validate(entry)
    entry["survey"] |= {"rows_per_person": 2, "crowd": 6}
    with pytest.raises((SurveyError, ValueError), match="rows_per_person"):
        EarlierPlan.model_validate(entry)


# --- noise that is drawn again until it fits (docs/protocol.md#slots) ------------------------


def cells(chosen, number, noise, slots):
    """The law of one person's cells if noise is drawn until they fit, and the chance of one draw
    to fit. slots: None if everything fits."""
    law = {
        bits: reduce(
            lambda chance, i: chance * (noise if bits[i] != (i == chosen) else 1 - noise),
            range(number),
            Fraction(1),
        )
        for bits in product((0, 1), repeat=number)
        if slots is None or sum(bits) <= slots
    }
    fits = sum(law.values())
    return {bits: chance / fits for bits, chance in law.items()}, fits


@pytest.mark.parametrize(
    "people, number, slots, noise, alpha",
    [
        (3, 2, 1, Fraction(1, 20), 12),
        (3, 2, 1, Fraction(1, 50), 30),
        (4, 2, 1, Fraction(1, 20), 8),
        (3, 3, 2, Fraction(1, 5), 2),
    ],
)
def test_redraws_cost_what_is_said_and_more_than_with_names(people, number, slots, noise, alpha):
    """All crowds and pairs. Wrong: the event that all fit, as if a collection showed it."""
    grown = max(1 / cells(i, number, noise, slots)[1] for i in range(number)) ** people

    def worst(places, alpha):
        each = [cells(i, number, noise, places)[0] for i in range(number)]
        return max(
            delta(*(collection([*others, each[i]]) for i in pair), alpha)
            for others in combinations_with_replacement(each, people - 1)
            for pair in permutations(range(number), 2)
        )

    before, after = worst(None, alpha), worst(slots, alpha * grown)
    assert after <= before * grown + alpha * (grown - 1)
    assert worst(slots, Fraction(alpha)) >= worst(None, alpha * grown) - 1 + 1 / grown
    if number == 2:
        assert after > before * grown


# --- one bit, and curves (docs/mathematics.md#enumeration, #whole-curves, #composition) ------


def channel_bit(held, direct, stray):
    """The law of the report of one bit: 1 with probability direct if it is held, else stray."""
    one = direct if held else stray
    return {(1,): one, (0,): 1 - one}


def in_order(people, direct, stray, alpha, order):
    """The largest delta of one bit over all crowds; order: the answers that are compared."""
    return max(
        delta(
            *(
                collection(
                    [channel_bit(i < ones, direct, stray) for i in range(people - 1)] + [own]
                )
                for own in (channel_bit(held, direct, stray) for held in order)
            ),
            alpha,
        )
        for ones in range(people)
    )


def test_a_curve_of_one_order_does_not_bound_the_other():
    """Unless ones and zeros have the same noise. With all bits reversed, it is the other order."""
    direct, stray, alpha = Fraction(9, 10), Fraction(2, 5), Fraction(3, 2)
    orders = [in_order(4, direct, stray, alpha, order) for order in ((1, 0), (0, 1))]
    turned = [in_order(4, 1 - stray, 1 - direct, alpha, order) for order in ((1, 0), (0, 1))]
    assert orders == turned[::-1] and orders[0] != orders[1]
    same = [in_order(4, direct, 1 - direct, alpha, order) for order in ((1, 0), (0, 1))]
    assert same[0] == same[1]


@pytest.mark.parametrize("cut", [(0, 3), (1, 4), (1, 3), (2, 3)])
@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(3, 2), Fraction(3)])
def test_tails_that_are_left_out_are_added(cut, alpha):
    """Four others with each answer; without the tails, the terms are still positive beyond one
    point. Wrong: the tails dropped."""
    direct, stray = Fraction(4, 5), Fraction(1, 5)
    low, high = cut
    parts = [collection([channel_bit(held, direct, stray)] * 4) for held in (1, 0)]
    left = [{s: p for s, p in law.items() if low <= s[0] <= high} for law in parts]
    missing = sum(1 - sum(law.values()) for law in left)

    def excess(first, other):
        rest = added(first, other)
        p, q = (added(rest, channel_bit(held, direct, stray)) for held in (1, 0))
        return [p[s] - alpha * q[s] for s in sorted(p)]

    terms = excess(*left)
    above = [term > 0 for term in terms]
    assert above == sorted(above)
    kept = sum(term for term in terms if term > 0)
    truth = sum(term for term in excess(*parts) if term > 0)
    assert truth <= kept + missing
    assert kept < truth or alpha > 1


STEP = Fraction(5, 4)


def worst_at(place, people, noise):
    """The largest delta of one bit over all crowds and orders, at alpha = STEP^place."""
    return composed([people], [noise], STEP**place)


def hull_of(points):
    """The corners of the lower convex hull of points with rising alpha."""
    corners = []
    for alpha, height in points:
        while len(corners) > 1:
            (a, y), (b, z) = corners[-2:]
            if (z - y) * (alpha - b) < (height - z) * (b - a):
                break
            corners.pop()
        corners.append((alpha, height))
    return corners


def mass_of(points):
    """The P-masses by alpha of the hull; None stands for infinite loss."""
    corners = hull_of(points)
    slopes = [(z - y) / (b - a) for (a, y), (b, z) in pairwise(corners)]
    slopes.append(Fraction(0))
    masses = {None: corners[-1][1]}
    for (alpha, _), before, after in zip(corners[1:], slopes[:-1], slopes[1:], strict=True):
        masses[alpha] = alpha * max(after - before, Fraction(0))
    return masses


def delta_of(one, other, alpha):
    """delta of two independent losses."""
    total = Fraction(0)
    for (a, p), (b, r) in product(one.items(), other.items()):
        infinite = a is None or b is None
        total += p * r * (1 if infinite else max(Fraction(0), 1 - alpha / (a * b)))
    return total


@pytest.mark.parametrize("places", [range(7), (0, 2, 3, 6), (0, 4), (1, 3), (0,)])
@pytest.mark.parametrize("slack", [0, 1])
def test_hulls_of_any_points_above_a_curve_bound_compositions(places, slack):
    """Three people, two reports: any points, and points that are only above the curve. Wrong:
    the last height left out."""
    noise, heights = Fraction(1, 5), {}
    for i, place in enumerate(places):
        extra = 1 + Fraction(slack * (i % 2), 20)
        heights[STEP**place] = worst_at(place, 3, noise) * extra
    below = [(1 / a, 1 - 1 / a + y / a) for a, y in heights.items() if a > 1]
    points = sorted([(Fraction(0), Fraction(1)), *below, *heights.items()])
    masses = mass_of(points)
    finite = {alpha: mass for alpha, mass in masses.items() if alpha is not None}
    missed = 0
    for place in range(6):
        alpha = STEP**place
        truth = composed([3, 3], [noise] * 2, alpha)
        assert truth <= delta_of(masses, masses, alpha)
        missed += delta_of(finite, finite, alpha) < truth
    assert missed or STEP ** max(places) >= 2


@pytest.mark.parametrize("theta", [0.3, 1.0])
@pytest.mark.parametrize("step", [0.2, 0.7, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_contour_sums_are_above_whatever_their_step(theta, step, smoothing):
    """By the sum over all its aliases, in ordinary numbers. Wrong: half a step further on."""
    law = {-1.0: 0.7, 0.5: 0.2, 2.0: 0.1}
    truth = sum(p * max(0.0, s) for s, p in law.items())
    last = 200 if smoothing else 40_000
    places = np.arange(-last, last + 1)

    def contour(shift):
        w = theta + 1j * (places + shift) * step
        moment = sum(p * np.exp(w * s) for s, p in law.items())
        total = (np.exp((smoothing * w) ** 2 / 2) * moment / w**2).real.sum()
        return step / (2 * math.pi) * total

    assert contour(0.0) >= truth - 1e-4
    if not smoothing:
        period = 2 * math.pi / step
        aliases = sum(
            p * max(0.0, s + k * period) * math.exp(-k * period * theta)
            for s, p in law.items()
            for k in range(-20, 400)
        )
        assert contour(0.0) == pytest.approx(aliases, abs=1e-4)
        assert contour(0.5) < contour(0.0)
