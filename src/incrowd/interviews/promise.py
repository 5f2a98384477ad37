"""What the device of an interview promises the people who answer, and what that rests on.

No service and no crowd is part of it: a device in the respondent's hand decides with known
probabilities, and whoever hears or reads the answer learns no more than the answer. The factors are
exact ratios of probabilities (docs/interviews-mathematics.md#what-an-answer-reveals).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from incrowd.catalog.sentences import NumberText, Sentence, joined, listed, sentence
from incrowd.guarantees.strength import GUESS, NEARLY_SURE
from incrowd.interviews.designs import (
    DirectQuestion,
    ItemDesign,
    ResponseDesign,
    UnrelatedQuestion,
)
from incrowd.interviews.devices import Birthday, Coin, Die, HandDevice
from incrowd.interviews.probabilities import log_up
from incrowd.interviews.procedures import LabelOf, SpokenText, procedure
from incrowd.interviews.publication import method_of
from incrowd.interviews.survey import InterviewSurvey
from incrowd.number_text import LARGEST_LOG_FACTOR, bound, written_out

WHOLE = Fraction(99, 100)  # up to which a chance is stated in whole percent
USUAL = Fraction(1, 5), Fraction(4, 5)  # shares of yes to an unrelated question, if it is unknown


@dataclass(frozen=True)
class QuestionPromise:
    """What an answer to one question can reveal, in one group.

    evidence: for each true answer, the largest factor by which what a person says raises its odds
    against another answer; None if it can prove it. usual: if that depends on the unknown share of
    yes to an unrelated question, the largest factor for the shares in `USUAL`. title: what the
    question is called in sentences; by default its id. expected: the unknown share for which the
    evidence is computed, if one is expected.
    """

    id: str
    answers: tuple[SpokenText, ...]
    evidence: tuple[Fraction | None, ...]
    direct: bool = False
    usual: Fraction | None = None
    title: SpokenText = ""
    expected: Fraction | None = None

    @property
    def name(self) -> SpokenText:
        """What the question is called in sentences."""
        return self.title or self.id

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon, exactly; None if an answer can prove something."""
        finite = [each for each in self.evidence if each is not None]
        return max(finite) if len(finite) == len(self.evidence) else None

    @property
    def one_sided(self) -> bool:
        """Whether some true answers can be proved, and others cannot."""
        return self.ratio is None and any(each is not None for each in self.evidence)

    def sentence(self) -> Sentence:
        """Return the promise for review boards and readers of results."""
        if self.direct:
            return sentence("devices.openly")
        if self.usual is not None:
            yes = self.answers[-1]
            return sentence("devices.depends", yes=yes, factor=factor_text(self.usual))
        if self.ratio is not None:
            most = factor_text(self.ratio)
            return sentence("devices.at-most", factor=most) if most else sentence("devices.hardly")
        if not self.one_sided:
            return sentence("devices.hardly")
        return sentence("devices.one-sided", parts=joined("shared.in-turn", self._sides()))

    def _sides(self) -> Iterator[Sentence]:
        """Yield the answers that can be proved before the others."""
        pairs = [*zip(self.answers, self.evidence, strict=True)]
        for answer, raised in sorted(pairs, key=lambda pair: pair[1] is not None):
            if raised is None:
                yield sentence("devices.proves", answer=answer)
            elif most := factor_text(raised):
                yield sentence("devices.at-most-of", answer=answer, factor=most)
            else:
                yield sentence("devices.hardly-of", answer=answer)

    def to_respondent(self) -> tuple[Sentence, ...]:
        """Return the promise in the words of a card that a respondent reads."""
        if self.direct:
            return (sentence("devices.you-openly"),)
        if self.usual is not None:
            yes, most = self.answers[-1], factor_text(self.usual)
            return (sentence("devices.you-depends", yes=yes, factor=most),)
        text = None if self.ratio is None else factor_text(self.ratio)
        if text and self.expected is not None:
            yes, share = self.answers[-1], NumberText(f"{float(100 * self.expected):g}")
            return (sentence("devices.you-expected", yes=yes, share=share, factor=text),)
        if text:
            alone = sentence("devices.you-alone")
            return alone, sentence("devices.you-at-most", factor=text)
        return tuple(self._sides_to_respondent()) or (sentence("devices.you-hardly"),)

    def _sides_to_respondent(self) -> Iterator[Sentence]:
        if not self.one_sided:
            return
        for answer, raised in zip(self.answers, self.evidence, strict=True):
            if raised is None:
                yield sentence("devices.you-proves", answer=answer)
            elif most := factor_text(raised):
                yield sentence("devices.you-at-most-of", answer=answer, factor=most)


