"""Randomisers of the questions' own, from the survey to the estimate, and what they guarantee.

The matrices are written out by hand, and everything that the library makes of them is worked out
here again by listing all reports. Statistical checks are at 5 standard errors: with another seed
a right implementation fails one of 10 cells once in 170,000 times, and the seeds are fixed.
"""

import itertools
import math
from functools import reduce
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import incrowd
from incrowd.accounting.certificates import certify
from incrowd.accounting.schema import FREE_BIT, Part, Schema, Sent
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.channels.rappor import Rappor
from incrowd.channels.simmons import Simmons
from incrowd.encoding.people import People
from incrowd.errors import IncrowdError, PrivacyError, SurveyError, UsageError
from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.tables import along_axes
from incrowd.plans import fixed_channel
from incrowd.sampling.memory import remembered, remembering
from incrowd.survey import Choice, Domain, Multi, YesNo
from tests.oracles.axes import axis_of, k_ary, patterns, records_of, with_one

PEOPLE = 6000
OPTIONS = ("x", "y", "z")


def flip(q):
    return np.array([[1 - q, q], [q, 1 - q]])


def bit(zero, one):
    """P(report | answer) of a bit that is 1 with these probabilities."""
    return np.array([[1 - zero, 1 - one], [zero, one]])


# What the survey says, and P(report | answer) of each bit worked out by hand.
E2 = math.exp(2)
DEVICES = {
    "bit flip": ('kind = "bit flip", noise = 0.2', flip(0.2)),
    "bit flip by epsilon": ('kind = "bit flip", epsilon = 2.0', flip(1 / (1 + E2))),
    "spinner": ('kind = "warner", spinner = 0.8', flip(0.2)),
    "spinner that mostly denies": ('kind = "warner", spinner = 0.3', flip(0.7)),
    "unrelated coin": ('kind = "simmons", unrelated = 0.4', flip(0.2)),
    "unrelated birthday": (
        'kind = "simmons", unrelated = 0.4, prevalence = 0.1',
        bit(0.04, 0.64),
    ),
    "one-time": ('kind = "rappor", f = 0.4', flip(0.2)),
    "two stages": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.7',
        bit(0.1, 0.7) @ flip(0.2),
    ),
    "two stages, symmetric": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.9',
        flip(0.1) @ flip(0.2),
    ),
    "one-time, memoised": ('kind = "rappor", f = 0.4, memoised = true', flip(0.2)),
    "two stages, memoised": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.7, memoised = true',
        bit(0.1, 0.7) @ flip(0.2),
    ),
    "asymmetric": ('kind = "bit", one_if_zero = 0.1, one_if_one = 0.7', bit(0.1, 0.7)),
}
every_device = pytest.mark.parametrize("name", DEVICES)


def toml(*questions, privacy="epsilon = 60.0\nanalysis = 'local'", crowd=PEOPLE, rest=""):
    """A survey file; the promise is loose, as the devices alone say how much noise there is."""
    shown = "\n".join(f"[[question]]\n{question}" for question in questions)
    return f"name = 'devices'\ncrowd = {crowd}\n{rest}\n[privacy]\n{privacy}\n{shown}\n"


def yes_no(said, id="smokes"):
    return f"id = '{id}'\ntype = 'yesno'\nrandomizer = {{{said}}}"


def choice(said, id="drinks"):
    return f"id = '{id}'\ntype = 'choice'\noptions = {list(OPTIONS)}\nrandomizer = {{{said}}}"


def load(folder, text):
    path = folder / "survey.toml"
    path.write_text(text)
    return incrowd.Survey.load(path)


def answers(rows=PEOPLE, seed=1):
    """Two questions that go together."""
    generator = np.random.default_rng(seed)
    smokes = generator.random(rows) < 0.3
    drinks = np.where(smokes, "z", generator.choice(OPTIONS, rows, p=[0.6, 0.3, 0.1]))
    return pa.table({"id": np.arange(rows).astype(str), "smokes": smokes, "drinks": drinks})


def collected(plan, table, seed=2):
    """Reports and their bits, shape (reports, bits)."""
    key = incrowd.DeviceKey(bytes(range(32))) if plan.memoised else None
    reports = incrowd.randomize(plan, table, simulation_seed=seed, id="id", device_key=key)
    bits = np.unpackbits(reports[0].packed, axis=1, count=reports[0].bits, bitorder="little")
    return reports, bits


def unlike(found, truth):
    """The largest distance from the truth, in standard errors."""
    return float(np.max(np.abs(found.estimate - truth) / found.standard_error))


# --- from the survey to the estimate ---------------------------------------------------------


