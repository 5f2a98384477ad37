"""A ledger: what a population has been asked so far, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from incrowd.errors import PlanError, PlanFileError, SurveyError
from incrowd.plan.plans import Asked, Plan


class Ledger(BaseModel):
    """What the same people were asked, the earliest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["incrowd ledger 1"] = "incrowd ledger 1"
    asked: tuple[Asked, ...] = ()

    def with_plan(self, plan: Plan) -> Ledger:
        """The ledger after a plan was carried out.

        Raises PlanError if the plan is in it already, or does not cover what is in it.
        """
        if any(asked.digest == plan.digest for asked in self.asked):
            raise PlanError.of("plan", plan.digest, "is in the ledger already")
        covered = {asked.digest for asked in plan.earlier}
        for asked in self.asked:
            if asked.digest not in covered:
                name = asked.survey.name
                raise PlanError.of(
                    "plan", plan.digest, f"does not cover {name!r}; plan it with --ledger"
                )
        return Ledger(asked=(*self.asked, plan.asked))

    def dumps(self) -> str:
        """The text of a ledger file."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Ledger:
        """Read a ledger file. Raises PlanFileError if it holds none."""
        try:
            return cls.model_validate_json(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PlanFileError.of("ledger", str(path), f"{error.strerror}; {_MAKE}") from None
        except (SurveyError, ValidationError, UnicodeDecodeError):
            raise PlanFileError.of("ledger", str(path), f"holds no ledger; {_MAKE}") from None


_MAKE = "make one with `incrowd ledger LEDGER PLAN`, after a plan was carried out"
