"""Invitations for people: letters, strips to cut out, mail, a poster, and a reminder.

A text is plain text: an empty line separates paragraphs, and names in braces, such as {link}, stand
for what is different for each person. Everything else is filled in when the text is made, so that
a person can edit it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, Literal

import segno

from incrowd.accountant.analyses import analysis
from incrowd.catalog.sentences import Sentence, in_words, localized, sentence
from incrowd.errors import UsageError
from incrowd.guarantees.parties import added_by
from incrowd.number_text import bound, factor
from incrowd.plans import Guarantee
from incrowd.presentation.shell import rendered

LINK, CODE, DIGEST = "link", "code", "digest"
LETTER_FIELDS = (LINK, CODE, DIGEST)  # what every invitation has
NAME = "name"  # of a column of a list, in any case, that a text greets people by
ERROR_LEVEL = "m"  # of QR codes: 15% of a code may be damaged
QUIET = 4  # modules of white around a QR code, as its standard requires
LETTER_CM, STRIP_CM, POSTER_CM = 4.0, 3.2, 9.0  # the side of a QR code with its white border
_FIELD = re.compile(r"\{([^{}\n]+)\}")
_PARAGRAPHS = re.compile(r"\n\s*\n")

Letter = Mapping[str, str]  # the values of one person, by the names in braces
LetterLayout = Literal["letters", "strips", "poster"]
OrganizationRole = Literal["shuffler", "inviter", "first", "second", "collector"]


@dataclass(frozen=True)
class LetterFacts:
    """The facts about a collection that its invitations state.

    closes: in UTC. runs: the organization, or the host, of each service; "" for a machine
    that only tries it out. short: the beginning of
    the bundle's digest. page: the address of the survey page, or "" if people answer with the
    program. link: the link without an invitation. cells: whether answers travel in pieces. codes:
    whether people need an invitation.
    """

    title: str
    introduction: str
    closes: datetime
    runs: Mapping[OrganizationRole, str]
    short: str
    page: str
    link: str
    guarantee: Guarantee
    cells: bool
    codes: bool


@dataclass(frozen=True)
class LetterStyle:
    """The language of letters, and the time zone of their dates; by default, that of this
    machine."""

    language: str
    zone: tzinfo | None = None

    def text(self, words: Sentence) -> str:
        """Return a sentence in the language."""
        return in_words(words, self.language)

    def date(self, time: datetime) -> str:
        """Return a time in the time zone, with its distance from UTC: "December 6, 2026, 6:00 p.m.
        (UTC+1)"."""
        here = time.astimezone(self.zone)
        hours, minutes = divmod(int((here.utcoffset() or here - here).total_seconds()) // 60, 60)
        zone = f"UTC{hours:+d}{f':{minutes:02d}' if minutes else ''}" if hours or minutes else "UTC"
        clock = f"{here:%H:%M}"
        if self.language == "en":
            clock = f"{here.hour % 12 or 12}:{here:%M} {'p.m.' if here.hour >= 12 else 'a.m.'}"
        month = self.text(sentence("letters.months")).split()[here.month - 1]
        day, year = str(here.day), str(here.year)
        return self.text(
            sentence("letters.date", month=month, day=day, year=year, time=clock, zone=zone)
        )


# The texts.


def letter_text(facts: LetterFacts, style: LetterStyle, columns: Iterable[str] = ()) -> str:
    """Return the text of a letter; of a poster, if people need no invitation.

    columns: those of a list of people. If one is called "name", the letter greets people by it.
    """
    if not facts.codes:
        how = sentence("letters.how-poster", link=facts.page or facts.link)
        return _text(facts, style, "letters.poster", how)
    how = (
        sentence("letters.how-letter", page=facts.page)
        if facts.page
        else sentence("letters.how-letter-program", link="{link}")
    )
    return _text(facts, style, "letters.letter", how, greeting=_greeting(columns))


def mail_text(facts: LetterFacts, style: LetterStyle, columns: Iterable[str] = ()) -> str:
    """Return the text of a mail, with a link for each person."""
    link = "{link}" if facts.codes else facts.link
    how = (
        sentence("letters.how-mail", link=link)
        if facts.page or not facts.codes
        else sentence("letters.how-letter-program", link=link)
    )
    greeting = _greeting(columns)
    return _text(facts, style, "letters.mail", how, greeting=greeting, digest=facts.short)


def strip_text(facts: LetterFacts, style: LetterStyle) -> str:
    """Return how to answer, for a strip of paper."""
    if facts.page:
        return style.text(sentence("letters.how-strip", page=facts.page))
    return style.text(sentence("letters.how-letter-program", link="{link}"))


def reminder_text(facts: LetterFacts, style: LetterStyle) -> str:
    """Return the text of a reminder for everybody. It has no invitation in it."""
    if not facts.codes:
        how = sentence("letters.how-mail", link=facts.link)
    elif facts.page:
        how = sentence("letters.how-reminder", page=facts.page)
    else:
        how = sentence("letters.how-reminder-program")
    return _text(facts, style, "letters.reminder", how)


def subject(facts: LetterFacts, style: LetterStyle) -> str:
    """Return the subject of a mail that invites."""
    return style.text(sentence("letters.subject", title=facts.title))


def reminder_subject(facts: LetterFacts, style: LetterStyle) -> str:
    """Return the subject of a reminder."""
    return style.text(sentence("letters.reminder-subject", title=facts.title))


def _greeting(columns: Iterable[str]) -> Sentence:
    named = next((each for each in columns if each.strip().casefold() == NAME), None)
    if named is None:
        return sentence("letters.greeting")
    return sentence("letters.greeting-by-name", name=f"{{{named}}}")


_NAMED_PARTS = {
    "letters.letter": ("greeting", "introduction", "runs", "unseen"),
    "letters.mail": ("greeting", "introduction", "runs", "unseen", "digest"),
    "letters.poster": ("introduction", "runs"),
    "letters.reminder": (),
}


def _text(
    facts: LetterFacts, style: LetterStyle, code: str, how: Sentence, **parts: Sentence | str
) -> str:
    """Return a text of the catalog with the facts filled in, without empty paragraphs."""
    parts |= {"introduction": _unbraced(facts.introduction), "runs": _runs(facts)}
    parts["unseen"] = "" if set(facts.runs) == {"collector"} else sentence("letters.unseen")
    arguments: dict[str, Any] = {name: parts[name] for name in _NAMED_PARTS[code]}
    arguments |= {
        "title": _unbraced(facts.title),
        "how": how,
        "closes": style.date(facts.closes),
        "promise": promise_in_two(facts, style),
    }
    return "\n\n".join(paragraphs(style.text(Sentence(code, arguments))))


def _unbraced(text: str) -> str:
    """Replace braces, which would stand for a value of each person."""
    return text.translate(str.maketrans("{}", "()"))


def _runs(facts: LetterFacts) -> Sentence:
    """Return who runs which service."""
    names: dict[str, Any] = {
        name: _unbraced(text) if text else sentence("letters.trial")
        for name, text in facts.runs.items()
    }
    if "inviter" in names:
        return Sentence("letters.runs-mixers", names)
    if "shuffler" not in names:
        return Sentence("letters.runs-alone", names)
    if "collector" not in names:
        return Sentence("letters.runs-mixing", names)
    return Sentence("letters.runs-shuffler" if facts.codes else "letters.runs-open", names)


def promise_in_two(facts: LetterFacts, style: LetterStyle) -> str:
    """Return the promise in two sentences: what protects people, and how much. Figures are rounded
    toward less privacy."""
    how, much = _protected(facts), _odds(facts.guarantee, style.language)
    return f"{style.text(how)} {style.text(much)}"


def _protected(facts: LetterFacts) -> Sentence:
    """Return what protects people."""
    guarantee = facts.guarantee
    if adding := added_by(guarantee):
        return sentence("letters.services" if adding == "services" else "letters.one-reader")
    if guarantee.crowd is None or not analysis(guarantee.analysis).shuffled:
        return sentence("letters.changes")
    if facts.cells:
        return sentence("letters.pieces", crowd=guarantee.crowd)
    return sentence("letters.mixed", crowd=guarantee.crowd)


def _odds(guarantee: Guarantee, language: str) -> Sentence:
    """Return how much is promised."""
    if guarantee.epsilon == math.inf:
        return sentence("letters.no-promise")
    if (most := factor(guarantee.epsilon)) is None:
        return sentence("letters.hardly")
    times = localized(most, language)
    if not guarantee.delta:
        return sentence("letters.odds-pure", factor=times)
    delta = localized(f"{Decimal(bound(guarantee.delta)):f}", language)
    return sentence("letters.odds", factor=times, delta=delta)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text."""
    return [part.strip() for part in _PARAGRAPHS.split(text) if part.strip()]


def fields_in(text: str) -> list[str]:
    """Return the names in braces, in order."""
    return list(dict.fromkeys(_FIELD.findall(text)))


def check_fields(text: str, columns: Sequence[str] = ()) -> None:
    """Raise UsageError if a text names something in braces that people do not have, or is empty.

    columns: those of a list of people.
    """
    names = [*LETTER_FIELDS, *columns]
    if not text.strip():
        raise UsageError.of("text", "presentation.letter-empty")
    for name in fields_in(text):
        if name not in names:
            choices = [f"{{{each}}}" for each in names]
            raise UsageError.of(
                "text", "presentation.letter-field", value=f"{{{name}}}", choices=choices
            )


def filled(text: str, letter: Letter) -> str:
    """Return a text with the values of one person in the place of the names in braces."""
    return _FIELD.sub(lambda match: letter[match[1]], text)


# QR codes, and the page to print.


def qr_code(link: str) -> segno.QRCode:
    """Return the QR code of a link."""
    return segno.make_qr(link, error=ERROR_LEVEL)


def qr_picture(link: str) -> str:
    """Return the QR code of a link as the address of a picture, with its white border."""
    code = qr_code(link)
    return str(code.svg_data_uri(scale=1, border=QUIET, light="#fff", omitsize=True))


def printed_letters(
    facts: LetterFacts,
    style: LetterStyle,
    letters: Sequence[Letter],
    *,
    text: str = "",
    layout: LetterLayout = "letters",
) -> str:
    """Return a page to print: one letter or strip for each person, or one poster.

    text: that of the letters or the poster; by default `letter_text`. Raises UsageError for names
    in braces that people do not have.
    """
    columns = own_columns(letters)
    text = text or letter_text(facts, style, columns)
    check_fields(text, columns)
    parts: dict[str, Any] = {
        "language": style.language,
        "title": facts.title,
        "facts": facts,
        "layout": layout,
        "letters": letters,
        "closes": style.date(facts.closes),
        "promise": promise_in_two(facts, style),
        "how": strip_text(facts, style),
        "named": next((each for each in columns if each.strip().casefold() == NAME), None),
        "words": labels(style),
        "parts_of": lambda letter: paragraphs(filled(text, letter)),
        "filled": filled,
        "qr_picture": qr_picture,
    }
    return rendered("letters.html", **parts)


def own_columns(letters: Sequence[Letter]) -> list[str]:
    """Return the columns of a list of people that letters have beside their invitation."""
    return [name for name in letters[0] if name not in LETTER_FIELDS] if letters else []


def labels(style: LetterStyle) -> dict[str, str]:
    """Return the short texts beside a QR code."""
    words = {
        "page": sentence("letters.page"),
        "code": sentence("letters.your-code"),
        "compare": sentence("letters.compare"),
        "until": sentence("letters.until"),
        "qr": sentence("letters.qr"),
        "print": sentence("letters.print"),
        "print_poster": sentence("letters.print-poster"),
    }
    return {name: style.text(each) for name, each in words.items()}
