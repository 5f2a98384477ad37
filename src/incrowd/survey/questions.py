"""The types of questions, by their names in surveys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, SerializeAsAny

from incrowd.errors import MISSING
from incrowd.survey.question import AnyQuestion
from incrowd.survey.toml import Mistake
from incrowd.survey.types.amount import Amount
from incrowd.survey.types.choice import Choice
from incrowd.survey.types.multi import Multi
from incrowd.survey.types.number import Number
from incrowd.survey.types.text import Text
from incrowd.survey.types.yes_no import YesNo

TYPES: dict[str, type[AnyQuestion]] = {
    each.model_fields["type"].default: each for each in (YesNo, Choice, Multi, Number, Amount, Text)
}


def _typed(raw: Any) -> AnyQuestion:
    """Create a question from its raw table. Raises ValidationError or Mistake."""
    if isinstance(raw, AnyQuestion):
        return raw
    if not isinstance(raw, Mapping):
        return AnyQuestion.model_validate(raw)
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise Mistake("type", raw.get("type", MISSING), f"use one of {', '.join(TYPES)}")
    return TYPES[kind].model_validate(raw)


Question = Annotated[SerializeAsAny[AnyQuestion], PlainValidator(_typed)]
