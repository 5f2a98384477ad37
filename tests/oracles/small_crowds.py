"""delta and eta of a homogeneous crowd, and the blanket's bound, added up over every collection.

From the definition alone, in 40 digits: no G, no lattice, no tilt. A report counts by the number
of its bits that are set, which is all that tells ones from zeros among zeros.
"""

from mpmath import binomial, exp, factorial, mp, mpf

mp.dps = 40


def histograms(people, kinds):
    """Every way in which so many reports fall into the kinds."""
    if kinds == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in histograms(people - first, kinds - 1):
            yield (first, *rest)


def bit_law(bits, one):
    """The law of the number of set bits, each set with the same chance."""
    return [binomial(bits, n) * one**n * (1 - one) ** (bits - n) for n in range(bits + 1)]


class Crowd:
    """N - 1 people who all hold zeros, and one with ones or zeros."""

    def __init__(self, q, bits, people):
        self.people, self.kinds = people, bits + 1
        self.zeros, self.ones = bit_law(bits, mpf(q)), bit_law(bits, 1 - mpf(q))
        self.powers = [[z**n / factorial(n) for n in range(people + 1)] for z in self.zeros]

    def chance(self, counts):
        """P[these counts of the others], 0 if one is negative."""
        if min(counts) < 0:
            return mpf(0)
        found = factorial(self.people - 1)
        for powers, count in zip(self.powers, counts, strict=True):
            found *= powers[count]
        return found

    def chances(self):
        """P[collection] with the outlier and without, for every collection."""
        for counts in histograms(self.people, self.kinds):
            less = [
                self.chance((*counts[:kind], counts[kind] - 1, *counts[kind + 1 :]))
                for kind in range(self.kinds)
            ]
            yield tuple(
                sum(own * rest for own, rest in zip(law, less, strict=True))
                for law in (self.ones, self.zeros)
            )


def homogeneous(q, bits, people, epsilon):
    """delta presence, delta absence, eta presence, eta absence."""
    most, found = exp(mpf(epsilon)), [mpf(0)] * 4
    for there, away in Crowd(q, bits, people).chances():
        for order, (one, other) in enumerate(((there, away), (away, there))):
            if one > most * other:
                found[order] += one - most * other
                found[2 + order] += one
    return [float(value) for value in found]
