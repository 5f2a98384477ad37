"""What a draft promises: it can be loaded and planned, and takes the data that it was drafted
from."""

import tomllib
import warnings

import pytest

import incrowd
from tests.conftest import one_in
from tests.oracles.invented_files import KINDS, invented

QUICK, ALL = 2, 25  # files of each kind: 24 and 300


def keeps_its_promise(data):
    """Whether a draft of the data can be planned and takes them; files with nothing to ask are
    refused."""
    try:
        draft = incrowd.draft(data)
    except incrowd.AnswersError:
        return False
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    check = incrowd.check(survey, data)
    assert check.accepted, [str(each) for each in check.findings]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert incrowd.plan(survey).survey.crowd == survey.crowd
    decisions = sum("look alike" in each for each in draft.undecided)
    assert len(warned) <= decisions, [str(each.message) for each in warned]
    return True


@pytest.mark.parametrize("kind", one_in(4, KINDS))
@pytest.mark.parametrize("seed", range(QUICK))
def test_a_draft_is_planned_and_takes_its_data(kind, seed, tmp_path):
    assert keeps_its_promise(invented(kind, seed, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_draft_is_planned_and_takes_its_data(kind, tmp_path):
    drafted = [keeps_its_promise(invented(kind, seed, tmp_path)) for seed in range(QUICK, ALL)]
    assert all(drafted)
