"""The worst pair in words: what they say is true of records that are written out."""

import pytest

from incrowd.accountant.pairs import relation_words


@pytest.mark.parametrize(
    ("x", "other", "z", "words"),
    [
        ("1110", "1101", "0000", "each differ from z in 3 bits, 2"),
        ("1100", "0011", "0000", "each differ from z in 2 bits, none"),
        ("1110", "0100", "0000", "differ from z in 3 and in 1 bit, 1"),
        ("0101", "0101"[::-1], "0101", "z record, and one that differs from it in 4 bits"),
    ],
)
def test_the_words_say_how_three_records_lie(x, other, z, words):
    one = {place for place, (bit, held) in enumerate(zip(x, z, strict=True)) if bit != held}
    two = {place for place, (bit, held) in enumerate(zip(other, z, strict=True)) if bit != held}
    said = relation_words("z", len(one), len(two), len(one & two))
    assert said.removeprefix("two records that").removesuffix(" of them the same").strip() == words


def test_answers_that_are_sent_whole_are_places():
    assert relation_words("z", 2, 2, 1, "place").endswith("in 2 places, 1 of them the same")
