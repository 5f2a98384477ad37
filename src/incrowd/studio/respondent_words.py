"""The promise in the words of the survey page, as `collection/page/static/promise.js` says it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from incrowd.accountant.analyses import analysis
from incrowd.catalog.sentences import localized
from incrowd.collection import page
from incrowd.guarantees.strength import GUESS, guess_after, strength
from incrowd.number_text import bound, factor
from incrowd.plans import Guarantee, Outline
from incrowd.studio.language import in_language, phrase

COUNTS = phrase("whoever counts the answers")


class PromiseWords(NamedTuple):
    """What a survey promises to respondents, in a language of the survey page.

    outline: what everybody sends. guarantee: what is promised; for an estimate, what is requested.
    """

    outline: Outline
    guarantee: Guarantee
    language: str

    def sentences(self) -> tuple[str, ...]:
        """Return what is promised, and what that rests on."""
        survey, guarantee = self.outline.survey, self.guarantee
        if not analysis(guarantee.analysis).shuffled:
            limit = self._limit(guarantee.epsilon)
            return self._say("promise_local", limit=limit), *self._strength()
        code = "colluding" if survey.colluding else "no_colluding"
        people = localized(f"{guarantee.crowd or survey.honest:,}", self.language)
        rests = {"crowd": people, "colluding": self._say(code, colluding=survey.colluding)}
        if not self.outline.by_services:
            return *self._published(), self._say("promise_rests", **rests)
        rest = "promise_rests_services" + ("" if guarantee.crowd is None else "_crowd")
        services = self._say("added"), *self._published(), *self._of_one_service()
        return *services, self._say(rest, **rests)

    def if_both_work_together(self, cells: bool) -> str:
        """Return what is left if those who mix and those who count work together; "" if nobody is
        relied on. cells: whether answers travel in pieces."""
        if not analysis(self.guarantee.analysis).shuffled:
            return ""
        counts = {"collector": in_language(COUNTS, self.language)}
        if self.guarantee.local_epsilon == math.inf:
            return self._say("cheat_both_added", **counts)
        limit = self._limit(self.guarantee.local_epsilon)
        return self._say("cheat_both_pieces" if cells else "cheat_both", limit=limit, **counts)

    def _published(self) -> Iterator[str]:
        """Yield what is promised about the published results, and how strong that is."""
        figure, delta = factor(self.guarantee.epsilon), self.guarantee.delta
        if figure is None:
            yield self._say("promise_none")
            return
        chance = localized(f"{Decimal(bound(delta)):f}", self.language)
        code = "promise" if delta else "promise_pure"
        yield self._say(code, factor=localized(figure, self.language), delta=chance)
        if self._word == "practically-none":
            yield self._say("strength_delta")
        yield from self._strength()

    def _strength(self) -> Iterator[str]:
        most = guess_after(self.guarantee.epsilon)
        if self._word != "practically-none" and most is not None:
            shown = localized(f"{100 * most:g}", self.language)
            yield self._say(f"strength_{self._word}", guess=f"{100 * GUESS:g}", most=shown)

    @property
    def _word(self) -> str:
        return strength(self.guarantee, self.outline.survey.crowd)

    def _of_one_service(self) -> Iterator[str]:
        """Yield what one service alone can conclude, if that is more than what readers can."""
        alone = self.guarantee.service_epsilon
        if alone is None or not self.guarantee.epsilon < alone < math.inf:
            return
        figure = factor(alone)
        if figure is None:
            yield self._say("promise_service_none")
        else:
            yield self._say("promise_service", factor=localized(figure, self.language))

    def _limit(self, epsilon: float) -> str:
        """Return what holds if nobody hides a person."""
        figure = factor(epsilon)
        if figure is None:
            return self._say("limit_none")
        return self._say("limit", factor=localized(figure, self.language))

    def _say(self, code: str, **values: Any) -> str:
        return _texts(self.language)[code].format(**values)


@cache
def _texts(language: str) -> dict[str, str]:
    """Return the texts of the survey page, read without loading the protocol."""
    file = files(page) / "strings" / f"{language}.json"
    texts: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return texts
