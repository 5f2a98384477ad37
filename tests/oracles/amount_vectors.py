"""Vectors of amounts: the chance of the upper edge, and what a drawn word makes of it."""

import numpy as np
import pyarrow as pa

from incrowd.encoding.records import EncodedAnswers, encode, pack
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import rounded
from incrowd.survey import Amount

WHOLE = 2**32
FEW, TWO, WIDE = [0, 20, 40, 80], [-1.5, 0.1], [0, 2**33]  # odd numbers of the last: a half is left
GIVEN = [
    (FEW, False, [25, 40, 39.999999, 79.99, 0, -3, 200, 1e300]),
    (FEW, True, [25, None, 80]),
    (TWO, False, [-0.7, -1.5, 0.1, 0.0999999999, 7]),
    (TWO, True, [0, None]),
    (WIDE, False, [1, 2, 3, 5, 2**32]),
]
NO_EDGES = [[1], [1, 0], [0, 0], [1, 1 + 1e-14], [-1.7e308, 1.7e308]]


class OneWord(Keystream):
    """A stream that gives one word."""

    def __init__(self, word):
        super().__init__(bytes(32), bytes(16))
        self.left = [word]

    def words(self, count):
        return np.array([self.left.pop() for _ in range(count)], np.uint64)


def amounts():
    right = [amount_case(*given, answer) for *given, answers in GIVEN for answer in answers]
    return {"right": right, "no_edges": NO_EDGES}


def amount_case(edges, optional, answer):
    """drawn: the highest word that rounds up, and the lowest that does not."""
    question = Amount(id="q", edges=edges, optional=optional)
    people = EncodedAnswers(1, encode([question], pa.table({"q": [answer]})))
    chance = int(people.encoded["q"].up[0])
    words = [chance * WHOLE - 1] * (chance > 0) + [chance * WHOLE] * (chance < WHOLE)
    drawn = [{"word": f"{word:016x}", "record": record(question, people, word)} for word in words]
    given = {"edges": edges, "optional": optional, "answer": answer}
    return given | {"chance": chance, "drawn": drawn}


def record(question, people, word):
    found = rounded(people, OneWord(word)).encoded
    return pack([question], found, 1)[0].tobytes().hex()
