"""Cells whose codes may be several answers, or an answer of two words."""

import pytest

from incrowd.drafts.lists import may_list


@pytest.mark.parametrize(
    ("cells", "doubtful"),
    [
        (("beer wine", "wine", "tea"), "beer wine"),
        (("a_1 a_2", "a_2 a_3", "none"), "a_1 a_2"),
        (("north east", "south west"), None),
        (("Very good", "Very bad", "good"), None),  # words of people, not codes
        (("fever", "cough"), None),
        (("married", "not married"), None),  # the opposite, in two words
        (("none", "not often", "often"), None),
    ],
)
def test_codes_that_recur_between_spaces_are_asked_about(cells, doubtful):
    assert may_list(dict.fromkeys(cells, 10)) == doubtful
