"""The least of all proved bounds: it is the least, never asks for more noise, and composes."""

import itertools
from functools import partial

import numpy as np
import pytest

import incrowd
from incrowd import Survey, certify, verify
from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import assess, smallest_epsilon, smallest_noise
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from incrowd.cli.privacy import facts
from tests.conftest import one_in, slowly
from tests.oracles import crowds as truth

ROUNDING = 1e-9
CHOICE = Domain(3, 1, 1)
BIT = Bit.from_probabilities(0.2, 0.7)
DEMO = [FREE_BIT] * 2 + [Domain(4, 1, 1)] * 2 + [Domain(5, 1, 1)]
PROVED = ("seat", "blanket", "local")


def flip(q):
    return BitFlip.at_least(q)


def free(q, bits=1):
    return Schema.uniform([FREE_BIT] * bits, flip(q))


RAPPOR = Rappor.from_probabilities(0.4, 0.3, 0.7)
REPORTS = {
    "one bit": free(0.2),
    "one uneven bit": Schema.of([Part(FREE_BIT, BIT)]),
    "one bit in two stages": Schema.of([Part(FREE_BIT, RAPPOR)]),
    "bits": free(0.3, 3),
    "choice": Schema.uniform([CHOICE], flip(0.2)),
    "k-ary": Schema.uniform([CHOICE], KAry.from_probabilities(0.5, 3)),
    "mixed": Schema.of([Part(FREE_BIT, flip(0.3)), Part(CHOICE, flip(0.25)), Part(FREE_BIT, BIT)]),
}


@pytest.mark.parametrize("kind", one_in(3, REPORTS))
@pytest.mark.parametrize(
    ("crowd", "epsilon"), [(30, 1.0), *slowly((10**6, 0.02), (2, 0.3), (2000, 0.5))]
)
def test_it_is_the_least_of_all_that_are_proved(kind, crowd, epsilon):
    """And it says whose it is; one bit is worked out exactly."""
    schema = REPORTS[kind]
    found = certify("shuffle", schema, crowd, epsilon)
    known = {by: certify(by, schema, crowd, epsilon).delta.upper for by in PROVED}
    if kind.startswith("one") and kind != "one bit in two stages":
        known["exact"] = certify("exact", schema, crowd, epsilon).delta.upper
    assert found.delta.upper == min(known.values()) == known[found.by]
    assert {pair.by for pair in found.worst} == {found.by} and found.proved
    assert ANALYSES["shuffle"].bound(Contribution.of(schema), crowd, epsilon) <= min(
        ANALYSES[by].bound(Contribution.of(schema), crowd, epsilon) for by in PROVED
    )


def test_each_of_them_is_the_least_somewhere():
    """Where hardly anybody hides anybody the blanket is ahead; or nobody need be trusted."""
    wide = Schema.uniform([Domain(1000, 1, 1)], flip(5e-4))
    cases = [(free(0.2), 200, 1.0), (free(0.3, 3), 2000, 0.5), (free(0.3), 200, 1.0)]
    cases.append((wide, 10**5, 1.0))
    found = [certify("shuffle", *case).by for case in cases]
    assert found == ["exact", "seat", "local", "blanket"]


NOISES = [
    ([FREE_BIT] * 2, 100, 1.0, 1e-6),
    ([FREE_BIT] * 4, 20, 2.0, 1e-3),
    ([Domain(10, 1, 1)], 60, 2.0, 1e-2),
]
MORE_NOISES = [
    ([FREE_BIT], 10**6, 1.0, 1e-8),
    ([CHOICE, FREE_BIT], 20_000, 1.0, 1e-6),
    ([FREE_BIT] * 3, 10, 2.0, 1e-2),
]


