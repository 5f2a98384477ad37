"""A ledger: what a population has been asked so far, in order, and how many of it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from incrowd.errors import MISSING, InWords, PlanError, PlanFileError, SurveyError, unreadable
from incrowd.plans.digests import EDITED, read_json, sealed, unsealed, warn_unsealed
from incrowd.plans.message import place
from incrowd.plans.plan import Asked, Plan

FORMAT: Final = "incrowd ledger 2"
OLD_FORMAT = "incrowd ledger 1"  # without a digest; every crowd in it is the planned one


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
        try:
            data = read_json(text)
            if data["format"] not in (FORMAT, OLD_FORMAT):
                raise ValueError("is of another format")
            content = _as_new(data, name) if data["format"] == OLD_FORMAT else _unedited(data)
            return cls.model_validate(content)
        except ValidationError as error:
            field = place("ledger", error.errors()[0]["loc"])
            why = f"it holds no ledger: {field} is wrong; {_MAKE}"
            raise PlanFileError.of("ledger", name, why) from None
        except (SurveyError, ValueError, KeyError, TypeError):
            raise PlanFileError.of("ledger", name, f"it holds no ledger; {_MAKE}") from None

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a ledger file. Raises as `loads`, and PlanFileError if there is none."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise PlanFileError.of("ledger", str(path), f"{unreadable(error)}; {_MAKE}") from None
        except UnicodeDecodeError:
            raise PlanFileError.of("ledger", str(path), f"it holds no ledger; {_MAKE}") from None
        return cls.loads(text, str(path))


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


def _unedited(data: dict[str, Any]) -> dict[str, Any]:
    """The content of a ledger. Raises PlanError if its digest is another's."""
    content, fits = unsealed(data)
    if not fits:
        found = data.get("digest", MISSING)
        raise PlanError.of("ledger.digest", found, f"{EDITED}; use an unchanged copy")
    return content


def _as_new(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The content of an older ledger, as today's."""
    warn_unsealed(name)
    planned = [asked["digest"] for asked in data["asked"]]
    return {**data, "format": FORMAT, "as_planned": planned}


_MAKE = "make a new one with `incrowd ledger --new LEDGER`, or name the one you have"