@dataclass(frozen=True)
class GroupPromise:
    """What everything that a person says in an interview can reveal, in one group.

    group: the code of the group, or "" if there are none.
    """

    group: str
    questions: tuple[QuestionPromise, ...]

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon of the whole interview, exactly: the product of those of its questions."""
        ratios = [each.ratio for each in self.questions]
        finite = [each for each in ratios if each is not None]
        return math.prod(finite, start=Fraction(1)) if len(finite) == len(ratios) else None

    @property
    def epsilon(self) -> float:
        """The local epsilon of the whole interview, rounded up; inf without a bound."""
        return math.inf if self.ratio is None else log_up(self.ratio)

    def sentence(self) -> Sentence:
        """Return the promise about the whole interview."""
        if len(self.questions) == 1:
            return self.questions[0].sentence()
        if self.ratio is None:
            which = [each.name for each in self.questions if each.ratio is None]
            return sentence("devices.no-bound-together", questions=listed(which))
        most = factor_text(self.ratio)
        if most is None:
            return sentence("devices.hardly")
        return sentence("devices.at-most-together", factor=most)

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the promise about the whole interview, then about each question."""
        if len(self.questions) == 1:
            return (self.sentence(),)
        each = (
            sentence("devices.of-question", question=one.name, text=one.sentence())
            for one in self.questions
        )
        return (self.sentence(), *each)

    def to_respondent(self) -> tuple[Sentence, ...]:
        """Return what interviewers read aloud: about the whole interview if that has a bound, and
        otherwise about each question."""
        if len(self.questions) == 1:
            return self.questions[0].to_respondent()
        if self._bounded and all(one.expected is None for one in self.questions):
            return sentence("devices.you-alone"), *self.together()
        each = (
            sentence("devices.of-question", question=one.name, text=text)
            for one in self.questions
            for text in [joined("shared.in-turn", one.to_respondent())]
        )
        return (*each, *self.together())

    @property
    def _bounded(self) -> bool:
        """Whether some protection is left for all answers together."""
        return self.ratio is not None and factor_text(self.ratio) is not None

    def together(self) -> tuple[Sentence, ...]:
        """Return what respondents read about all their answers together; nothing for one answer,
        or if all questions are asked openly."""
        if len(self.questions) == 1 or all(one.direct for one in self.questions):
            return ()
        if self.ratio is None or (most := factor_text(self.ratio)) is None:
            return (sentence("devices.you-no-bound-together"),)
        return (sentence("devices.you-together", number=len(self.questions), factor=most),)


