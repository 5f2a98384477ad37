"""Records, reports and the blanket of a few questions under a bit flip, listed one by one."""

from itertools import combinations, product

import numpy as np

from tests.oracles.contour import divergence


def held(options, at_most, at_least=0):
    """Every allowed answer as bits."""
    sizes = range(at_least, at_most + 1)
    chosen = (set(some) for size in sizes for some in combinations(range(options), size))
    return [tuple(int(i in some) for i in range(options)) for some in chosen]


def laws(q, questions):
    """P(report | record), one row for each record; questions: (options, at most, at least)."""
    records = np.array([sum(r, ()) for r in product(*(held(*asked) for asked in questions))])
    reports = np.array(list(product((0, 1), repeat=records.shape[1])))
    flips = (records[:, None] != reports).sum(axis=2)
    return q**flips * (1.0 - q) ** (records.shape[1] - flips)


def blanket(q, questions, crowd, epsilon):
    """The blanket's bound: the largest over all ordered pairs of records, all of them listed."""
    chances = laws(q, questions)
    cover = chances.min(axis=0)
    pairs = {
        kind(chances[x], chances[y], cover): (x, y)
        for x, y in product(range(len(chances)), repeat=2)
        if x != y
    }
    return max(divergence(chances[x], chances[y], cover, crowd, epsilon) for x, y in pairs.values())


def kind(*rows):
    """The same for pairs that differ by the order of reports alone."""
    found = np.round(np.log(rows), 9)
    return found[:, np.lexsort(found)].tobytes()
