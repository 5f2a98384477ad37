"""Plans whose tables get noise from services, without the planner's search."""

from incrowd.accountant import AdditiveNoise
from incrowd.guarantees.certified import planned
from incrowd.plans import CellsMessage, Plan
from incrowd.survey import Survey

QUESTIONS = (
    {"id": "smokes", "type": "yesno"},
    {"id": "team", "type": "choice", "options": ["a", "b", "c"]},
)


def survey_of(questions=QUESTIONS, crowd=60, epsilon=2.0, delta=1e-4, service=None, **more):
    """A survey of few people."""
    privacy = {"epsilon": epsilon, "delta": delta, "noise": "services"}
    privacy |= {"service_epsilon": service} if service else {}
    return Survey.of(
        {"name": "few", "crowd": crowd, "privacy": privacy, "question": list(questions)} | more
    )


def law_of(survey, tables, loss=None):
    """A truncated discrete Laplace law that shifts of so many tables can be hidden by."""
    each = (loss or survey.privacy.service_epsilon or survey.privacy.epsilon) / (2 * tables)
    return AdditiveNoise.laplace(each, most=2 * round(14 / each))


def plan_of(survey, *tables, others=(), law=None):
    """A plan that sends each table of questions as cells; all questions in one by default.

    others: more messages.
    """
    tables = tables or (tuple(question.id for question in survey.randomized),)
    law = law or law_of(survey, len(tables))
    cells = tuple(
        CellsMessage(questions=tuple(map(survey.question, ids)), added=law) for ids in tables
    )
    messages = (*cells, *others)
    return Plan(survey=survey, messages=messages, guarantee=planned(survey, messages))