@dataclass(frozen=True)
class InterviewPromise:
    """The guarantee of a survey whose answers a device in the respondent's hand randomizes.

    groups: one for each group of interviews with promises of its own. assumptions: what they rest
    on. method: how the answers were randomized, for a publication.
    """

    groups: tuple[GroupPromise, ...]
    assumptions: tuple[Sentence, ...]
    method: Sentence

    reduced_by: ClassVar[tuple[str, ...]] = ()  # as for the guarantees of collections

    @property
    def epsilon(self) -> float:
        """The largest local epsilon of a group; inf if some group has no bound."""
        return max(group.epsilon for group in self.groups)

    @property
    def heading(self) -> Sentence:
        """Whether this is a guarantee: limited if it is one-sided, or covers some groups only."""
        if self.epsilon < math.inf:
            return sentence("promises.guarantee")
        evidence = [each for group in self.groups for q in group.questions for each in q.evidence]
        some = any(each is not None for each in evidence)
        return sentence("devices.limited-guarantee" if some else "promises.no-guarantee")

    def whole_sentence(self) -> Sentence:
        """Return the promise with everything that it rests on."""
        text = joined("shared.in-turn", self.sentences())
        assumed = joined("shared.in-turn", self.assumptions)
        return sentence("devices.labeled-rests", text=text, assumed=assumed)

    def line(self) -> Sentence:
        """Return the same with its heading, in one line."""
        return sentence("estimation.labeled", name=self.heading, text=self.whole_sentence())

    def symbols(self) -> Sentence:
        """Return the promise as an expert writes it."""
        if self.epsilon == math.inf:
            return sentence("devices.no-local-guarantee")
        return sentence("devices.guarantee-local", epsilon=bound(self.epsilon, 6))

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the promise of each group, without its assumptions."""
        if len(self.groups) == 1:
            return self.groups[0].sentences()
        return tuple(
            sentence("devices.of-group", group=group.group, text=text)
            for group in self.groups
            for text in group.sentences()
        )

    def facts(self) -> dict[str, object]:
        """Return the promise for programs: epsilon is null without a bound."""
        return {
            "epsilon": None if self.epsilon == math.inf else self.epsilon,
            "groups": [
                {
                    "group": group.group,
                    "epsilon": None if group.epsilon == math.inf else group.epsilon,
                    "questions": [_question_facts(each) for each in group.questions],
                }
                for group in self.groups
            ],
            "assumptions": [str(each) for each in self.assumptions],
            "sentence": str(self.whole_sentence()),
            "method": str(self.method),
        }


def _question_facts(question: QuestionPromise) -> dict[str, object]:
    return {
        "id": question.id,
        "epsilon": None if question.ratio is None else log_up(question.ratio),
        "evidence": {
            str(answer): None if raised is None else _up(raised)
            for answer, raised in zip(question.answers, question.evidence, strict=True)
        },
        "one_sided": question.one_sided,
    }


def question_promise(
    id: str,
    answers: Sequence[str],
    design: ResponseDesign,
    label_of: LabelOf = str,
    title: SpokenText = "",
) -> QuestionPromise:
    """Return what an answer to a question with a design can reveal."""
    names = tuple(answers)
    evidence = ItemDesign(names, (design,)).evidence
    return QuestionPromise(
        id,
        tuple(map(label_of, names)),
        evidence,
        isinstance(design, DirectQuestion),
        _usual(design, names) if design.unknown and None in evidence else None,
        title,
        getattr(design, "expected", None) if design.unknown else None,
    )


def _usual(design: ResponseDesign, answers: tuple[str, ...]) -> Fraction | None:
    """Return the largest factor for usual shares of yes to an unrelated question.

    The factors are monotone in the share, so that those at both ends bound all others.
    """
    shares = (design.model_copy(update={"prevalence": share}) for share in USUAL)
    ratios = [ItemDesign(answers, (each,)).ratio for each in shares]
    finite = [each for each in ratios if each is not None]
    if len(finite) < len(ratios) or factor_text(max(finite)) is None:
        return None
    return max(finite)


def group_promises(groups: Sequence[GroupPromise]) -> tuple[GroupPromise, ...]:
    """Return one promise for groups that all have the same."""
    first, *_ = groups
    if all(each.questions == first.questions for each in groups):
        return (GroupPromise("", first.questions),)
    return tuple(groups)


def factor_text(ratio: Fraction) -> NumberText | None:
    """Return a factor for people, rounded up; None if practically no protection is left."""
    if log_up(ratio) > LARGEST_LOG_FACTOR:
        return None
    value = float(ratio)
    text = written_out(value if Fraction(repr(value)) >= ratio else _up(ratio))
    return NumberText(text.rstrip("0").rstrip(".")) if "." in text else text


def guess_text(ratio: Fraction) -> NumberText | None:
    """Return what a guess that is right with a chance of `GUESS` can become by Bayes' rule, in
    percent, rounded up; None if it can become practically certain."""
    odds = ratio * Fraction(str(GUESS)) / (1 - Fraction(str(GUESS)))
    most = odds / (1 + odds)
    if most > NEARLY_SURE:
        return None
    return NumberText(
        f"{math.ceil(100 * most) if most <= WHOLE else math.ceil(1000 * most) / 10:g}%"
    )


def _up(ratio: Fraction) -> float:
    """Return a ratio as a float that is not below it."""
    value = float(ratio)
    return value if Fraction(value) >= ratio else math.nextafter(value, math.inf)


def promise_of(
    survey: InterviewSurvey,
    ids: Sequence[str] | None = None,
    *,
    language: str = "",
    titled: bool = False,
) -> InterviewPromise:
    """Return what the answers to some questions of a survey promise; by default, to all.

    language: of labels and wordings; by default that of the survey. titled: whether sentences name
    questions by their wording instead of their ids.
    """
    items = [survey.item(each) for each in ids] if ids else list(survey.items)
    groups = [
        GroupPromise(
            group,
            tuple(
                question_promise(
                    item.id,
                    item.design.answers,
                    item.design.designs[place],
                    partial(_label, survey, item.id, language),
                    survey.text_of(item.id, language) if titled else "",
                )
                for item in items
            ),
        )
        for place, group in enumerate(survey.groups or ("",))
    ]
    designs = [
        (item.id, item.design.answers, design) for item in items for design in item.design.designs
    ]
    yes = {item.id: _label(survey, item.id, language, item.design.answers[-1]) for item in items}
    return InterviewPromise(
        group_promises(groups),
        device_assumptions(survey.device, designs, yes),
        method_of(survey, language),
    )


def _label(survey: InterviewSurvey, id: str, language: str, answer: str) -> str:
    return survey.label_of(id, answer, language)


# What a promise rests on.


def device_assumptions(
    device: HandDevice,
    designs: Sequence[tuple[str, Sequence[str], ResponseDesign]],
    yes: Mapping[str, SpokenText],
) -> tuple[Sentence, ...]:
    """Return what the promises of some questions rest on.

    designs: of each question its id, its answers, and a design of it. yes: the answer yes to each
    question, in words.
    """
    protected = [each for each in designs if not isinstance(each[2], DirectQuestion)]
    uses = any(procedure(design, device, names).uses_device for _, names, design in protected)
    texts = [_of_device(device)] if uses else []
    texts += [text for each in protected for text in _of_question(device, *each, yes[each[0]])]
    facts = [id for id, names, design in protected if procedure(design, device, names).has_fact]
    if len(several := tuple(dict.fromkeys(facts))) > 1:
        texts.append(sentence("devices.rests-apart", questions=listed(several)))
    texts.append(sentence("devices.rests-following"))
    texts.append(sentence("devices.rests-open"))
    texts.append(sentence("devices.rests-once-fact" if facts else "devices.rests-once"))
    return tuple(_once(texts))


def _once(texts: Sequence[Sentence]) -> Iterator[Sentence]:
    """Yield sentences without repetitions: groups may rest on the same."""
    seen: list[Sentence] = []
    for text in texts:
        if text not in seen:
            seen.append(text)
            yield text


def _of_device(device: HandDevice) -> Sentence:
    match device:
        case Die():
            return sentence("devices.rests-die" if device.dice == 1 else "devices.rests-dice")
        case Coin():
            return sentence("devices.rests-coin", tosses=device.tosses)
        case Birthday():
            unit = "devices.unit-month" if device.calendar == "months" else "devices.unit-day"
            return sentence("devices.rests-birthday", unit=sentence(unit))
    cards = device.kind == "cards"
    return sentence("devices.rests-cards" if cards else "devices.rests-spinner")


def _of_question(
    device: HandDevice, id: str, answers: Sequence[str], design: ResponseDesign, yes: SpokenText
) -> Iterator[Sentence]:
    """Yield what a design assumes about another question or statement."""
    if isinstance(design, UnrelatedQuestion):
        if design.prevalence is not None:
            share = float(design.prevalence)
            yield sentence("devices.rests-unrelated", question=id, yes=yes, share=share)
        elif design.expected is not None:
            share = float(design.expected)
            yield sentence("devices.rests-expected", question=id, yes=yes, share=share)
        else:
            yield sentence("devices.rests-unknown", question=id, yes=yes)
    elif not procedure(design, device, answers).uses_device:
        share = float(design.p)  # type: ignore[attr-defined]
        yield sentence("devices.rests-statement", question=id, share=share)
