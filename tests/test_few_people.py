"""The table of docs/few-people.md has the figures of the planner."""

import math

import pytest

from tests.conftest import slowly_except
from tests.oracles.few_people import EPSILONS, PEOPLE, SURVEYS, lines, margin, on_page, row

ROWS = [(epsilon, people) for epsilon in EPSILONS for people in PEOPLE]


def cells():
    return [tuple(text.strip() for text in line[2:-2].split("|")) for line in on_page().split("\n")]


def test_the_table_has_every_row():
    head, _, *rest = cells()
    assert head == ("epsilon", "people", *SURVEYS)
    assert [each[:2] for each in rest] == [(f"{e:g}", f"{n:,}") for e, n in ROWS]
    assert on_page().split("\n")[2:] == [f"| {' | '.join(each)} |" for each in rest]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, people", slowly_except(ROWS, (2.0, 60), (1.0, 300)))
def test_each_row_has_the_figures_of_the_planner(epsilon, people):
    stated = dict(zip(ROWS, on_page().split("\n")[2:], strict=True))
    *_, wanted = lines([row(epsilon, people)])
    assert stated[epsilon, people] == wanted


def test_the_noise_of_services_is_the_same_for_any_number_of_people():
    """In people: a margin in points, times their number."""
    asked = "one yes/no question"
    few, many = (people * margin(asked, people, 2.0, "services") for people in (20, 1000))
    assert math.isclose(few, many, rel_tol=1e-9)


def test_what_the_page_says_of_many_tables():
    """With epsilon 1, four tables are as precise with noise from the devices."""
    four = "four by five departments"
    assert margin(four, 100, 1.0, "devices") < margin(four, 100, 1.0, "services")
    assert margin(four, 100, 2.0, "devices") > margin(four, 100, 2.0, "services")
