"""The kit of an interview survey: everything that is printed, typed into, and shown to respondents.

Each page is self-contained HTML that prints on A4 and Letter. What a card says follows from
`incrowd.interviews.procedures`, so that it realizes the probabilities of the design exactly.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, NamedTuple

from incrowd.catalog.sentences import ENGLISH, Sentence, sentence, translated
from incrowd.errors import Of, Problem, SurveyError
from incrowd.interviews.assignment import RandomList
from incrowd.interviews.designs import KukCards, UnrelatedQuestion
from incrowd.interviews.devices import Cards, Spinner
from incrowd.interviews.faces import ReadAs
from incrowd.interviews.procedures import (
    HALF,
    PACKS,
    DeviceOutcome,
    Procedure,
    SpokenText,
    procedure,
)
from incrowd.interviews.promise import QuestionPromise, promise_of, question_promise
from incrowd.interviews.survey import InterviewSurvey
from incrowd.presentation.interview_workbook import answers_file
from incrowd.presentation.shell import rendered
from incrowd.survey.words import in_language

CASES = 10  # of the self-test
OF_DESIGN = 4  # of them, about what the cards say
CARDS_ON_PAGE = 9
LONG_TEXT, LONG_LINES = 120, 5  # of a card: characters of its questions, lines of its rules
TIMES = 1000  # in the demonstration
_NEEDS: dict[ReadAs, str] = {
    "die": "devices.need-die",
    "dice": "devices.need-dice",
    "two-dice": "devices.need-two-dice",
    "spinner": "devices.need-spinner",
    "coin": "devices.need-coin",
    "coins": "devices.need-coin",
    "tosses": "devices.need-coin",
}


class KitQuestion(NamedTuple):
    """A question as respondents and interviewers read it, in one language."""

    number: int
    id: str
    text: str
    help: str
    answers: tuple[str, ...]


class KitCard(NamedTuple):
    """The card of a question for one group of interviews.

    group: "" for all. together: the promise about all answers of an interview, if there are more.
    """

    name: Sentence
    group: str
    question: KitQuestion
    procedure: Procedure
    promised: QuestionPromise
    together: tuple[Sentence, ...]
    other: SpokenText | None

    @property
    def promise(self) -> tuple[Sentence, ...]:
        """What the respondent is promised, about this answer and about all answers together."""
        return (*self.promised.to_respondent(), *self.together)

    @property
    def hides(self) -> bool:
        """Whether a bound holds for this answer, and for all answers together."""
        bounded = all(each.code != "devices.you-no-bound-together" for each in self.together)
        return self.promised.ratio is not None and bounded

    @property
    def long(self) -> bool:
        """Whether a page holds the card in small print only."""
        texts = self.question.text, self.question.help, "" if self.other is None else self.other
        lines = sum(len(rule.lines) for rule in self.procedure.rules)
        return sum(len(str(text)) for text in texts) > LONG_TEXT or lines > LONG_LINES

    @property
    def device_asks(self) -> bool:
        """Whether the other question is about what the device shows."""
        return isinstance(self.other, Sentence)

    @property
    def needs_wording(self) -> bool:
        """Whether respondents answer another question whose wording is not known."""
        return self.procedure.design.innocuous and not self.other


class SheetItem(NamedTuple):
    """A question on an interview sheet. card: None if it is asked openly."""

    question: KitQuestion
    procedure: Procedure
    card: Sentence | None

    @property
    def reports(self) -> tuple[SpokenText, ...]:
        """What can be checked, in the order of the card, where yes comes before no."""
        reports = self.procedure.reports
        return reports[::-1] if self.procedure.yes_first and len(reports) == 2 else reports


class SheetPage(NamedTuple):
    """The sheet of one interview."""

    number: int
    group: str
    items: tuple[SheetItem, ...]


class TestCase(NamedTuple):
    """A question of the self-test, with its answer."""

    question: Sentence
    answer: Sentence


@dataclass(frozen=True)
class Kit:
    """The pages of an interview survey in a language.

    lists: the interviews of each interviewer, with their groups.
    """

    survey: InterviewSurvey
    lists: tuple[RandomList, ...]
    language: str = ENGLISH

    def words(self, text: SpokenText) -> str:
        """Return a text in the language of the kit."""
        return str(translated(text, self.language))

    def _wording(self, words: str | Mapping[str, str] | None) -> str:
        """Return a text of the survey in the language of the kit, or in that of the survey."""
        return in_language(words, self.language, self.survey.language) if words else ""

    def label(self, id: str, answer: str) -> str:
        """Return an answer to a question, or a report, in the language of the kit."""
        return self.words(self.survey.label_of(id, answer, self.language))

    @cached_property
    def questions(self) -> tuple[KitQuestion, ...]:
        """The questions in order."""
        return tuple(
            KitQuestion(
                number,
                each.id,
                self.survey.text_of(each.id, self.language),
                self._wording(each.question.help),
                tuple(self.label(each.id, answer) for answer in each.design.answers),
            )
            for number, each in enumerate(self.survey.items, 1)
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The codes of the groups; one empty code if there are none."""
        return self.survey.groups or ("",)

    def procedures(self, question: KitQuestion) -> tuple[Procedure, ...]:
        """Return what respondents of each group do at a question."""
        item = self.survey.item(question.id).design
        label_of = partial(self.label, question.id)
        return tuple(
            procedure(design, self.survey.device, item.answers, label_of) for design in item.designs
        )

    @cached_property
    def cards(self) -> tuple[KitCard, ...]:
        """The cards: one for each question, or for each of its groups that has another design."""
        return tuple(chain.from_iterable(map(self._cards, self.questions)))

    def _cards(self, question: KitQuestion) -> Iterator[KitCard]:
        each = self.procedures(question)
        alike = all(one.design == each[0].design for one in each)
        for group, one in zip(self.groups, each[:1] if alike else each, strict=not alike):
            if one.direct:
                continue
            name = sentence("kits.card-number", number=question.number)
            if not alike:
                name = sentence("kits.card-of-group", number=question.number, group=group)
            promised = question_promise(question.id, one.answers, one.design, one.label_of)
            other = one.other
            other = self._wording(other) if isinstance(other, str | dict) else other
            group = "" if alike else group
            yield KitCard(name, group, question, one, promised, self._together(group), other)

    def _together(self, group: str) -> tuple[Sentence, ...]:
        """Return the weakest promise about all answers, of the groups in which a card is used."""
        promises = promise_of(self.survey, language=self.language).groups
        fitting = (each for each in promises if not group or each.group in ("", group))
        return max(fitting, key=lambda each: each.epsilon).together()

    def card(self, question: KitQuestion, group: str) -> KitCard | None:
        """Return the card of a question in a group; None if it is asked openly."""
        fitting = (
            each for each in self.cards if each.question == question and each.group in ("", group)
        )
        return next(fitting, None)

    # Pages.

    def _page(self, template: str, title: str, use: SpokenText, **parts: Any) -> str:
        name = self.survey.name
        return rendered(
            template,
            title=self.words(Sentence(title, {"name": name})),
            name=name,
            use=self.words(use),
            language=self.language,
            **parts,
        )

    def sheets_page(self) -> str:
        """Return a sheet for each interview."""
        items = {group: tuple(self._items(group)) for group in self.groups}
        sheets = [
            SheetPage(number, group, items[group])
            for each in self.lists
            for number, group in each.numbered
        ]
        fields = [sentence("kits.interviewer-field"), sentence("kits.date-field")]
        columns = self.survey.columns
        fields += [name for name in (columns.cluster, columns.weight) if name]  # type: ignore[misc]
        use = sentence("kits.sheets-use")
        return self._page("kit_sheets.html", "kits.sheets-title", use, sheets=sheets, fields=fields)

    def _items(self, group: str) -> Iterator[SheetItem]:
        for question in self.questions:
            each = self.procedures(question)[self.groups.index(group)]
            card = self.card(question, group)
            yield SheetItem(question, each, card and card.name)

    def cards_page(self) -> str:
        """Return the cards for respondents, one on each page."""
        use = sentence("kits.cards-use")
        long = [card for card in self.cards if card.long]
        return self._page("kit_cards.html", "kits.cards-title", use, cards=self.cards, long=long)

    def instructions_page(self) -> str:
        """Return the instructions for interviewers, with the promise to read aloud."""
        promise = promise_of(self.survey, language=self.language, titled=True)
        return self._page(
            "kit_instructions.html",
            "kits.instructions-title",
            "",
            needs=list(self._needs()),
            seen=[text for text, _ in self._seen()],
            promises=[
                {"group": each.group, "texts": each.to_respondent()} for each in promise.groups
            ],
            assumptions=promise.assumptions,
        )

    def _needs(self) -> Iterator[Sentence]:
        yield sentence("kits.needs-sheet")
        yield sentence("kits.needs-cards")
        device, used = self.survey.device, [card.procedure for card in self.cards]
        used = [each for each in used if each.uses_device]
        kinds = [each.read_as for each in used]
        if isinstance(device, Cards) and used:
            if any(isinstance(each.design, KukCards) for each in used):
                yield sentence("devices.need-packs", number=device.cards)
            if not all(isinstance(each.design, KukCards) for each in used):
                yield sentence("devices.need-cards", number=device.cards)
        for code in dict.fromkeys(_NEEDS[kind] for kind in kinds if kind in _NEEDS):
            yield Sentence(code)
        yield sentence("kits.needs-pencil")
        if self.survey.groups:
            yield sentence("kits.needs-groups")

    def test_page(self) -> str:
        """Return the self-test: what cards say in some cases, and what interviewers do."""
        cases = [*islice(self._cases(), OF_DESIGN)]
        cases = [*cases, *(case for _, case in islice(self._seen(), 1)), *RULES][:CASES]
        use = sentence("kits.test-use")
        return self._page("kit_test.html", "kits.test-title", use, cases=cases)

    def _seen(self) -> Iterator[tuple[Sentence, TestCase]]:
        """Yield what interviewers do who learn what decided: a fact cannot be drawn again."""
        used = [card.procedure for card in self.cards]
        if any(each.uses_device and not self.survey.device.personal for each in used):
            yield sentence("kits.trouble-seen"), SEEN
        if any(each.has_fact for each in used):
            yield sentence("kits.trouble-known"), KNOWN

    def _cases(self) -> Iterator[TestCase]:
        """Yield cases of each card in turn, those first in which the answer is not the truth."""
        of_cards = [[*_cases(card, self.words)] for card in self.cards]
        for turn in range(max(map(len, of_cards), default=0)):
            yield from (cases[turn] for cases in of_cards if turn < len(cases))

    def pack_page(self) -> str:
        """Return the cards to cut out, one pack for each that the survey needs."""
        packs = [*self._packs()]
        use = sentence("kits.pack-cut")
        return self._page("kit_pack.html", "kits.pack-title", use, packs=packs)

    def _packs(self) -> Iterator[dict[str, Any]]:
        device = self.survey.device
        assert isinstance(device, Cards)
        numbered = False
        for card in self.cards:
            if isinstance(card.procedure.design, KukCards):
                yield from self._colored(card)
            elif not numbered and card.procedure.uses_device:
                numbered = True
                texts = [{"text": f"{number + 1}", "red": None} for number in range(device.cards)]
                use = sentence("kits.pack-use", number=device.cards)
                yield {"use": use, "pages": _pages(texts)}

    def _colored(self, card: KitCard) -> Iterator[dict[str, Any]]:
        """Yield the packs of red and black cards for one question."""
        device = self.survey.device
        for true, pack in sorted(enumerate(PACKS), key=lambda each: each[1]):
            texts = [
                {"text": self.words(card.procedure.report_label(step.answer)), "red": red}
                for step, faces in card.procedure.faces(true)
                for red in [step.answer == "red"]
                for _ in faces.readings
            ]
            name = f"{card.question.number}{pack}" if len(self.cards) > 1 else pack
            use = sentence("kits.pack-use-of", pack=name, number=device.outcomes)
            yield {"use": use, "pages": _pages(texts)}

    def spinner_page(self) -> str:
        """Return a spinner with numbered sectors."""
        device = self.survey.device
        assert isinstance(device, Spinner)
        size = round(min(7.0, 430 / device.sectors if device.sectors <= 40 else 4.2), 1)
        use = sentence("kits.spinner-use")
        return self._page(
            "kit_spinner.html", "kits.spinner-title", use, sectors=device.sectors, size=size
        )

    def lists_page(self) -> str:
        """Return the random lists, one for each interviewer."""
        use = sentence("kits.lists-use")
        return self._page("kit_lists.html", "kits.lists-title", use, lists=self.lists)

    def lists_csv(self) -> str:
        """Return the random lists as a file for programs."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("interviewer", "interview", "group"))
        for each in self.lists:
            writer.writerows((each.interviewer, *numbered) for numbered in each.numbered)
        return text.getvalue()

    def demonstration_page(self) -> str:
        """Return a page on which a respondent tries out her card. It sends nothing."""
        data = {
            "questions": [self._demonstrated(card) for card in self.cards],
            "times": TIMES,
            "words": {name: self.words(text) for name, text in DEMONSTRATION.items()},
        }
        hidden = all(card.hides for card in self.cards)
        title = self.words(
            sentence("kits.demonstration-title" if hidden else "kits.demonstration-reveals")
        )
        return rendered("demonstration.html", title=title, language=self.language, data=data)

    def _demonstrated(self, card: KitCard) -> dict[str, Any]:
        """Return a card as the page reads it."""
        one, question = card.procedure, card.question
        names = one.reports
        reports = [*map(self.words, names)]
        if one.design.repeats > 1:
            counts = range(one.design.repeats + 1)
            reports = [self._counted(number, one.design.repeats, names[1]) for number in counts]
        places = range(len(one.answers))
        matrix = one.design.matrix(one.answers, _share(one))
        return {
            "name": f"{question.number}. {question.text}"
            + (
                f" ({self.words(sentence('kits.group-code', group=card.group))})" * bool(card.group)
            ),
            "text": question.text,
            "other": None if card.other is None else self.words(card.other),
            "acts": [*map(self.words, one.acts)],
            "promise": [*map(self.words, (*card.promise, *_assumed(card)))],
            "answers": question.answers,
            "order": one.order,
            "device_asks": card.device_asks,
            "reports": reports,
            "said": [*map(self.words, names)],
            "repeats": one.design.repeats,
            "matrix": [[float(each) for each in row] for row in matrix],
            "outcomes": [
                [self._shown(outcome, card) for outcome in one.outcomes(true, _share(one))]
                for true in places
            ],
        }

    def _counted(self, number: int, times: int, report: SpokenText) -> str:
        return self.words(
            sentence("kits.demonstration-counted", number=number, times=times, report=report)
        )

    def _shown(self, outcome: DeviceOutcome, card: KitCard) -> dict[str, Any]:
        other = None
        if outcome.other is not None:
            answer = card.question.answers[outcome.other]
            other = self.words(sentence("kits.demonstration-other-answer", answer=answer))
        return {
            "probability": float(outcome.probability),
            "report": outcome.report,
            "shows": outcome.shows and self.words(outcome.shows),
            "face": outcome.face,
            "do": outcome.do and self.words(outcome.do),
            "other": other,
        }


SEEN = TestCase(sentence("kits.test-seen"), sentence("kits.test-seen-answer"))
KNOWN = TestCase(sentence("kits.test-known"), sentence("kits.test-known-answer"))
RULES = (
    TestCase(sentence("kits.test-told"), sentence("kits.test-told-answer")),
    TestCase(sentence("kits.test-doubt"), sentence("kits.test-doubt-answer")),
    TestCase(sentence("kits.test-refused"), sentence("kits.test-refused-answer")),
    TestCase(sentence("kits.test-twice"), sentence("kits.test-twice-answer")),
    TestCase(sentence("kits.test-ask"), sentence("kits.test-ask-answer")),
)
DEMONSTRATION = {
    "nothing": sentence("kits.demonstration-nothing-yet"),
    "hears": sentence("kits.demonstration-hears", report="{report}"),
    "others": sentence(
        "kits.demonstration-other-people", answer="{answer}", number="{number}", report="{report}"
    ),
    "cannot": sentence("kits.demonstration-cannot"),
    "can": sentence("kits.demonstration-can", answer="{answer}"),
    "once": sentence("kits.demonstration-many-once", answer="{answer}"),
    "said": sentence("kits.demonstration-said"),
    "times": sentence("kits.demonstration-times"),
    "expected": sentence("kits.demonstration-expected"),
    "otherwise": sentence("kits.demonstration-other-expected", answer="{answer}"),
}


def _share(one: Procedure) -> Fraction:
    """Return the share of yes to an unrelated question that the demonstration assumes."""
    return getattr(one.design, "expected", None) or HALF


def _assumed(card: KitCard) -> Iterator[Sentence]:
    """Yield what the demonstration assumes about a share that is not known."""
    if card.procedure.design.unknown:
        share, yes = float(_share(card.procedure)), card.question.answers[-1]
        yield sentence("kits.demonstration-assumed", share=share, yes=yes)


def _pages(cards: Sequence[Any]) -> list[Sequence[Any]]:
    """Return cards page by page."""
    return [cards[first : first + CARDS_ON_PAGE] for first in range(0, len(cards), CARDS_ON_PAGE)]


def _cases(card: KitCard, words: Callable[[SpokenText], str]) -> Iterator[TestCase]:
    """Yield the cases of a card that differ in what is done or said, one of each true answer in
    turn."""
    one, question = card.procedure, card.question
    of_answers = [[*_distinct(card, true)] for true in range(len(question.answers))]
    for turn in range(max(map(len, of_answers))):
        for true, outcomes in enumerate(of_answers):
            if turn < len(outcomes):
                outcome = outcomes[turn]
                says = sentence("kits.test-says", report=one.reports[outcome.report])
                yield TestCase(_case(card, true, outcome), says)


def _distinct(card: KitCard, true: int) -> list[DeviceOutcome]:
    """Return one outcome for each report of people with a true answer, other reports first."""
    by_report: dict[int, DeviceOutcome] = {}
    for outcome in card.procedure.outcomes(true):
        both = outcome.shows is not None and outcome.other is not None
        if not (both and isinstance(card.procedure.design, UnrelatedQuestion)):
            by_report.setdefault(outcome.report, outcome)
    return sorted(by_report.values(), key=lambda each: each.report == true)


def _case(card: KitCard, true: int, outcome: DeviceOutcome) -> Sentence:
    about = {"card": card.name, "question": card.question.text}
    about["answer"] = card.question.answers[true]
    if outcome.shows is None:
        other = card.question.answers[outcome.other or 0]
        return Sentence("kits.test-case-other", about | {"other": other})
    return Sentence("kits.test-case", about | {"shows": outcome.shows})


def check_wordings(kit: Kit) -> None:
    """Raise SurveyError if the wording of another question is missing, which cards show."""
    missing = [card.question.id for card in kit.cards if card.needs_wording]
    if missing:
        places = (("question", "design", Of(id)) for id in dict.fromkeys(missing))
        raise SurveyError(*(Problem(place, "kits.no-wording") for place in places))


def kit_files(
    survey: InterviewSurvey, lists: Sequence[RandomList], language: str
) -> dict[str, bytes]:
    """Return the files of a kit by their names: pages, lists, and a spreadsheet for the answers.

    The spreadsheet is a CSV file if openpyxl is not installed. Raises SurveyError if a card would
    lack the wording of another question.
    """
    kit = Kit(survey, tuple(lists), language)
    check_wordings(kit)
    files = {
        "instructions.html": kit.instructions_page(),
        "self-test.html": kit.test_page(),
        "cards-for-respondents.html": kit.cards_page(),
        "interview-sheets.html": kit.sheets_page(),
        "demonstration.html": kit.demonstration_page(),
    }
    uses = any(card.procedure.uses_device for card in kit.cards)
    if uses and isinstance(survey.device, Cards):
        files["cards-to-cut-out.html"] = kit.pack_page()
    if uses and isinstance(survey.device, Spinner):
        files["spinner.html"] = kit.spinner_page()
    if survey.groups:
        files["random-list.html"] = kit.lists_page()
        files["random-list.csv"] = kit.lists_csv()
    typed = answers_file(survey, lists, language)
    return {name: text.encode() for name, text in files.items()} | typed
