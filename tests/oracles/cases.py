"""Which cases of a parametrized test are quick, and how many random examples a test tries."""

import os

import pytest
from hypothesis import settings


def examples(number):
    """Settings of a test by hypothesis: so many examples in `make test-slow`, else an eighth."""
    few = min(number, max(number // 8, 10))
    return settings(max_examples=number if "LONG_TESTS" in os.environ else few, deadline=None)


def slowly(*cases, whole=False):
    """Cases of a parametrization that repeat at length what a quick one of them tests.

    whole: a case is one argument, even if it is a tuple."""
    return [_slow(case, whole) for case in cases]


def _slow(case, whole):
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    several = type(case) is tuple and not whole
    return pytest.param(*(case if several else (case,)), marks=pytest.mark.slow)


def slowly_except(cases, *quick):
    """Cases of which only these are quick: the others repeat at length what they test."""
    return [case if case in quick else slowly(case)[0] for case in cases]


def one_in(number, cases, whole=False):
    """Cases of which the first of every so many is quick, and the others repeat it at length.

    whole: as in `slowly`."""
    return [case if n % number == 0 else _slow(case, whole) for n, case in enumerate(cases)]
