"""The smallest noise that keeps what the survey promises."""

from __future__ import annotations

from incrowd.accounting import local
from incrowd.plan import Guarantee, Message, Plan
from incrowd.survey import Survey


def make_plan(survey: Survey) -> Plan:
    """One message with all questions, and the smallest noise that gives the wanted guarantee.

    Raises PrivacyError if no noise gives it.
    """
    questions = tuple(question.id for question in survey.questions)
    distance = sum(question.domain.distance for question in survey.questions)
    channel = local.noise(survey.privacy.epsilon, distance, survey.copies)
    message = Message(questions=questions, noise_numerator=channel.numerator, copies=survey.copies)
    return Plan(survey=survey, messages=(message,), guarantee=_guarantee(survey))


def _guarantee(survey: Survey) -> Guarantee:
    return Guarantee(
        analysis="local",
        epsilon=survey.privacy.epsilon,
        delta=0.0,
        crowd=survey.crowd,
        assumption=local.ASSUMPTION,
    )


def guarantee_for(plan: Plan, crowd: int) -> Guarantee:
    """What the plan's noise guarantees to each of `crowd` people.

    A larger crowd than planned changes nothing: the plan's own guarantee is what was promised.
    """
    if crowd >= plan.guarantee.crowd:
        return plan.guarantee
    return plan.guarantee.model_copy(update={"crowd": crowd})
