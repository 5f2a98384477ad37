"""A ledger: what a population has been asked so far, in order, and how many of it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from incrowd.errors import MISSING, InWords, PlanError, PlanFileError, SurveyError
from incrowd.plans.digests import EDITED, FileKind, read_json, sealed
from incrowd.plans.message import place
from incrowd.plans.plan import Asked, Plan

FORMAT: Final = "incrowd ledger 2"
OLD_FORMAT = "incrowd ledger 1"  # every crowd in it is the planned one
_MAKE = "make a new one with `incrowd ledger --new LEDGER`, or name the one you have"
_FILES = FileKind("ledger", PlanFileError, _MAKE, OLD_FORMAT)


class Ledger(BaseModel):
    """What the same people were asked, the earliest first.

    as_planned: the digests of the plans whose crowd nobody counted: the planned one is taken.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["incrowd ledger 2"] = FORMAT
    asked: tuple[Asked, ...] = ()
    as_planned: tuple[str, ...] = ()

    def with_plan(self, plan: Plan, people: int | None) -> Ledger:
        """The ledger after a plan was carried out.

        people: who came, the smallest number of any message (rows, if one person has several);
        None if nobody counted, and the planned crowd is taken at its word. Raises PlanError if
        the plan is in it already, or does not cover what is in it as it was.
        """
        if any(asked.digest == plan.digest for asked in self.asked):
            raise PlanError.of(
                "plan", plan.digest, "it is in the ledger already; note each plan once"
            )
        covered = {asked.digest: asked for asked in plan.earlier}
        for asked in self.asked:
            _check_covered(plan, asked, covered.get(asked.digest))
        return Ledger(
            asked=(*self.asked, plan.asked if people is None else plan.asked_of(people)),
            as_planned=(*self.as_planned, plan.digest) if people is None else self.as_planned,
        )

    def dumps(self) -> str:
        """The text of a ledger file: the content and its digest, indented for people."""
        content = self.model_dump(mode="json", by_alias=True)
        return json.dumps(sealed(content), indent=2, allow_nan=False) + "\n"

    @classmethod
    def loads(cls, text: str, name: str = InWords("this text")) -> Ledger:
        """Read the text of a ledger file, of that name.

        Raises PlanFileError if it is no ledger, PlanError if it was changed after it was written.
        An older file has no digest, which is said by an IncrowdWarning.
        """
        with _FILES.parsing(name):
            content = _content(read_json(text), name)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            field = place("ledger", error.errors()[0]["loc"])
            raise _FILES.refused(name, f"it is not a ledger: {field} is wrong") from None
        except SurveyError:
            raise _FILES.refused(name, "it is not a ledger") from None

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a ledger file. Raises as `loads`, and PlanFileError if there is none."""
        return _FILES.load(path, cls.loads)


def _check_covered(plan: Plan, asked: Asked, covered: Asked | None) -> None:
    """Raises PlanError unless a plan covers what was asked, in a crowd no larger than it was."""
    name = asked.survey.name
    if covered is None:
        why = f"it does not cover {name!r}"
    elif covered.crowd > asked.crowd:
        why = f"it counts on {covered.crowd:,} people in {name!r}, where {asked.crowd:,} came"
    elif (covered.survey, covered.messages) != (asked.survey, asked.messages):
        why = f"it does not say of {name!r} what the ledger says"
    else:
        return
    raise PlanError.of("plan", plan.digest, f"{why}; plan it with earlier=LEDGER")


def _content(data: dict[str, Any], name: str) -> dict[str, Any]:
    """What a ledger says, an older one as today's. Raises PlanError if its digest is another's."""
    if data["format"] not in (FORMAT, OLD_FORMAT):
        raise ValueError("is of another format")
    content, fits = _FILES.unsealed(data, name)
    if not fits:
        found = data.get("digest", MISSING)
        raise PlanError.of("ledger.digest", found, f"{EDITED}; use an unchanged copy")
    if content["format"] == FORMAT:
        return content
    planned = [asked["digest"] for asked in data["asked"]]
    return {**content, "format": FORMAT, "as_planned": planned}
