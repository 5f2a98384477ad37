"""Random surveys of tables."""

from itertools import combinations

import numpy as np

import incrowd


def random_survey(seed, most=20):
    """A survey of one yes/no question, choices, and perhaps one of several options; so many tables
    at most, those of single questions among them."""
    generator = np.random.default_rng(seed)
    number = int(generator.integers(1, most + 1))
    asked = int(generator.integers(min(number, 2), min(number, 9) + 1))
    several = asked > 1 and generator.integers(2)
    questions = [{"id": "a", "type": "yesno", "optional": bool(generator.integers(2))}]
    for place in range(asked - 1 - several):
        options = [f"o{i}" for i in range(generator.integers(3, 7))]
        question = {"id": f"c{place}", "type": "choice", "options": options}
        questions.append(question | {"optional": bool(generator.integers(2))})
    if several:
        options, at_most = [f"o{i}" for i in range(5)], int(generator.integers(1, 4))
        questions.append({"id": "m", "type": "multi", "options": options, "at_most": at_most})
    ids = [question["id"] for question in questions]
    possible = [pair for size in (2, 3) for pair in combinations(ids, size)]
    chosen = generator.permutation(len(possible))[: number - asked]
    privacy = {
        "epsilon": round(float(np.exp(generator.uniform(np.log(0.3), np.log(3)))), 3),
        "delta": float(10 ** generator.uniform(-8, -5)),
    }
    raw = {"name": "random", "crowd": int(10 ** generator.uniform(2, 6)), "privacy": privacy}
    tables = [{"questions": possible[place]} for place in chosen]
    return incrowd.Survey.of(raw | {"question": questions, "table": tables})
