"""The form of a design: probabilities that the device realizes exactly, what they promise, and how
precise the result will be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from starlette.datastructures import FormData

from incrowd.catalog.sentences import Sentence
from incrowd.interviews.designs import (
    DESIGNS,
    ItemDesign,
    ResponseDesign,
    design_of,
    written_keys,
)
from incrowd.interviews.devices import HandDevice
from incrowd.interviews.power import detection, share_of
from incrowd.interviews.promise import question_promise
from incrowd.interviews.survey import unrealizable
from incrowd.number_text import percent, places_of
from incrowd.studio.document import Raw
from incrowd.studio.interview_words import (
    FORCED,
    PROBABILITIES,
    WORDINGS,
    steps_in_words,
)
from incrowd.studio.language import Phrase
from incrowd.studio.question_form import put, put_words, text_of
from incrowd.survey.toml import Mistake

PEOPLE, SHARE = 1000, 0.1  # interviews and share of the sensitive answer, unless they are stated
TARGETS = (19, 9, 5, 3, 2)  # factors of the promise that the short list is near to
FACTS = ("prevalence", "expected")  # about people, which a choice of the list does not change
STAYING = (*FACTS, *WORDINGS, "repeats")
SAME_FOR_ALL = "devices.you-alone"
USUAL = 5  # that of a new design


@dataclass(frozen=True)
class Expectation:
    """What a person expects of a survey. people: the interviews. share: of the last answer."""

    people: int = PEOPLE
    share: float = SHARE

    @classmethod
    def of(cls, raw: Raw) -> Expectation:
        """Return what the survey states, or what is usual."""
        aim = raw.get("aim")
        stated: Raw = aim if isinstance(aim, dict) else {}
        people, share = stated.get("people"), stated.get("share")
        if not isinstance(people, int) or people < 1:
            people = PEOPLE
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            share = SHARE
        return cls(people, float(share))

    def error(self, item: ItemDesign) -> str:
        """Return the standard error of the share of the last answer, in points; "" if the share
        cannot be estimated."""
        answers = len(item.answers)
        shares = np.full(answers, (1 - self.share) / (answers - 1))
        shares[-1] = self.share
        share = detection(item.matrices, share_of(shares, answers - 1), answer=answers - 1)
        error = float(share.error(self.people))
        return percent(error, places_of([error])) if math.isfinite(error) else ""


@dataclass(frozen=True)
class DesignSetting:
    """What a design is chosen for. labels: of the answers. designs: those of all groups now; None
    where one has a mistake."""

    device: HandDevice
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    expected: Expectation
    designs: tuple[ResponseDesign | None, ...]

    def with_design(self, design: ResponseDesign, group: int) -> ItemDesign | None:
        """Return the item with another design in a group; None if another group has a mistake."""
        designs = [*self.designs]
        designs[group] = design
        usable = [each for each in designs if each is not None]
        return ItemDesign(self.answers, tuple(usable)) if len(usable) == len(designs) else None


class DesignChoice(NamedTuple):
    """A design without mistakes. value: in the form. steps: what a person does, with
    probabilities. error: the standard error in points, or "" if there is none."""

    value: str
    steps: tuple[tuple[Phrase | str, str], ...]
    promise: tuple[Sentence, ...]
    error: str
    chosen: bool


class DesignField(NamedTuple):
    """An input for a probability. name: in the form. key: in the design. answer: the answer that
    is forced with it, or "". title: what that answer is called."""

    name: str
    key: str
    label: Phrase
    value: str
    answer: str = ""
    title: str = ""


class ProtectionForm(NamedTuple):
    """The form of the design of one group. other: the design now, if it is not one of the choices.
    wording: the key of its harmless statement or question, or ""."""

    group: int
    kind: str
    raw: Raw
    choices: tuple[DesignChoice, ...]
    other: DesignChoice | None
    fields: tuple[DesignField, ...]
    wording: str


def designs_in(asked: Raw, groups: int) -> list[Raw]:
    """Return the designs of a question in the file, one for each group; one without groups."""
    several = asked.get("designs")
    listed = several if isinstance(several, list) and several else [asked.get("design")]
    tables = [dict(each) if isinstance(each, dict) else {} for each in listed]
    return [tables[min(place, len(tables) - 1)] for place in range(max(groups, 1))]


def put_designs(asked: Raw, designs: Sequence[Raw]) -> None:
    """Set the designs of a question; one that serves all groups is stated once."""
    asked.pop("designs", None)
    asked.pop("design", None)
    if all(each == designs[0] for each in designs):
        asked["design"] = designs[0]
    else:
        asked["designs"] = [*designs]


def design_in(raw: Raw) -> ResponseDesign | None:
    """Return a design of the file; None if it has a mistake."""
    try:
        return design_of(raw)
    except (ValidationError, Mistake):
        return None


# --- what the form shows --------------------------------------------------------------------------


def form_of_design(group: int, raw: Raw, setting: DesignSetting) -> ProtectionForm:
    """Return the form of the design of a group."""
    kind, now = str(raw.get("kind", "")), setting.designs[group]
    choices = tuple(_choices(group, raw, now, setting))
    chosen = any(each.chosen for each in choices)
    other = None if chosen or now is None else _shown("", now, group, setting, now)
    keys = DESIGNS[kind].model_fields if kind in DESIGNS else ()
    wording = next((key for key in WORDINGS if key in keys), "")
    return ProtectionForm(group, kind, raw, choices, other, _fields(group, raw, setting), wording)


def _choices(
    group: int, raw: Raw, now: ResponseDesign | None, setting: DesignSetting
) -> Iterator[DesignChoice]:
    """Yield probabilities that the device realizes, the weakest promise first."""
    kind = str(raw.get("kind", ""))
    possible = dict(_possible(kind, setting, raw))
    targets = TARGETS if possible else ()
    nearest = dict.fromkeys(_nearest(kind, possible, target) for target in targets)
    for share in nearest:
        design = _of_share(kind, share, setting, raw)
        if design and (choice := _shown(str(share), design, group, setting, now)):
            yield choice


def _possible(
    kind: str, setting: DesignSetting, raw: Raw | None = None
) -> Iterator[tuple[Fraction, float]]:
    """Yield the shares of the outcomes that make a design, and the factor that it promises."""
    device, answers = setting.device, setting.answers
    for number in range(1, device.outcomes):
        share = Fraction(number, device.outcomes)
        design = _of_share(kind, share, setting, raw)
        if design and not unrealizable(device, design, answers):
            item = ItemDesign(answers, (design,))
            finite = [float(each) for each in item.evidence if each is not None]
            if finite and not any(design.problems(answers)):
                yield share, max(finite)


def _of_share(
    kind: str, share: Fraction, setting: DesignSetting, raw: Raw | None
) -> ResponseDesign | None:
    entries = _entries(kind, share, setting.answers, raw)
    return design_in(entries) if len(entries) > 1 else None


def _entries(kind: str, share: Fraction, answers: Sequence[str], raw: Raw | None = None) -> Raw:
    """Return a design by one share, as people write it. raw: the design before, whose facts about
    people, wordings, and repetitions stay; None for a new one."""
    keys = DESIGNS[kind].by_share(share, answers) if kind in DESIGNS else {}
    if raw is None or not keys:
        return {"kind": kind} | _written(written_keys(keys))
    chosen = {key: value for key, value in written_keys(keys).items() if key not in FACTS}
    return {"kind": kind} | _written(chosen) | {key: raw[key] for key in STAYING if key in raw}


def _written(entries: Raw) -> Raw:
    """Return the keys of a design as people write them: yes and no need no table of their own."""
    forced = entries.get("forced")
    if not isinstance(forced, dict) or not {*forced} <= {"yes", "no"}:
        return entries
    rest = {key: value for key, value in entries.items() if key != "forced"}
    return rest | {name: forced[name] for name in ("yes", "no") if name in forced}


def _nearest(kind: str, possible: Mapping[Fraction, float], target: float) -> Fraction:
    """Return the share whose promise is nearest to a factor. Of two that promise the same, more
    answers are true with the larger one; a harmless statement holds for few people."""
    sign = 1 if "statement" in DESIGNS[kind].model_fields else -1
    return min(possible, key=lambda share: (abs(math.log(possible[share] / target)), sign * share))


def _shown(
    value: str,
    design: ResponseDesign,
    group: int,
    setting: DesignSetting,
    now: ResponseDesign | None,
) -> DesignChoice | None:
    """Return how a design is shown; None if it has a mistake."""
    if any(design.problems(setting.answers)):
        return None
    answers = setting.answers
    item = setting.with_design(design, group)
    usable = item is not None and not any(item.problems())
    return DesignChoice(
        value,
        steps_in_words(design, answers, setting.labels, setting.device),
        _promise(design, setting),
        setting.expected.error(item) if usable and item else "",
        now is not None and _law(design, answers) == _law(now, answers),
    )


def _promise(design: ResponseDesign, setting: DesignSetting) -> tuple[Sentence, ...]:
    """Return the promise to a respondent, without what is the same for all designs."""
    labels = dict(zip(setting.answers, setting.labels, strict=True))
    promise = question_promise("", setting.answers, design, labels.__getitem__)
    return tuple(each for each in promise.to_respondent() if each.code != SAME_FOR_ALL)


def _law(design: ResponseDesign, answers: Sequence[str]) -> Any:
    """Return what differs between designs with other probabilities."""
    if any(design.problems(answers)):
        return None
    return design.kind, design.repeats, design.unknown, design.matrix(answers)


def _fields(group: int, raw: Raw, setting: DesignSetting) -> tuple[DesignField, ...]:
    keys = DESIGNS[raw["kind"]].model_fields if raw.get("kind") in DESIGNS else ()
    named = [
        DesignField(f"{group}.{key}", key, label, str(raw.get(key, "")))
        for key, label in PROBABILITIES.items()
        if key in keys
    ]
    if "forced" in keys:
        forced = _forced_in(raw)
        answers = zip(setting.answers, setting.labels, strict=True)
        for place, (answer, title) in enumerate(answers):
            name, value = f"{group}.forced.{place}", str(forced.get(answer, ""))
            named.append(DesignField(name, "forced", FORCED, value, answer, title))
    return tuple(named)


def _forced_in(raw: Raw) -> Raw:
    forced = raw.get("forced", {name: raw[name] for name in ("yes", "no") if name in raw})
    return forced if isinstance(forced, dict) else {}


# --- what the form describes ----------------------------------------------------------------------


def new_design(kind: str, device: HandDevice, answers: Sequence[str]) -> Raw:
    """Return a design of a kind with usual probabilities that the device realizes."""
    setting = DesignSetting(device, tuple(answers), tuple(answers), Expectation(), (None,))
    possible = dict(_possible(kind, setting))
    if not possible:
        return {"kind": kind}
    return _entries(kind, _nearest(kind, possible, USUAL), answers)


def typed_design(form: FormData, shown: ProtectionForm, setting: DesignSetting, main: str) -> Raw:
    """Return the design that a form describes, which was filled from `shown`. What was typed
    counts more than a choice of the list. main: the language of the survey."""
    group = shown.group
    kind = text_of(form, f"{group}.kind") or shown.kind
    if kind != shown.kind:
        return new_design(kind, setting.device, setting.answers)
    wanted = dict(shown.raw)
    typed = {each: text_of(form, each.name) for each in shown.fields if each.name in form}
    choice = text_of(form, f"{group}.choice")
    if any(text != each.value for each, text in typed.items()):
        wanted = _with_typed(wanted, typed)
    elif choice in {each.value for each in shown.choices if not each.chosen}:
        wanted = _entries(kind, Fraction(choice), setting.answers, wanted)
    if shown.wording:
        put_words(wanted, form, (shown.wording,), main, f"{group}.")
    return wanted


def _with_typed(wanted: Raw, typed: Mapping[DesignField, str]) -> Raw:
    """Return a design with the probabilities that were typed."""
    forced = {each.answer: text for each, text in typed.items() if each.answer and text}
    if any(each.answer for each in typed):
        wanted = {key: value for key, value in wanted.items() if key not in ("yes", "no")}
        wanted["forced"] = forced
    for each, text in typed.items():
        if not each.answer:
            put(wanted, each.key, text or None)
    return _written(wanted)


def fitted(design: Raw, answers: Sequence[str], renamed: Mapping[str, str]) -> Raw:
    """Return a design whose tables by answer follow the answers of its question."""
    result = dict(design)
    for key in ("forced", "columns"):
        if isinstance(result.get(key), dict):
            named = {renamed.get(name, name): value for name, value in result[key].items()}
            result[key] = {name: value for name, value in named.items() if name in answers}
    if "forced" in result and not result["forced"]:
        result.pop("forced")
    return result
