"""Figures that tests expect, and the script of this folder that made each table.

`tests/oracles/test_expected.py` makes them anew, slowly.
"""

import math

# By small_crowds.homogeneous, to all digits; the last row by contour.
# q, bits, crowd, epsilon, delta presence, delta absence, eta presence, eta absence
HOMOGENEOUS = [
    (0.30, 2, 120, 0.7, 2.364161e-12, 2.229051e-08, 1.769227e-10, 7.514439e-07),
    (0.35, 3, 60, 0.5, 3.449004e-05, 1.196020e-04, 9.536344e-04, 2.558070e-03),
    (0.15, 2, 200, 1.0, 2.405998e-06, 2.415867e-03, 4.741945e-05, 1.076571e-02),
    (0.02, 1, 1000, 1.0, 1.147580e-12, 5.053126e-05, 4.613949e-11, 7.124607e-04),
    (0.2446, 5, 1000, math.log(2), 5.02340e-04, 1.10616e-04, 7.06763e-03, 2.14275e-03),
]
ENUMERABLE = HOMOGENEOUS[:4]

# By homogeneous.presence; eta by homogeneous.drawn. q, bits, crowd, epsilon, delta, eta
MANY_BITS = (0.3432, 40, 10**7, 2.0, 2.098e-3, 6.1e-3)

# By records.blanket. q, questions as (options, at most, at least), crowd, epsilon, delta
BIT = (1, 1, 0)
BLANKET = [
    (0.30, [BIT] * 2, 120, 0.7, 2.210202e-06),
    (0.35, [BIT] * 3, 60, 0.5, 1.683399e-03),
    (0.15, [BIT] * 2, 200, 1.0, 6.839676e-03),
    (0.10, [BIT], 200, 1.0, 1.578944e-05),
    (0.20, [BIT, (4, 1, 1), (5, 1, 1)], 20_000, 1.0, 1.09300e-06),
    (0.20, [BIT, (3, 1, 1)], 1000, 1.0, 2.56597e-05),
    (0.25, [(4, 2, 0)], 1500, 1.0, 2.76395e-08),
]

# By contour: the noise lies between both. bits, crowd, epsilon, wanted delta, between
CALIBRATED = [
    (40, 10**7, 2.0, 1e-3, 0.37021, 0.37025),
    (40, 10**7, 2.0, 1e-8, 0.38635, 0.38645),
    (8, 10**5, 1.0, 1e-6, 0.23585, 0.23595),
]

# By contour. A choice of three options: q, crowd, epsilon, delta if the crowd holds the third
# option, if it holds that of x' (presence), if it holds that of x (absence)
THIRD_OPTION = (0.1, 1000, 0.8, 2.34238e-03, 1.7525e-06, 9.22246e-04)
