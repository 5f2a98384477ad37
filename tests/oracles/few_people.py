"""The table of docs/few-people.md: margins of error by noise alone, computed by the planner.

`python -m tests.oracles.few_people` writes it into the page.
"""

import re
from functools import cache
from pathlib import Path

from incrowd.errors import PrivacyError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.planner.forecast import forecast
from incrowd.planner.plan import make_plan
from incrowd.survey import Survey

PAGE = Path(__file__).parents[2] / "docs" / "few-people.md"
PLACE = re.compile(r"(<!-- few people: [^>]*-->\n\n)(.*?)(\n\n)", re.DOTALL)
PEOPLE = (20, 40, 60, 100, 300, 1000)
EPSILONS = (1.0, 2.0)
YES_NO = {"type": "yesno"}
FIVE = {"id": "department", "type": "choice", "options": ["a", "b", "c", "d", "e"]}
SURVEYS = {  # what is asked: the numbers of yes/no questions, and whether by five departments
    "one yes/no question": (1, False),
    "one by five departments": (1, True),
    "two by five departments": (2, True),
    "four by five departments": (4, True),
}


def survey(asked, people, epsilon, noise):
    """Ask all people some yes/no questions, each as a table with departments if wanted."""
    questions, departments = SURVEYS[asked]
    ids = [f"q{number}" for number in range(questions)]
    raw = {"name": asked, "crowd": people, "census": True}
    raw |= {"privacy": {"epsilon": epsilon, "delta": 1e-5, "noise": noise}}
    raw |= {"question": [{"id": id} | YES_NO for id in ids] + [FIVE] * departments}
    if departments:
        raw |= {"table": [{"questions": [id, FIVE["id"]]} for id in ids]}
    return Survey.of(raw)


@cache
def margin(asked, people, epsilon, noise):
    """The largest margin of a cell of the wanted tables by noise alone, in points; None if no plan
    keeps the promise."""
    try:
        plan = make_plan(survey(asked, people, epsilon, noise))
    except PrivacyError:
        return None
    wanted = {frozenset(ids) for ids in plan.survey.counted}
    tables = [each for each in forecast(plan) if frozenset(each.questions) in wanted]
    return 100 * HALF_WIDTH * max(each.noise_error for each in tables)


def written(points):
    if points is None:
        return "–"
    return f"{points:.0f}" if points >= 9.95 else f"{points:.1f}"


def cell(asked, people, epsilon):
    services, devices = (margin(asked, people, epsilon, kind) for kind in ("services", "devices"))
    return f"{written(services)} ({written(devices)})"


def row(epsilon, people):
    return (f"{epsilon:g}", f"{people:,}", *(cell(asked, people, epsilon) for asked in SURVEYS))


def lines(rows):
    head = ("epsilon", "people", *SURVEYS)
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(each)} |" for each in rows)


def on_page():
    """The table as the page has it."""
    return PLACE.search(PAGE.read_text())[2]


def main():
    rows = (row(epsilon, people) for epsilon in EPSILONS for people in PEOPLE)
    table = "\n".join(lines(rows))
    text = PAGE.read_text()
    PAGE.write_text(PLACE.sub(lambda found: found[1] + table + found[3], text))


if __name__ == "__main__":
    main()