@every_device
def test_a_device_from_the_survey_to_the_estimate(name, tmp_path):
    """One-way tables are those of the explicit inverse, to the last digits; they and the two-way
    table lie near the truth. Wrong: as if a fifth of the bits were flipped once more."""
    said, matrix = DEVICES[name]
    table = "\n[[table]]\nquestions = ['smokes', 'drinks']"
    plan = incrowd.plan(load(tmp_path, toml(yes_no(said), choice(said) + table)))
    assert np.allclose(fixed_channel(plan.survey.question("smokes")).matrix, matrix, atol=1e-9)
    reports, bits = collected(plan, answers())
    estimates, truths = incrowd.estimate(plan, reports), incrowd.truth(plan, answers())
    for found, truth in zip(estimates.tables, truths, strict=True):
        assert unlike(found, truth) < 5
    rates = np.stack([1 - bits.mean(axis=0), bits.mean(axis=0)])
    by_hand = np.linalg.solve(matrix, rates)
    smokes, drinks, _ = estimates.tables
    assert np.allclose(smokes.estimate, by_hand[:, 0], atol=1e-8)
    assert np.allclose(drinks.estimate, by_hand[1, 1:], atol=1e-8)
    wrong = np.linalg.solve(flip(0.2) @ matrix, rates)
    assert np.abs(wrong[1, 0] - truths[0][1]) > 5 * smokes.standard_error[1]
    assert np.any(np.abs(wrong[1, 1:] - truths[1]) > 5 * drinks.standard_error)
    assert incrowd.verify(plan, reports).impossible == ()


@pytest.mark.parametrize("number", ["keep = 0.6", "epsilon = 2.0"])
def test_k_ary_response_from_the_survey_to_the_estimate(number, tmp_path):
    """The counts of options, the explicit inverse. Wrong: the same response, kept less often."""
    keep = 0.6 if "keep" in number else E2 / (E2 + 2)
    plan = incrowd.plan(load(tmp_path, toml(choice(f'kind = "k-ary", {number}'))))
    table = answers().select(["id", "drinks"])
    reports, bits = collected(plan, table)
    assert np.all(bits.sum(axis=1) == 1)
    (found,), (truth,) = incrowd.estimate(plan, reports).tables, incrowd.truth(plan, table)
    by_hand = np.linalg.solve(k_ary(keep, 3), bits.mean(axis=0))
    assert np.allclose(found.estimate, by_hand, atol=1e-8)
    assert unlike(found, truth) < 5
    wrong = np.linalg.solve(k_ary(keep - 0.2, 3), bits.mean(axis=0))
    assert np.any(np.abs(wrong - truth) > 5 * found.standard_error)
    second = bits.mean(axis=0) @ np.linalg.inv(k_ary(keep, 3)).T ** 2
    variance = (second - found.estimate) / PEOPLE + found.estimate * (1 - found.estimate) / PEOPLE
    assert np.allclose(found.standard_error, np.sqrt(variance), rtol=1e-7)


def test_questions_with_devices_of_different_kinds_in_one_table(tmp_path):
    """A three-way table, the planner's noise beside three devices; its covariance, comparisons
    and maximum likelihood know all of them."""
    text = toml(
        yes_no('kind = "bit", one_if_zero = 0.1, one_if_one = 0.8'),
        choice('kind = "k-ary", keep = 0.8'),
        "id = 'old'\ntype = 'yesno'",
        yes_no('kind = "rappor", f = 0.2, one_if_zero = 0.1, one_if_one = 0.8', "rich"),
        privacy="epsilon = 6.0\ndelta = 1e-4",
        rest="[[table]]\nquestions = ['smokes', 'drinks', 'old']",
    )
    plan = incrowd.plan(load(tmp_path, text))
    people = answers()
    others = {"old": people["smokes"], "rich": np.arange(PEOPLE) % 3 > 0}
    people = pa.table({name: people[name] for name in people.column_names} | others)
    reports, _ = collected(plan, people)
    estimates = incrowd.estimate(plan, reports, covariance=True)
    truths = incrowd.truth(plan, people)
    assert len(truths) == 5 and truths[-1].shape == (2, 3, 2)
    for found, joint, truth in zip(estimates.tables, estimates.covariances, truths, strict=True):
        assert unlike(found, truth) < 5
        possible = (found.estimate >= 0) & (found.estimate <= 1)  # else no sampling error is added
        both = joint.standard_error[possible], found.standard_error[possible]
        assert np.allclose(*both, rtol=1e-9) and possible.sum() > 1
    compared = incrowd.compare(plan, reports, "smokes", "drinks")
    assert compared.independence.p_value < 1e-6
    (fitted,) = incrowd.postprocess(plan, reports, tables=[("smokes", "drinks")])
    assert np.abs(fitted.estimate - [[0.42, 0.21, 0.07], [0, 0, 0.3]]).max() < 0.05
    checked = incrowd.verify(plan, reports)
    assert checked.plan_holds and checked.impossible == ()


