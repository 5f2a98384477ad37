"""A plan whose reports are read with some answers merged: docs/estimates.md#merging-answers."""

from __future__ import annotations

from incrowd.plans.plan import Plan
from incrowd.survey.merging import Merge, merged_questions


def with_merged(plan: Plan, merge: Merge | None) -> Plan:
    """The same plan, whose questions are read with merged answers.

    It is equal in everything that was promised and sent, its digest included. merge: for each
    question groups of answers, or a name for each group. Raises UsageError for what cannot be
    merged.
    """
    if not merge:
        return plan
    questions = merged_questions(plan.survey.questions, merge)
    survey = plan.survey.model_copy(update={"questions": tuple(questions.values())})
    messages = tuple(
        message.model_copy(update={"questions": tuple(questions[id] for id in message.ids)})
        for message in plan.messages
    )
    return plan.model_copy(update={"survey": survey, "messages": messages})
