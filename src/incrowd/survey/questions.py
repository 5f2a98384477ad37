"""The types of questions, by their names in surveys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, SerializeAsAny

from incrowd.survey.question import AnyQuestion
from incrowd.survey.toml import Mistake
from incrowd.survey.types.amount import Amount
from incrowd.survey.types.choice import Choice
from incrowd.survey.types.multi import Multi
from incrowd.survey.types.number import Number
from incrowd.survey.types.text import Text
from incrowd.survey.types.yes_no import YesNo

TYPES: dict[str, type[AnyQuestion]] = {
    each.type_name(): each for each in (YesNo, Choice, Multi, Number, Amount, Text)
}


def type_of(raw: Mapping[str, Any]) -> type[AnyQuestion] | None:
    """Return the type of the question in a raw table, or None if it is unknown."""
    name = raw.get("type")
    return TYPES.get(name) if isinstance(name, str) else None


def _typed(raw: Any) -> AnyQuestion:
    """Create a question from its raw table. Raises ValidationError or Mistake."""
    if isinstance(raw, AnyQuestion):
        return raw
    if not isinstance(raw, Mapping):
        return AnyQuestion.model_validate(raw)
    kind = type_of(raw)
    if kind is None:
        if "type" not in raw and "matrix" in raw:
            raise Mistake("matrix", "survey.no-matrix-type", value=raw["matrix"])
        if "type" not in raw:
            raise Mistake("type", "survey.no-type", types=list(TYPES))
        raise Mistake("type", "survey.unknown-type", value=raw["type"], types=list(TYPES))
    return kind.model_validate(raw)


Question = Annotated[SerializeAsAny[AnyQuestion], PlainValidator(_typed)]