# --- estimates of every mix of channels ------------------------------------------------------

YES_NO = YesNo(id="a")
CHOICES = [Choice(id=f"c{n}", options=tuple(map(str, range(n)))) for n in (2, 3)]
MULTI = Multi(id="m", options=("u", "v"), at_most=1)
CHANNELS = [
    BitFlip.at_least(0.2),
    Bit.from_probabilities(0.1, 0.7),
    Simmons.from_probabilities(0.4, 0.1),
    Rappor.from_probabilities(0.4, 0.1, 0.7),
]
KARY = [(question, KAry.from_probabilities(0.7, len(question.options))) for question in CHOICES]
pairs = st.sampled_from([*product([YES_NO, *CHOICES, MULTI], CHANNELS), *KARY])
mixes = st.lists(pairs, min_size=1, max_size=8).filter(
    lambda mix: sum(question.bits for question, _ in mix) <= 8
)


@given(mixes, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_axis_by_axis_is_the_explicit_kronecker_product_for_every_mix(mix, seed):
    """Oracle: the Kronecker product of the laws of all reports, written out; a random crowd of
    records. The estimate of the exact law is the crowd's own table, and E[g^2] is that of the
    explicit reports. `reported` is the same law for the counts of set bits."""
    laws = [axis_of(*pair) for pair in mix]
    sizes = [law.shape[1] for _, law, _ in laws]
    crowd = np.random.default_rng(seed).dirichlet(np.ones(math.prod(sizes)))
    shown = reduce(np.kron, [law for _, law, _ in laws]) @ crowd
    table = reduce(np.kron, [meaning for _, _, meaning in laws]) @ crowd
    shape = [len(reports) for reports, _, _ in laws]
    seen = along_axes([with_one(reports) for reports, _, _ in laws], shown.reshape(shape))
    decoders = [question_decoder(*pair) for pair in mix]
    found = along_axes([d.mean for d in decoders], seen)
    assert np.allclose(found.ravel(), table, rtol=0, atol=1e-9)
    each = [d.mean @ with_one(reports) for d, (reports, _, _) in zip(decoders, laws, strict=True)]
    assert np.allclose(
        along_axes([d.square for d in decoders], seen).ravel(),
        reduce(np.kron, [g**2 for g in each]) @ shown,
        rtol=1e-9,
    )
    sent = along_axes([with_one(records_of(q)[0]) for q, _ in mix], crowd.reshape(sizes))
    assert np.allclose(
        along_axes([c.reported(q.domain.bits) for q, c in mix], sent), seen, atol=1e-12
    )


@pytest.mark.parametrize(("question", "channel"), [*product([YES_NO, MULTI], CHANNELS), *KARY])
def test_a_decoder_undoes_what_a_channel_does(question, channel):
    """C^-1 C = I for the counts of set bits; with half the noise it is not."""
    honest = decoder(question, np.eye(2)).mean
    found = question_decoder(question, channel).mean @ channel.reported(question.domain.bits)
    assert np.allclose(found[:, 1:], honest[:, 1:], atol=1e-12)
    assert np.allclose(found[:, 0], honest[:, 0], atol=1e-12)
    if not isinstance(channel, KAry):
        half = np.linalg.inv((channel.matrix + np.eye(2)) / 2)
        wrong = decoder(question, half).mean @ channel.reported(question.domain.bits)
        assert not np.allclose(wrong, honest, atol=0.02)


# --- what they guarantee, by listing all reports ---------------------------------------------


def law_of(part):
    """P(report | record), shape (records, reports)."""
    if isinstance(part.channel, KAry):
        return part.channel.matrix.T
    bits, fewest, most = part.domain
    every = patterns(bits)
    records = every[(every.sum(axis=1) >= fewest) & (every.sum(axis=1) <= most)]
    return part.channel.matrix[every[None, :, :], records[:, None, :]].prod(axis=2)


def whole_law(parts):
    return reduce(np.kron, [law_of(part) for part in parts])


def blanket_by_hand(law, crowd, epsilon):
    """The largest E max(0, G_1 + ... + G_M) / (gamma N) over ALL ordered pairs of records, by
    adding up every sequence of reports: a report that the blanket does not cover counts zero."""
    omega = law.min(axis=0)
    chances = np.append(omega, 1 - omega.sum())
    largest = 0.0
    for x, other in itertools.permutations(range(len(law)), 2):
        values = np.append((law[x] - math.exp(epsilon) * law[other]) / omega, 0.0)
        atoms, place = np.unique(np.round(values, 12), return_inverse=True)
        mass = np.bincount(place, chances)
        total, weight = np.zeros(1), np.ones(1)
        for _ in range(crowd):
            total = np.add.outer(total, atoms).ravel()
            weight = np.multiply.outer(weight, mass).ravel()
        largest = max(largest, float(np.maximum(total, 0) @ weight) / crowd)
    return largest


def worst_of_all_collections(law, crowd, epsilon):
    """The largest hockey-stick divergence over every crowd of the others and every ordered pair:
    laws of the reports in any order, averaged over the orders."""
    largest = 0.0
    for others in itertools.combinations_with_replacement(range(len(law)), crowd - 1):
        rest = reduce(np.multiply.outer, [law[z] for z in others])
        laws = [_any_order(np.multiply.outer(law[x], rest)) for x in range(len(law))]
        for here, there in itertools.permutations(laws, 2):
            divergence = np.maximum(here - math.exp(epsilon) * there, 0).sum()
            largest = max(largest, float(divergence))
    return largest


def _any_order(joint):
    orders = list(itertools.permutations(range(joint.ndim)))
    return sum(joint.transpose(order) for order in orders) / len(orders)


YES, TWO, THREE = FREE_BIT, Domain(2, 1, 1), Domain(3, 1, 1)
AT_MOST_ONE, AT_MOST_TWO, ALL = Domain(3, 0, 1), Domain(3, 0, 2), Domain(2, 0, 2)
ASYMMETRIC = Bit.from_probabilities(0.15, 0.6)
REVERSED = Bit.from_probabilities(0.7, 0.35)
RARE = Simmons.from_probabilities(0.5, 0.1)
TWICE = Rappor.from_probabilities(0.5, 0.2, 0.75)
FLIP, LOUD = BitFlip.at_least(0.2), BitFlip.at_least(0.35)

MIXES = {
    "asymmetric bit": [Part(YES, ASYMMETRIC)],
    "two asymmetric bits": [Part(YES, ASYMMETRIC)] * 2,
    "reversed and rare": [Part(YES, REVERSED), Part(YES, RARE)],
    "three kinds of bits": [Part(YES, ASYMMETRIC), Part(YES, FLIP), Part(YES, TWICE)],
    "asymmetric choice": [Part(THREE, ASYMMETRIC)],
    "choice, reversed": [Part(THREE, REVERSED)],
    "at most one, asymmetric": [Part(AT_MOST_ONE, ASYMMETRIC)],
    "at most two, asymmetric": [Part(AT_MOST_TWO, RARE)],
    "any of two, asymmetric": [Part(ALL, ASYMMETRIC)],
    "at most one": [Part(AT_MOST_ONE, FLIP)],
    "at most two": [Part(AT_MOST_TWO, FLIP)],
    "at most two and a bit": [Part(AT_MOST_TWO, FLIP), Part(YES, ASYMMETRIC)],
    "k-ary": [Part(THREE, KAry.from_probabilities(0.6, 3))],
    "k-ary of two": [Part(TWO, KAry.from_probabilities(0.7, 2))],
    "k-ary and bit": [Part(THREE, KAry.from_probabilities(0.6, 3)), Part(YES, RARE)],
    "k-ary, choice": [Part(THREE, KAry.from_probabilities(0.5, 3)), Part(TWO, LOUD)],
    "nobody, or one": [Part(AT_MOST_ONE, LOUD), Part(YES, FLIP)],
}
every_mix = pytest.mark.parametrize("parts", MIXES.values(), ids=MIXES)


@every_mix
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_the_blanket_is_the_largest_over_all_pairs_of_records(parts, epsilon):
    """The pairs that the accountant leaves out are not the worst, and its bound is the value."""
    law = whole_law(parts)
    crowd = 3 if law.shape[1] > 8 else 5
    by_hand = blanket_by_hand(law, crowd, epsilon)
    found = certify("blanket", Schema.of(parts), crowd, epsilon).delta
    assert found.upper >= by_hand * (1 - 1e-9)
    assert found.upper == pytest.approx(by_hand, rel=2e-4)


@every_mix
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_no_collection_of_any_answers_beats_the_blanket(parts, epsilon):
    """Every crowd of two, and of three or four where they are few."""
    law = whole_law(parts)
    for crowd in (2, 3, 4):
        if len(law) ** (crowd + 1) * law.shape[1] ** crowd <= 4_000_000:
            worst = worst_of_all_collections(law, crowd, epsilon)
            claim = certify("blanket", Schema.of(parts), crowd, epsilon)
            assert claim.proved
            assert worst <= claim.delta.upper * (1 + 1e-9)


def test_a_claim_for_a_larger_crowd_than_there_is_would_be_found_out():
    """The enumeration has teeth: half of these claims for twelve are beaten by a crowd of three."""
    beaten = [
        worst_of_all_collections(whole_law(parts), 3, 0.1)
        > certify("blanket", Schema.of(parts), 12, 0.1).delta.upper
        for parts in MIXES.values()
        if whole_law(parts).shape[1] <= 8
    ]
    assert np.mean(beaten) > 0.5


bits_of = st.sampled_from([YES, TWO, THREE, AT_MOST_ONE, AT_MOST_TWO, ALL])
probabilities = st.floats(0.05, 0.95)
any_bit = st.builds(Bit.from_probabilities, probabilities, probabilities).filter(
    lambda channel: abs(channel.one_if_one - channel.one_if_zero) > 2**28
)
any_flip = st.floats(0.05, 0.45).map(BitFlip.at_least)
any_two_stage = st.builds(
    Rappor.from_probabilities, st.floats(0.1, 0.8), st.floats(0.05, 0.4), st.floats(0.6, 0.95)
)
any_k_ary = st.tuples(st.integers(2, 4), st.floats(0.5, 0.9)).map(
    lambda n: Part(Domain(n[0], 1, 1), KAry.from_probabilities(n[1], n[0]))
)
any_part = st.one_of(
    st.builds(Part, bits_of, st.one_of(any_bit, any_flip, any_two_stage)), any_k_ary
)


@given(st.lists(any_part, min_size=1, max_size=3), st.integers(2, 4), st.floats(0.0, 1.5))
@settings(max_examples=60, deadline=None)
@example([Part(Domain(3, 0, 2), BitFlip.at_least(0.0546875))], 2, 1.0)  # two pairs, one quick bound
def test_any_mix_is_bounded_by_the_blanket(parts, crowd, epsilon):
    """By hand over all pairs, and over all collections of two: nothing exceeds the claim."""
    law = whole_law(parts)
    if law.shape[1] > 32 or (law.shape[1] > 8 and crowd > 3):
        return
    schema = Schema.of(parts)
    claim = certify("blanket", schema, crowd, epsilon).delta
    assert blanket_by_hand(law, crowd, epsilon) <= claim.upper * (1 + 1e-9) + 1e-11
    if len(law) <= 12:
        pair = certify("blanket", schema, 2, epsilon).delta
        assert worst_of_all_collections(law, 2, epsilon) <= pair.upper * (1 + 1e-9) + 1e-11
    ratio = max(float(np.log(column.max() / column.min())) for column in law.T)
    assert ratio <= schema.local_epsilon * (1 + 1e-12) <= ratio * (1 + 1e-9)


# --- permanent responses ---------------------------------------------------------------------

KEY, OTHER_KEY = incrowd.DeviceKey(bytes(32)), incrowd.DeviceKey(bytes([1]) * 32)
ROWS = 100
MEMOISED = 'kind = "rappor", f = 0.8, memoised = true'


def remembered_bits(folder, said=MEMOISED, key=KEY, rows=ROWS, crowd=ROWS, table=None, shift=0):
    """The permanent bits of some people and the true ones, shape (rows, bits)."""
    plan = incrowd.plan(load(folder, toml(choice(said), crowd=crowd)))
    table = answers(rows) if table is None else table
    ids = pa.array([str(i + shift) for i in range(rows)])
    table = pa.table({"id": ids, "drinks": table["drinks"]})
    message = plan.messages[0]
    encoded = People.of(plan.survey, table)
    truth = np.zeros((rows, 3), np.uint8)
    truth[np.arange(rows), encoded.encoded["drinks"].places] = 1
    records = np.packbits(truth, axis=1, bitorder="little")
    memory = remembering(plan, rows, ids.to_pylist(), key)
    found = remembered(plan, message, records, memory)
    return np.unpackbits(found, axis=1, count=3, bitorder="little"), truth


def test_the_same_device_and_answer_repeat_the_same_bits(tmp_path):
    """In a later round by another plan (of another crowd) of the same survey too."""
    first, truth = remembered_bits(tmp_path)
    again, _ = remembered_bits(tmp_path)
    later, _ = remembered_bits(tmp_path, crowd=ROWS - 10)
    assert np.array_equal(first, again) and np.array_equal(first, later)
    assert 0.25 < np.mean(first != truth) < 0.55  # q = .4; 5 standard errors of 300 bits


@pytest.mark.parametrize("change", ["key", "id", "noise"])
def test_another_device_or_noise_draws_anew(change, tmp_path):
    """Flips agree as independent ones do: with q = q' = .4 in .52 of 300 bits, +- 5 standard
    errors. With one number and two thresholds the flips of the smaller noise would be among
    those of the larger."""
    first, truth = remembered_bits(tmp_path)
    changes = {"key": {"key": OTHER_KEY}, "id": {"shift": ROWS}, "noise": {}}
    said = MEMOISED.replace("0.8", "0.7") if change == "noise" else MEMOISED
    other, _ = remembered_bits(tmp_path, said, **changes[change])
    flips, others = first != truth, other != truth
    q = 0.35 if change == "noise" else 0.4
    agree = 0.4 * q + 0.6 * (1 - q)
    assert abs(np.mean(flips == others) - agree) < 5 * math.sqrt(agree * (1 - agree) / 300)
    assert np.any(others & ~flips)


def test_another_answer_draws_anew(tmp_path):
    """Of those who change their answer nearly all change bits that both answers leave alone."""
    table = answers(ROWS)
    first, truth = remembered_bits(tmp_path, table=table)
    moved = [OPTIONS[(OPTIONS.index(drink) + 1) % 3] for drink in table["drinks"].to_pylist()]
    other, moved_truth = remembered_bits(tmp_path, table=pa.table({"drinks": moved}))
    spare = (truth == 0) & (moved_truth == 0)
    assert spare.sum() == ROWS
    assert abs(np.mean(first[spare] == other[spare]) - 0.52) < 5 * math.sqrt(0.52 * 0.48 / ROWS)


def test_rounds_repeat_the_permanent_bits_and_only_those(tmp_path):
    """One-time: two rounds send the same reports. Two stages: the instantaneous one is new."""
    for said, same in ((MEMOISED, True), (f"{MEMOISED}, one_if_zero = 0.2, one_if_one = 0.8", 0)):
        plan = incrowd.plan(load(tmp_path, toml(choice(said), crowd=ROWS)))
        table = answers(ROWS).select(["id", "drinks"])
        rounds = [incrowd.randomize(plan, table, id="id", device_key=KEY)[0] for _ in range(2)]
        first, second = (np.sort(found.packed[:, 0]) for found in rounds)
        assert np.array_equal(first, second) == bool(same)
    fresh = [incrowd.randomize(plan, table, id="id", device_key=OTHER_KEY)[0] for _ in range(2)]
    assert not np.array_equal(*(np.sort(found.packed[:, 0]) for found in fresh))


def test_permanent_responses_need_a_key_and_ids(tmp_path):
    plan = incrowd.plan(load(tmp_path, toml(choice(MEMOISED), crowd=2)))
    table = answers(3).select(["id", "drinks"])
    with pytest.raises(UsageError, match=r"device_key.*drinks has a permanent response"):
        incrowd.randomize(plan, table, id="id")
    with pytest.raises(UsageError, match=r"id: is missing.*several rows are several devices"):
        incrowd.randomize(plan, table, device_key=KEY)
    assert len(incrowd.randomize(plan, table.slice(0, 1), device_key=KEY)[0]) == 1


ROUNDS = "one_if_zero = 0.25, one_if_one = 0.75"
LOUD_MEMORY = MEMOISED.replace("0.8", "0.5")
PROMISE = "epsilon = 0.5\ndelta = 0.05"
QUARTER = BitFlip.at_least(0.25)


def promised(folder, *questions, copies=1):
    """The plan of a survey with a loose promise for 500 people."""
    rest = f"copies = {copies}"
    return incrowd.plan(load(folder, toml(*questions, privacy=PROMISE, crowd=500, rest=rest)))


def certified(*parts, copies=1):
    return certify("blanket", Sent.of(Schema.of(parts), copies), 500, 0.5).delta.upper


@pytest.mark.parametrize("said", [LOUD_MEMORY, f"{LOUD_MEMORY}, {ROUNDS}"])
@pytest.mark.parametrize("copies", [1, 5])
def test_the_guarantee_is_that_of_the_permanent_stage(said, copies, tmp_path):
    """Neither that of one report, which is smaller if there is a second stage, nor that of
    several rounds composed: all copies and rounds tell what one collection of them does."""
    plan = promised(tmp_path, choice(said), copies=copies)
    alone = certified(Part(THREE, QUARTER))
    assert plan.guarantee.certified_delta == pytest.approx(alone, rel=1e-9)
    assert certified(Part(THREE, QUARTER), copies=2) > 2 * alone > 0
    if ROUNDS in said:
        assert certified(Part(THREE, fixed_channel(plan.survey.question("drinks")))) < 0.9 * alone
    assert "as long as a person's answers" in plan.guarantee.assumption
    assert incrowd.verify(plan).holds


def test_without_memory_copies_are_composed(tmp_path):
    """The same device drawn afresh: three copies are three collections."""
    said = LOUD_MEMORY.replace(", memoised = true", "")
    plan = promised(tmp_path, choice(said), copies=3)
    composed = certified(Part(THREE, QUARTER), copies=3)
    assert plan.guarantee.certified_delta == pytest.approx(composed, rel=1e-9)


def test_fresh_questions_travel_by_themselves_and_count_for_every_copy(tmp_path):
    """Next to permanent bits they would be linked from copy to copy and from round to round."""
    old = yes_no('kind = "bit flip", noise = 0.4', "old")
    plan = promised(tmp_path, choice(LOUD_MEMORY), old, copies=3)
    assert [message.ids for message in plan.messages] == [("old",), ("drinks",)]
    kept = Sent.of(Schema.of([Part(THREE, QUARTER)]))
    fresh = Sent.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(0.4))]), 3)
    both = certify("blanket", kept.also(fresh), 500, 0.5).delta.upper
    assert plan.guarantee.certified_delta == pytest.approx(both, rel=1e-9)
    for kind in ("table", "message"):
        raw = plan.survey.model_dump(by_alias=True) | {"copies": 1}
        with pytest.raises(SurveyError, match=f"{kind}.*is memoised"):
            incrowd.Survey.of(raw | {kind: [{"questions": ["drinks", "old"]}]})


