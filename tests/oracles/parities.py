"""Surveys of yes/no questions, and messages that send them as parities and single bits."""

from incrowd.plans import CellsMessage
from incrowd.survey import Survey


def survey_of(count, **changes):
    questions = [{"id": f"q{i}", "type": "yesno"} for i in range(count)]
    raw = {"name": "s", "crowd": 4, "privacy": {"epsilon": 0.7}, "question": questions}
    return Survey.of(raw | changes)


def messages_of(survey, pair, single):
    """Parities of all questions and a bit for each. pair, single: numerators of their noise."""
    bits = [
        CellsMessage(questions=(question,), noise_numerator=single) for question in survey.questions
    ]
    return [CellsMessage(questions=survey.questions, noise_numerator=pair, parities=True), *bits]
