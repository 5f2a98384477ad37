"""Every two features of regressions of interviews: carried out, refused, or without an option."""

import numpy as np
import pytest

from tests.oracles.interview_pairs import (
    BEGIN,
    PAGE,
    answers_of,
    fitted,
    log_likelihood,
    meeting,
    pairs,
    table,
    written,
)

QUICK = (
    frozenset(("groups", "missing reports")),
    frozenset(("ordinal model", "several answers")),
)
CASES = [
    pytest.param(
        pair, marks=() if pair in QUICK else pytest.mark.slow, id=" and ".join(sorted(pair))
    )
    for pair in pairs()
]


@pytest.mark.parametrize("pair", CASES)
def test_two_features_meet_as_the_manual_says(pair):
    assert meeting(pair) == written()[pair]


def test_the_manual_has_every_pair():
    assert len(written()) == len(pairs()) == 91
    assert "\n".join(table(written())) in PAGE.read_text(encoding="utf-8").partition(BEGIN)[2]


def test_an_estimate_without_the_weights_is_not_at_the_maximum():
    """The wrong variant: the likelihood that ignores the weights rises at the estimate."""
    pair = frozenset(("weights", "groups"))
    answers, rows, laws = answers_of(pair)
    parameters = fitted(answers, pair)
    alike = rows | {"w": np.ones(len(rows["w"]))}
    move = np.array([0.0, 1e-4])
    ends = [log_likelihood(parameters + each, pair, alike, laws) for each in (move, -move)]
    assert abs(ends[0] - ends[1]) / 2e-4 > 1