WIDE = [f"o{i}" for i in range(40)]
LINKED = 2000
NOISE = BitFlip.at_least(0.35)
KEPT = {"kind": "rappor", "f": 0.7, "memoised": True}
FIRST, SECOND = ([f"{letter}{i}" for i in range(6)] for letter in "ab")


def linked_survey(ids, **rest):
    """A wide permanent response, of which hardly two in the crowd are alike, and others."""
    wide = {"id": "m", "type": "choice", "options": WIDE, "randomizer": KEPT}
    others = [{"id": id, "type": "yesno", "randomizer": KEPT} for id in ids]
    raw = {"name": "linked", "crowd": LINKED, "privacy": {"epsilon": 1.0, "delta": 0.01}}
    return incrowd.Survey.of(raw | {"question": [wide, *others]} | rest)


def exact_if_linked():
    """delta at epsilon 1 of a homogeneous crowd in which the reports with the same bits of the
    wide response are put together. Of 2,000 people two agree by chance with probability 6e-5 at
    most: 2e6 pairs, (p^2 + q^2)^40 each."""
    parts = [Part(Domain(40, 1, 1), NOISE), *[Part(FREE_BIT, NOISE)] * 12]
    return certify("outlier", Schema.of(parts), LINKED, 1.0).delta.lower - 6e-5