@pytest.mark.parametrize("case", [*NOISES, *slowly(*((case,) for case in MORE_NOISES))])
@pytest.mark.parametrize("copies", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_noise_is_never_larger_than_the_blankets(case, copies):
    domains, crowd, epsilon, delta = case

    def family(channel):
        return Contribution.of(Schema.uniform(domains, channel), copies)

    found = {by: smallest_noise(by, family, crowd, epsilon, delta) for by in ("shuffle", "blanket")}
    assert found["shuffle"] <= found["blanket"]
    assert certify("shuffle", family(found["shuffle"]), crowd, epsilon).delta.upper <= delta


@pytest.mark.parametrize(
    ("domains", "crowd", "epsilon", "delta", "homogeneous", "near"),
    [
        *slowly(
            ([FREE_BIT], 10**6, 1.0, 1e-8, 4.9388e-5, 1e-4),
            ([FREE_BIT] * 8, 10**5, 1.0, 1e-6, 0.21418, 2e-3),
        ),
        ([FREE_BIT] * 2, 10**4, 1.0, 1e-6, 0.051132, 0.012),
        *slowly(
            ([Domain(5, 1, 1)] * 4, 10**6, 1.0, 1e-6, 0.18231, 1e-3),
            (DEMO, 20_000, 1.0, 1e-6, 0.25459, 1e-3),
        ),
    ],
)
def test_hardly_more_noise_than_homogeneous_crowds_ask_for(
    domains, crowd, epsilon, delta, homogeneous, near
):
    """homogeneous: a lower bound of what every proof has to ask for, of an earlier study."""
    found = smallest_noise(
        "shuffle", lambda channel: Schema.uniform(domains, channel), crowd, epsilon, delta
    )
    assert homogeneous * (1 - 1e-4) <= found.q <= homogeneous * (1 + near)


@pytest.mark.slow
def test_epsilon_is_the_least_too():
    for schema, crowd in itertools.product([free(0.2), free(0.3, 3)], [30, 3000]):
        found = smallest_epsilon("shuffle", schema, crowd, 1e-5)
        assert certify("shuffle", schema, crowd, found).delta.upper <= 1e-5 * (1 + 1e-9)
        for by in ("seat", "blanket"):
            assert found <= smallest_epsilon(by, schema, crowd, 1e-5) * (1 + 1e-6)


@pytest.mark.slow
def test_figures_say_whose_bound_they_are():
    for by, schema in (("exact", free(0.2)), ("seat", free(0.3, 3))):
        found = facts(assess("shuffle", schema, 2000, 0.5), flip(0.2))
        assert (found["analysis"], found["by"], found["guarantee"]) == ("shuffle", by, True)
        assert found["delta"] <= found["eta"] <= 1


@pytest.mark.slow
def test_one_bit_is_exact_in_any_crowd():
    """Of a million people every collection was tried before; beyond, eta is a bound."""
    found = assess("exact", free(4.95e-8), 10**9, 1.0)
    assert found.delta.lower <= found.delta.upper <= found.delta.lower * 1.0002
    assert found.delta.upper <= found.eta < 1e-5
    uneven = assess("exact", REPORTS["one uneven bit"], 500, 0.5)
    assert uneven.delta.lower >= uneven.delta.upper * (1 - 1e-8) > 0
    assert uneven.eta >= uneven.delta.upper


# Several reports, against every crowd of each and every pair of answers


def pairs(mechanism, crowd):
    """Every two laws of a collection that only one person's record tells apart."""
    for _, law in truth.crowds(mechanism, crowd - 1):
        every = [truth.joined(law, column).ravel() for column in mechanism.T]
        reached = every[0] > 0
        yield from itertools.permutations([law[reached] for law in every], 2)


def of_both(one, other, epsilon):
    """delta of two independent collections, by sums over all that the second tells enough."""
    losses = [np.log(p / q) for p, q in (one, other)]
    order = np.argsort(losses[1])
    tails = [np.append(np.cumsum(law[order][::-1])[::-1], 0.0) for law in other]
    beyond = np.searchsorted(losses[1][order], epsilon - losses[0])
    (p, q), (more, less) = one, tails
    return float(p @ more[beyond] - np.exp(epsilon) * (q @ less[beyond]))


def largest_of_two(one, other, crowd, epsilon):
    """The largest delta of two collections of the same people, one of each mechanism."""
    second = list(pairs(other, crowd))
    return max(of_both(pair, also, epsilon) for pair in pairs(one, crowd) for also in second)


TWO = [
    (REPORTS["one bit"], 7),
    (REPORTS["one uneven bit"], 7),
    (REPORTS["choice"], 2),
    (REPORTS["k-ary"], 4),
    (free(0.35, 2), 3),
]


def mechanism(schema):
    (part, count), *_ = schema.parts
    if part.channel.of_answers:
        return part.channel.matrix
    domain = Domain(count, 0, count) if count > 1 else part.domain
    return truth.merged(truth.of_bits(part.channel.matrix, *domain))


def below(bound):
    """In how many cases a bound of two reports is below the truth, by kinds of reports."""
    found = 0
    for schema, crowd in TWO:
        own = mechanism(schema)
        for epsilon in (0.1, 0.6, 1.4):
            true = largest_of_two(own, own, crowd, epsilon)
            found += bound(schema, crowd, epsilon) < true * (1 - ROUNDING)
    return found


def of_two(by, schema, crowd, epsilon):
    return certify(by, Contribution.of(schema, 2), crowd, epsilon).delta.upper


@pytest.mark.slow
@pytest.mark.parametrize("by", ["shuffle", *slowly("seat")])
def test_two_messages_are_never_below_the_truth(by):
    assert below(partial(of_two, by)) == 0


def test_different_messages_compose():
    """A bit exactly, and a choice by its seat, told apart in either order."""
    for crowd, epsilon in itertools.product([2, 3], [0.2, 0.8]):
        sent = Contribution.of(REPORTS["one bit"]).also(Contribution.of(REPORTS["choice"]))
        both = [mechanism(REPORTS[kind]) for kind in ("one bit", "choice")]
        true = largest_of_two(*both, crowd, epsilon)
        assert true <= certify("shuffle", sent, crowd, epsilon).delta.upper * (1 + ROUNDING)


@pytest.mark.slow
def test_wrong_compositions_are_found_out():
    """One message instead of two, and a crowd of one person more."""
    assert below(lambda *case: certify("shuffle", *case).delta.upper) > 5
    assert below(lambda s, crowd, epsilon: of_two("shuffle", s, crowd + 1, epsilon)) > 0


def homogeneous(own, crowd, z):
    """What is collected if all others hold z, by each record of one person."""
    law = np.zeros((crowd + 1,) * (len(own) - 1))
    law[(0,) * (len(own) - 1)] = 1.0
    for _ in range(crowd - 1):
        law = truth.joined(law, own[:, z])
    return [truth.joined(law, column).ravel() for column in own.T]


CROWD, EPSILONS = 40, (0.1, 0.3, 0.6)


@pytest.fixture(scope="module")
def largest_of_forty():
    """Two messages of two bits each, the others all alike: at each epsilon the largest delta."""
    own = truth.of_bits(flip(0.35).matrix, 2, 0, 2)
    found = homogeneous(own, CROWD, 0)
    kept = [law[found[0] > 0] for law in found]
    tried = list(itertools.permutations(kept, 2))
    return [max(of_both(pair, pair, epsilon) for pair in tried) for epsilon in EPSILONS]


def composed(by, crowd):
    return [of_two(by, free(0.35, 2), crowd, epsilon) for epsilon in EPSILONS]


@pytest.mark.parametrize("by", ["shuffle", *slowly("seat")])
def test_two_messages_in_a_larger_crowd(by, largest_of_forty):
    """Where the seat promises more than the blanket does, and far more than nobody else."""
    found = composed(by, CROWD)
    assert all(true <= bound for true, bound in zip(largest_of_forty, found, strict=True))
    assert all(
        bound < 0.9 * less for bound, less in zip(found, composed("blanket", CROWD), strict=True)
    )
    assert all(
        bound < less / 2 for bound, less in zip(found, composed("local", CROWD), strict=True)
    )


def test_a_larger_crowd_is_found_out(largest_of_forty):
    wrong = composed("seat", 2 * CROWD)
    assert all(bound < true for true, bound in zip(largest_of_forty, wrong, strict=True))


# Surveys and plans


SURVEY = {
    "name": "clubs",
    "crowd": 5000,
    "privacy": {"epsilon": 1.0, "delta": 1e-5},
    "question": [{"id": "member", "type": "yesno"}, {"id": "owner", "type": "yesno"}],
}


def survey(**privacy):
    return Survey.of(SURVEY | {"privacy": SURVEY["privacy"] | privacy, "tables": "any"})


@pytest.mark.slow
def test_a_survey_that_names_none_has_it():
    made = incrowd.plan(survey())
    usual = incrowd.plan(survey(analysis="blanket"))
    assert made.guarantee.analysis == made.survey.privacy.analysis == "shuffle"
    assert usual.guarantee.analysis == "blanket"
    assert made.messages[0].noise < usual.messages[0].noise
    assert made.guarantee.worst[0].by == "seat" and made.guarantee.proved
    assert verify(made).holds and verify(made).certificate.by == "seat"
    assert verify(usual).holds and verify(usual).certificate.by == "blanket"


@pytest.mark.slow
def test_a_plan_of_the_blanket_does_not_hold_with_less_noise():
    """Nobody gets the seat's noise under the name of the blanket."""
    made, usual = incrowd.plan(survey()), incrowd.plan(survey(analysis="blanket"))
    assert not verify(usual.model_copy(update={"messages": made.messages})).holds


@pytest.mark.slow
def test_cells_are_told_exactly():
    """Cells that travel one by one: where flips are rare half as many ask for the same."""
    options = {"id": "page", "type": "choice", "options": [f"p{i}" for i in range(2000)]}
    found = {}
    for by in ("shuffle", "blanket"):
        raw = SURVEY | {"crowd": 10**6, "question": [options]}
        made = incrowd.plan(Survey.of(raw | {"privacy": SURVEY["privacy"] | {"analysis": by}}))
        found[by] = made.messages[0].noise.q
        assert verify(made).holds
    assert found["shuffle"] < 0.8 * found["blanket"]
