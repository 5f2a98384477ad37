"""What the pages of proofs state, in fractions, for every collection of a few people.

Nothing is rounded. Each statement has a wrong variant beside it, which the same numbers refute.
"""

from collections import defaultdict
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, permutations, product

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
    if number == 2:
        assert after > before * grown