def shared(one, other):
    """How many patterns of the wide response stand in both collections."""
    bits = [np.unpackbits(s.packed, axis=1, bitorder="little")[:, :40] for s in (one, other)]
    first, second = ({row.tobytes() for row in found} for found in bits)
    return len(first & second)


def said_by(ids):
    """A tenth of the crowd is enough to see whether reports can be linked."""
    said = dict.fromkeys(ids, [True] * 200) | {"m": WIDE * 5}
    return pa.table(said | {"id": [str(i) for i in range(200)]})


def test_messages_that_a_permanent_response_links_are_counted_as_one():
    """Two messages with the same permanent bits can be put together. Either such a plan is
    refused, or the bits differ, or the certificate covers both messages as one report."""
    groups = [{"questions": ["m", *FIRST]}, {"questions": ["m", *SECOND]}]
    try:
        plan = incrowd.plan(linked_survey([*FIRST, *SECOND], message=groups))
    except IncrowdError:
        return
    table = said_by([*FIRST, *SECOND])
    sent = incrowd.randomize(plan, table, id="id", device_key=KEY)
    linked = shared(*sent) > 100
    assert not linked or plan.guarantee.certified_delta >= exact_if_linked()


def test_plans_that_a_permanent_response_links_are_counted_as_one():
    """The same people are asked again, the wide question beside others than before."""
    first = incrowd.plan(linked_survey(FIRST))
    try:
        second = incrowd.plan(linked_survey(SECOND), earlier=[first.asked])
    except IncrowdError:
        return
    sent = [
        incrowd.randomize(plan, said_by(ids), id="id", device_key=KEY)[0]
        for plan, ids in ((first, FIRST), (second, SECOND))
    ]
    linked = shared(*sent) > 100
    assert not linked or second.guarantee.certified_delta >= exact_if_linked()


