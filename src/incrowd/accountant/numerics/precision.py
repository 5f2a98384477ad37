"""What double precision may do, and what is allowed for it.

IEEE 754 makes one operation err by at most UNIT / 2 of its result, and the elementary functions of
numpy and scipy by a few UNIT. Three kinds of constant follow from that.

Allowances are added to upper bounds, so that rounding cannot lower them. Some are proved by
counting operations, some are margins; each says which, and tests against exact fractions, mpmath
and enumeration stay far inside them (docs/mathematics.md, "Rounding").

Ties: a value that is zero in exact arithmetic is rarely zero in doubles. Where being positive
counts, and not how much, values as close to zero as rounding can bring them count as zero.

Ends of the range: exponents that are cut before exp overflows, results below which only a
positive number is given.
"""

from __future__ import annotations

import math

UNIT = 2.0**-52  # from 1 to the next double; one operation errs by half of that at most
OPERATIONS = 4 * UNIT  # of a quotient's logarithm: three operations, of half to one UNIT each

# The sum of N draws: N times the error of ln E[exp(theta X)], a few UNIT of the mass off zero, and
# as much as this many draws for the transforms. A margin, not a proof.
TRANSFORMS = 1000
PER_PERSON = 4  # of `modulus_bound`, whose n-th power multiplies errors of two logarithms

# Sums over outcomes: chances are exponentials of differences of ln k!, which err by about as many
# UNIT as their size (`positive_part` adds that), and these are sums of up to 10^6 positive terms,
# whose pairwise summation errs by some 20 UNIT.
SUM_OF_OUTCOMES = 1e-12
PROBABILITY = 1e-12  # of sums and products of up to some thousand probabilities, each of few UNIT
ENUMERATED = (
    1e-9  # of delta over all collections: chances of a count vector err by 1e-11 at most (500
)
# people, `enumeration`), binomial ones by N UNIT of their sums (`one_bit`); the rest is margin
PHASE = 8 * UNIT  # of a phase or an exponent of size 1: about a UNIT, and a margin of 8

# Ties.
TIED_SUM = 1e-12  # relative to its terms: a sum of N draws errs by N UNIT at most, and N < 4000
TIED_RATIO = (
    1e-10  # a ratio of two such chances as close to e^epsilon equals it: a tenth of ENUMERATED
)
NO_MASS = 1e-12  # what is missing to one in a law of up to 4000 atoms may be nothing but rounding

# Ends of the range.
SMALLEST = 1e-300  # a positive bound is never given as less: denormal numbers lose their digits
LOG_SMALLEST = math.log(SMALLEST)
MOST_EXPONENT = 700.0  # exp of it is 1e304; beyond 709.7 it overflows
EXPONENT_TO_ADD = 690.0  # where up to e^19 such terms are added
EXPONENT_TO_MULTIPLY = 600.0  # where exp of it is multiplied by up to e^100


def relative(draws: float) -> float:
    """The allowance for a sum of so many draws, as a share of the result."""
    return OPERATIONS * (TRANSFORMS + draws)
