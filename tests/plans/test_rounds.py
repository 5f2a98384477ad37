"""Which rounds repeat permanent responses: their series is the one that a device draws from."""

import pytest

import incrowd
from incrowd.plans.ledger import Ledger, repeats

MEMOIZED = {"kind": "rappor", "f": 0.5, "memoized": True}
PRIVACY = {"epsilon": 0.9, "delta": 0.2}


def survey(name="weekly", f=0.5, memoized=True, extra=()):
    asked = {"id": "a", "type": "yesno", "randomizer": MEMOIZED | {"f": f, "memoized": memoized}}
    raw = {"name": name, "crowd": 300, "privacy": PRIVACY, "question": [asked, *extra]}
    return incrowd.Survey.of(raw)


@pytest.fixture(scope="module")
def first():
    return incrowd.plan(survey())


def after(first, **changes):
    return incrowd.plan(survey(**changes), earlier=Ledger().with_plan(first, None).asked)


def test_a_later_round_repeats_what_its_devices_repeat(first):
    assert not repeats(first)
    again = after(first, extra=[{"id": "b", "type": "yesno"}])
    assert repeats(again) and repeats(after(first))


@pytest.mark.parametrize("changes", [{"name": "other"}, {"f": 0.6}, {"memoized": False}])
def test_another_survey_noise_or_fresh_noise_repeats_nothing(first, changes):
    """Wrong: the question's id alone, which is the same."""
    assert not repeats(after(first, **changes))