# --- wrong use -------------------------------------------------------------------------------

WRONG = {
    "a spinner without a number": (yes_no('kind = "warner"'), "spinner; or epsilon"),
    "a number of another kind": (yes_no('kind = "warner", noise = 0.2'), "spinner; or epsilon"),
    "two numbers for one": (yes_no('kind = "warner", spinner = 0.7, epsilon = 1.0'), "spinner; or"),
    "half an instantaneous stage": (
        yes_no('kind = "rappor", f = 0.4, one_if_one = 0.7'),
        "one_if_zero and one_if_one",
    ),
    "an unknown kind": (yes_no('kind = "dice"'), "kind"),
    "an unknown number": (yes_no('kind = "warner", spiner = 0.7'), "did you mean spinner"),
    "noise of one half": (yes_no('kind = "bit flip", noise = 0.5'), "less than 0.5"),
    "k-ary on yes/no": (yes_no('kind = "k-ary", keep = 0.7'), "exactly one answer"),
    "k-ary on multi": (
        "id = 'm'\ntype = 'multi'\nat_most = 1\noptions = ['u', 'v']\n"
        "randomizer = {kind = 'k-ary', keep = 0.7}",
        "exactly one answer",
    ),
    "k-ary on text": (
        "id = 't'\ntype = 'text'\nrandomizer = {kind = 'k-ary', keep = 0.7}",
        "takes the randomizer 'bit flip'",
    ),
    "a spinner on text": (
        "id = 't'\ntype = 'text'\nrandomizer = {kind = 'warner', spinner = 0.7}",
        "takes the randomizer 'bit flip'",
    ),
    "memory without a permanent response": (
        yes_no('kind = "warner", spinner = 0.7, memoised = true'),
        "only the kind 'rappor'",
    ),
    "a device on what travels apart": (
        f"{choice(MEMOISED)}\napart = true",
        "leave out the randomizer",
    ),
}


