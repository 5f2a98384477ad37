"""How many bits of each message two records can differ in, against all pairs of records."""

import itertools

import pytest

from incrowd.plans import CellsMessage, JointReport
from incrowd.plans.changes import families
from incrowd.survey import YesNo
from tests.oracles.parities import messages_of, survey_of


def parities(answers):
    return [one != other for one, other in itertools.combinations(answers, 2)]


def unlike(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def differences(count, times):
    """(parities, single bits) in which any two sequences of records differ."""
    records = list(itertools.product((0, 1), repeat=count))
    each = {
        (unlike(parities(x), parities(y)), unlike(x, y))
        for x, y in itertools.product(records, repeat=2)
    }
    found = {(0, 0)}
    for _ in range(times):
        found = {(a + c, b + d) for a, b in found for c, d in each}
    return found


def exceeded(by, found):
    return any(all(n <= m for n, m in zip(by, other, strict=True)) for other in found)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_all_differences_and_no_more(count, times):
    """Every pair of records, of one row or several: none exceeds all that are counted, and each of
    these is one that there is. Counted for each message by itself there would be more."""
    survey = survey_of(count)
    [family] = families(messages_of(survey, 2**30, 2**28))
    counted = [(pairs, sum(bits)) for pairs, *bits in family.differences(times)]
    there = differences(count, times)
    assert all(exceeded(each, counted) for each in there)
    assert set(counted) <= there
    apart = (times * (count**2 // 4), times * count)
    assert not exceeded(apart, counted)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("count", "bits"), [(2, 0), (2, 1), (3, 0), (3, 2), (4, 0), (5, 3)])
def test_parities_of_questions_of_which_only_some_have_single_bits(count, bits, times):
    """Other messages, such as a table of cells, hold the rest: against all pairs of records."""
    survey = survey_of(count)
    pairs, *single = messages_of(survey, 2**30, 2**28)
    [family] = families([pairs, *single[:bits]])
    counted = [(parity, sum(rest)) for parity, *rest in family.differences(times)]
    records = list(itertools.product((0, 1), repeat=count))
    each = {
        (unlike(parities(x), parities(y)), unlike(x[:bits], y[:bits]))
        for x, y in itertools.product(records, repeat=2)
    }
    several = itertools.product(each, repeat=times)
    there = {tuple(map(sum, zip(*some, strict=True))) for some in several}
    assert all(exceeded(one, counted) for one in there)
    assert set(counted) <= there
    assert not any(exceeded(one, [*{*counted} - {one}]) for one in counted)
    assert len(set(counted)) == len(counted)


def test_changes_of_half_the_answers_alone_would_be_too_few():
    """Two of four questions, which change most parities: 4 and 2 bits, but 3 answers change 3
    and 3."""
    assert not exceeded((3, 3), [(4, 2)])
    assert (3, 3) in differences(4, 1)


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_fewer_tuples_are_no_less(most):
    [family] = families(messages_of(survey_of(6), 2**30, 2**28))
    few, whole = list(family.differences(3, most)), list(family.differences(3))
    assert len(few) <= most < len(whole)
    assert all(exceeded(each, few) for each in whole)


def test_single_bits_count_with_the_parities_of_their_questions():
    """The least noise first, since it tells most; other messages count by themselves."""
    survey = survey_of(4)
    a, b, c, d = survey.questions
    pairs = CellsMessage(questions=(a, b, c), noise_numerator=2**30, parities=True)
    bits = [
        CellsMessage(questions=(q,), noise_numerator=n) for q, n in ((a, 300), (b, 100), (d, 50))
    ]
    crossed, again = (
        CellsMessage(questions=(c, d), noise_numerator=7),
        CellsMessage(questions=(a,), noise_numerator=400),
    )
    joint = JointReport(questions=(d,), noise_numerator=2**30)
    found = families([joint, *bits, crossed, again, pairs])
    assert found[0].messages == (pairs, bits[1], bits[0])
    assert [family.messages for family in found[1:]] == [(joint,), (bits[2],), (crossed,), (again,)]
    assert list(found[0].differences(1)) == [(2, 1, 1)]  # if all three change: no parity, (0, 1, 1)
    assert [list(family.differences(2)) for family in found[1:]] == [[(2,)], [(2,)], [(4,)], [(2,)]]


def test_what_two_parities_have_in_common_is_counted_once():
    """A bit whose question is in both counts with the first; with the second it would count
    twice."""
    survey = survey_of(3)
    a, b, c = survey.questions
    one, two = (
        CellsMessage(questions=asked, noise_numerator=2**30, parities=True)
        for asked in ((a, b), (b, c))
    )
    bits = [
        CellsMessage(questions=(question,), noise_numerator=100) for question in survey.questions
    ]
    assert [family.messages for family in families([one, two, *bits])] == [
        (one, bits[0], bits[1]),
        (two, bits[2]),
    ]


def test_no_question_is_lost():
    """Each message is in exactly one family, however many are alike."""
    question = YesNo(id="a", type="yesno")
    alike = [CellsMessage(questions=(question,), noise_numerator=100) for _ in range(3)]
    assert sum(len(family.messages) for family in families(alike)) == 3
