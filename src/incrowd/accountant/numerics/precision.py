"""The errors of double precision, and the allowances for them.

In IEEE 754 the relative error of one operation is at most UNIT / 2, and that of the elementary
functions of numpy and scipy a few UNIT. Three kinds of constants follow from this.

Allowances are added to upper bounds, so that rounding cannot lower them. Some are proved by
counting operations, others are margins, as stated for each; tests against exact fractions, mpmath,
and enumeration stay far below them (docs/mathematics.md, "Rounding").

Ties: a value that is zero in exact arithmetic is rarely zero in doubles. Where only the sign
matters, values that are as close to zero as rounding errors count as zero.

Limits of the range: exponents are limited before exp overflows, and positive results are not
allowed to become zero.
"""

from __future__ import annotations

import math

UNIT = 2.0**-52  # from 1 to the next double; the error of one operation is at most half of that
OPERATIONS = 4 * UNIT  # the logarithm of a quotient: three operations, half to one UNIT each

# The sum of N draws: N times the error of ln E[exp(theta X)], a few UNIT of the mass off zero, and
# for the transforms as much as for this many draws. A margin, not a proof.
TRANSFORMS = 1000
PER_PERSON = 4  # in `contours`, whose n-th power multiplies the errors of two logarithms

# Sums over outcomes: probabilities are exponentials of differences of ln k!, whose errors are about
# as many UNIT as their size (`positive_part` adds that). The sums have up to 10^6 positive terms;
# the error of pairwise summation is about 20 UNIT.
SUM_OF_OUTCOMES = 1e-12
PROBABILITY = 1e-12  # sums and products of up to some thousand probabilities, a few UNIT each
# delta over all collections: the errors of count vectors' probabilities are at most 1e-11 (500
# people, `enumeration`), those of binomial ones N UNIT of their sums (`one_bit`); with a margin.
ENUMERATED = 1e-9
PHASE = 8 * UNIT  # a phase or an exponent of size 1: about a UNIT, with a margin of 8

# Ties.
TIED_SUM = 1e-12  # relative to its terms: the error of a sum of N < 4000 draws is at most N UNIT
TIED_RATIO = 1e-10  # ratios of such probabilities this close to e^epsilon are equal to it
NO_MASS = 1e-12  # the mass missing from 1 in a law of up to 4000 atoms may be due to rounding

# Limits of the range.
SMALLEST = 1e-300  # positive bounds are at least this: denormal numbers lose digits
LOG_SMALLEST = math.log(SMALLEST)
LEAST_DELTA = 1e-290  # a search for a smaller one would find that limit, not the noise
# A composition of some reports ends its curves at 1e-13, and adds 1e-16 or less for each of them
# (`curves.NEGLIGIBLE`, `PrivacyCurve.doubt`). A smaller delta than these drowns in allowances.
LEAST_COMPOSED, LEAST_PER_REPORT = 1e-12, 1e-15
MOST_EXPONENT = 700.0  # exp of it is 1e304; beyond 709.7 it overflows
EXPONENT_TO_ADD = 690.0  # if up to e^19 such terms are added
EXPONENT_TO_MULTIPLY = 600.0  # if exp of it is multiplied by up to e^100


def relative(draws: float) -> float:
    """Return the allowance for a sum of that many draws, as a share of the result."""
    return OPERATIONS * (TRANSFORMS + draws)


def grown(bound: float, exponent: float) -> float:
    """Return an upper bound times e^exponent, at most 1; also 1 if that power is out of range."""
    if exponent >= MOST_EXPONENT:
        return float(bound > 0)
    return min(bound * math.exp(exponent), 1.0)