@pytest.mark.parametrize(("question", "told"), WRONG.values(), ids=WRONG)
def test_wrong_devices_are_told_apart_in_the_survey(question, told, tmp_path):
    with pytest.raises(SurveyError) as error:
        load(tmp_path, toml(question))
    assert len(error.value.problems) == 1
    assert "question[1]" in str(error.value) and told in str(error.value)


UNUSABLE = {
    "reports that say nothing": ('kind = "bit", one_if_zero = 0.4, one_if_one = 0.4', "inverted"),
    "a spinner that says nothing": ('kind = "warner", spinner = 0.5', "inverted"),
    "a second stage that says nothing": (
        'kind = "rappor", f = 0.2, one_if_zero = 0.5, one_if_one = 0.5',
        "inverted",
    ),
    "a report that only one answer gives": (
        'kind = "bit", one_if_zero = 0.0, one_if_one = 0.5',
        "(impossible|never sends).*for some answer",
    ),
}


@pytest.mark.parametrize(("said", "told"), UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_devices_without_information_or_privacy_are_refused(said, told, analysis, tmp_path):
    privacy = f"epsilon = 3.0\nanalysis = '{analysis}'"
    survey = load(tmp_path, toml(yes_no(said), "id = 'old'\ntype = 'yesno'", privacy=privacy))
    with pytest.raises(PrivacyError, match=told) as error:
        incrowd.plan(survey)
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("keep", [0.2, 1 / 3])
def test_k_ary_responses_without_information_are_refused(keep, tmp_path):
    with pytest.raises(PrivacyError, match=r"question drinks, randomizer\.(keep|channel)"):
        incrowd.plan(load(tmp_path, toml(choice(f'kind = "k-ary", keep = {keep!r}'))))


@pytest.mark.parametrize("others", [[], ["id = 'old'\ntype = 'yesno'"]])
@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_a_device_that_breaks_the_promise_by_itself_is_refused(others, analysis, tmp_path):
    """Whatever noise the other questions get; the message says how far it is off."""
    loud = yes_no('kind = "warner", spinner = 0.95')
    privacy = f"epsilon = 0.1\ndelta = 1e-6\nanalysis = '{analysis}'"
    survey = load(tmp_path, toml(loud, *others, privacy=privacy, crowd=100))
    with pytest.raises(PrivacyError) as error:
        incrowd.plan(survey)
    assert len(error.value.problems) == 1
    assert any(word in str(error.value) for word in ("nearest reachable", "at least"))


def test_an_outlier_analysis_is_about_bit_flips(tmp_path):
    privacy = "epsilon = 1.0\nanalysis = 'outlier'"
    said = 'kind = "bit", one_if_zero = 0.1, one_if_one = 0.7'
    with pytest.raises(PrivacyError, match="bit flips"):
        incrowd.plan(load(tmp_path, toml(yes_no(said), privacy=privacy)))
