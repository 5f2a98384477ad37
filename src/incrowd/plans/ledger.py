"""A ledger: what a population has been asked so far, in order, and how many of it came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from incrowd.errors import (
    MISSING,
    InWords,
    PlanError,
    PlanFileError,
    ReportsError,
    SurveyError,
)
from incrowd.plans.digests import EDITED, FileKind, read_json, sealed
from incrowd.plans.message import place
from incrowd.plans.plan import Asked, Plan

FORMAT: Final = "incrowd ledger 2"
OLD_FORMAT = "incrowd ledger 1"  # every crowd in it is the planned one
_MAKE = "make a new one with `incrowd ledger --new LEDGER`, or name the one you have"
_FILES = FileKind("ledger", PlanFileError, _MAKE, OLD_FORMAT)


class Ledger(BaseModel):
    """What the same people were asked, the earliest first.

    A plan of several rounds stands there once for each. as_planned: the names, as `names` has them,
    of those whose crowd nobody counted: the planned one is taken. collections: the random names of
    the reports that were noted, so that none are noted twice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["incrowd ledger 2"] = FORMAT
    asked: tuple[Asked, ...] = ()
    as_planned: tuple[str, ...] = ()
    collections: tuple[str, ...] = Field(default=(), exclude_if=lambda found: not found)

    def with_plan(self, plan: Plan, people: int | None, collections: Iterable[str] = ()) -> Ledger:
        """The ledger after a plan was carried out.

        people: who came, the smallest number of any message (rows, if one person has several);
        None if nobody counted, and the planned crowd is taken at its word. collections: the names
        of the reports. Raises PlanError if the plan is in it already, or does not cover what is in
        it as it was, ReportsError if reports were noted before.
        """
        self.check_next(plan)
        if again := sorted({*self.collections} & {*collections}):
            allowed = "they are in the ledger already; name those of the next round"
            raise ReportsError.of("reports", again[0], allowed)
        noted = (*self.asked, plan.asked if people is None else plan.asked_of(people))
        more = _names(noted)[-1:] if people is None else ()
        return Ledger(
            asked=noted,
            as_planned=(*self.as_planned, *more),
            collections=(*self.collections, *sorted(collections)),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each is called here: a digest, and which round it is if not the first."""
        return _names(self.asked)

    def rounds_of(self, digest: str) -> int:
        """How many rounds of a plan were carried out."""
        return sum(asked.digest == digest for asked in self.asked)

    def check_next(self, plan: Plan) -> None:
        """Raises PlanError if a round of a plan cannot be the next thing asked.

        All its rounds may be in the ledger already, or it does not cover what else is in it.
        """
        done, rounds = self.rounds_of(plan.digest), plan.survey.rounds
        if done >= rounds:
            said = "it is in the ledger already; note each plan once"
            if rounds > 1:
                said = (
                    f"all its {rounds:,} rounds are in the ledger; nothing is left of its promise"
                )
            raise PlanError.of("plan", plan.digest, said)
        covered: dict[str, list[Asked]] = {}
        for each in reversed(plan.earlier):
            covered.setdefault(each.digest, []).append(each)
        for asked in self.asked:
            if asked.digest != plan.digest:
                found = covered.get(asked.digest)
                _check_covered(plan, asked, found.pop() if found else None)

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


def _names(asked: Sequence[Asked]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    names = []
    for each in asked:
        seen[each.digest] += 1
        number = seen[each.digest]
        names.append(each.digest if number == 1 else f"{each.digest} {number}")
    return tuple(names)


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
