"""Questions whose set bits travel unlinked: what a survey can ask of them."""

import pytest

import incrowd
from incrowd.errors import SurveyError
from tests.conftest import unlinked_survey


def test_what_travels_apart_stands_alone_in_the_survey():
    raw = unlinked_survey(list("abc")).model_dump(by_alias=True)
    raw["question"] = [*raw["question"], {"id": "old", "type": "yesno"}]
    both = [{"questions": ["old", "home"]}]
    for kind in ("table", "message"):
        with pytest.raises(SurveyError, match=f"'home'; its bits .*; give it a {kind}"):
            incrowd.Survey.of(raw | {kind: both})
