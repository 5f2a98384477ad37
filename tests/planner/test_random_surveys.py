"""Plans of random surveys against homogeneous crowds: never less noise, and hardly more.

A certificate holds for every crowd, so that its noise is never below what a crowd needs in which
all others have the same bits, which the oracle computes exactly, and without the accountant. How
far above shows what certainty costs. Tables of exclusive answers and of options, alone and crossed;
1 to 20 tables, 100 to a million people, epsilon .3 to 3.
"""

from itertools import combinations

import numpy as np
import pytest

import incrowd
from incrowd.survey import Multi, YesNo
from tests.oracles.one_bit_crowds import excess_variance

LOW, HIGH = 1 - 1e-4, 1.015  # of the noise variance, over what a homogeneous crowd needs


def random_survey(seed):
    """A survey of one yes/no question, choices, and perhaps one of several options."""
    generator = np.random.default_rng(seed)
    number = int(generator.integers(1, 21))
    questions = [{"id": "a", "type": "yesno", "optional": bool(generator.integers(2))}]
    for place in range(int(generator.integers(max(1, number // 4), 9))):
        options = [f"o{i}" for i in range(generator.integers(3, 7))]
        question = {"id": f"c{place}", "type": "choice", "options": options}
        questions.append(question | {"optional": bool(generator.integers(2))})
    if generator.integers(2):
        options, most = [f"o{i}" for i in range(5)], int(generator.integers(1, 4))
        questions.append({"id": "m", "type": "multi", "options": options, "at_most": most})
    ids = [question["id"] for question in questions]
    possible = [pair for size in (2, 3) for pair in combinations(ids, size)]
    chosen = generator.permutation(len(possible))[: min(number, len(possible))]
    crowd = int(10 ** generator.uniform(2, 6))
    privacy = {
        "epsilon": round(float(np.exp(generator.uniform(np.log(0.3), np.log(3)))), 3),
        "delta": float(10 ** generator.uniform(-8, -5)),
    }
    raw = {"name": f"survey {seed}", "crowd": crowd, "privacy": privacy, "question": questions}
    return incrowd.Survey.of(raw | {"table": [{"questions": possible[i]} for i in chosen]})


def differing(message):
    """In how many cells of a message two people's answers can differ: two of exclusive answers, or
    one where a single bit tells them; of at most m options 2 m, and crossed two more, "any"."""
    several = [q for q in message.questions if isinstance(q, Multi) and q.at_most > 1]
    if several:
        (options,) = several
        if len(message.questions) > 1:
            return 2 * options.at_most + 2
        return min(2 * options.at_most, len(options.options))
    (first, *others) = message.questions
    return 1 if isinstance(first, YesNo) and not first.optional and not others else 2


def checked(seed, sent=differing):
    """The noise variance of a plan over what a homogeneous crowd needs."""
    made = incrowd.plan(random_survey(seed))
    assert all(message.cells for message in made.messages)
    privacy = made.survey.privacy
    bits = [(message.noise.q, sent(message)) for message in made.messages]
    return excess_variance(bits, made.survey.crowd, privacy.epsilon, privacy.delta)


@pytest.mark.parametrize("seed", range(4))
def test_plans_have_the_noise_that_a_homogeneous_crowd_needs(seed):
    """Wrong: one bit fewer of each message, which makes of the same noise far too much."""
    assert LOW <= checked(seed) <= HIGH
    assert checked(seed, lambda message: max(differing(message) - 1, 1)) > HIGH
