"""Which regression is asked for: one that is named, or the only one that the survey wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from incrowd.errors import MISSING, UsageError
from incrowd.survey import Survey
from incrowd.survey.formulas import Formula, named
from incrowd.survey.merging import Merge

TILDE = "~"  # between what is explained and its predictors
_PLUS = re.compile(r"\s+\+\s+")  # between predictors; an answer may be called 18+


def _written_out(
    survey: Survey, outcome: str | None, on: Sequence[str] | None
) -> tuple[str | None, Sequence[str] | None]:
    """Outcome and predictors of a formula, as "smokes ~ age + sex:age"; of anything else as is."""
    questions = {question.id: question for question in survey.questions}
    if outcome is None or TILDE not in outcome or named(outcome, questions):
        return outcome, on
    if on is not None:
        raise UsageError.of(
            "on", list(on), f"the formula {outcome!r} says it; leave one of them out"
        )
    explained, _, predictors = outcome.partition(TILDE)
    terms = _PLUS.split(predictors.strip())
    if not explained.strip() or not all(terms):
        allowed = "should be a formula such as 'smokes ~ age + sex'"
        raise UsageError.of("outcome", outcome, allowed)
    return explained.strip(), terms


def formula_of(
    survey: Survey,
    outcome: str | None,
    on: Sequence[str] | None,
    reference: Mapping[str, str] | None = None,
    family: str | None = None,
    scores: Sequence[float] | None = None,
    predictor_scores: Mapping[str, Sequence[float]] | None = None,
    merge: Merge | None = None,
    penalty: str | None = None,
) -> Formula:
    """The formula that is asked for. What else is given takes the place of what the survey says.

    outcome may be a whole formula, as "smokes ~ age + sex"; then there is no `on`.
    Without `on` it is the survey's only regression, or the only one of that outcome. Raises
    UsageError if that is none, or one of several.
    """
    outcome, on = _written_out(survey, outcome, on)
    values = {
        "reference": dict(reference or {}),
        "family": family,
        "scores": tuple(scores or ()),
        "predictor_scores": dict(predictor_scores or {}),
        "merge": dict(merge or {}),
        "penalty": penalty,
    }
    given = {name: value for name, value in values.items() if value}
    if outcome is not None and on is not None:
        written = Formula.model_construct(outcome=outcome, on=tuple(on))
        return written.model_copy(update=given)
    wanted = [each for each in survey.regressions if outcome in (None, each.outcome)]
    if on is None and len(wanted) == 1:
        return wanted[0].model_copy(update=given)
    listed = ", ".join(f"'{each}'" for each in survey.regressions) or "no regression"
    allowed = f"name what is explained, and by what; the survey wants {listed}"
    raise UsageError.of("outcome" if outcome is None else "on", MISSING, allowed)
