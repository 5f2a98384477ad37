"""Columns that contain personal data, recognized by their names and by their values.

Check digits are those of the public definitions of each number: ISO 7064 (IBAN, German tax number),
ISO/IEC 7812 (Luhn), and the national rules that each function names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_address
from typing import NamedTuple

from incrowd.drafts.column_names import (
    ACCOUNT_NAMES,
    ACCOUNTS,
    ADDRESS_NAMES,
    BIRTH_NAMES,
    CARD_NAMES,
    COORDINATES,
    DEVICES,
    LATITUDES,
    LONGITUDES,
    NAME_NAMES,
    NATIONAL_NAMES,
    NOT_PEOPLE,
    OTHER_NAMES,
    PHONE_NAMES,
    PLATE_NAMES,
    RELATED_NAMES,
    SHORT_NAMES,
    VERSIONS,
    named,
    tokens,
)
from incrowd.drafts.given_names import GIVEN_NAMES
from incrowd.drafts.national import NATIONAL, denmark, digits_of, luhn

MOST = 0.6  # of the different values: so many show what a column contains
MANY = 0.9  # of the values of a column that its name describes, or that have check digits
SOME = 8  # different numbers with valid check digits are no coincidence
MOST_VALUES = 2000  # that are looked at, spread over the column
LONGEST = 300  # characters of a value that are looked at
VARIED = 12  # different values: so many suggest people rather than a list of answers


class PersonalData(NamedTuple):
    """The kind of personal data in a column, which is the end of a code in the catalog. doubtful:
    whether it may be something else."""

    kind: str
    doubtful: bool = False


def personal(name: str, counts: Mapping[str, int]) -> PersonalData | None:
    """Return the kind of personal data in a column; None if it seems to contain none.

    counts: the rows with each value.
    """
    step = 1 + len(counts) // MOST_VALUES
    values = [" ".join(value.split())[:LONGEST] for value in list(counts)[::step]]
    words = tokens(name)
    if not values or all(_INTEGER.fullmatch(value) and len(value) < 4 for value in values):
        return None
    return (
        _of_form(words, values)
        or _number(words, values)
        or _place(words, values)
        or _address(words, values)
        or _plate(words, values)
        or _birth(words, values)
        or _person(words, values)
        or _inside(values)
    )


def _share(values: Collection[str], fits: Callable[[str], object]) -> float:
    return sum(bool(fits(value)) for value in values) / len(values)


# --- forms that only one kind of data has ---------------------------------------------------------

_INTEGER = re.compile(r"-?\d+")
_EMAIL = re.compile(
    r"(mailto:)?[^@\s<>,;:]+@[^@\s<>,;]+\.[^\W\d_]{2,}|.*<[^@\s]+@[^@\s]+\.\w+>", re.I
)
_URL = re.compile(
    r"(?:(?:https?|ftp)://|www\.)\S+|[\w-]+(\.[\w-]+)*\.(com|org|net|de|eu|io)/\S*", re.I
)
_UUID = re.compile(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.I)
_MAC = re.compile(
    r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4,6}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.I
)
_HASH = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{32,128}", re.I)
_AGENT = re.compile(
    r"(Mozilla|Opera|Dalvik|curl|Wget|okhttp|python-requests|PostmanRuntime)/\d.*|\S+/[\d.]+ \(.*",
    re.I,
)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_HOST_PORT = re.compile(r"\[?([0-9a-f:.]+?)\]?(:\d{2,5}|/\d{1,3}|%\w+)?", re.I)
_ACCOUNT = re.compile(r"@[A-Za-z_]\w{1,29}")


def _of_form(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    versions = named(words, *VERSIONS)
    kinds: dict[str, Callable[[str], object]] = {
        "email": _EMAIL.fullmatch,
        "url": _URL.fullmatch,
        "device": lambda value: (
            _UUID.fullmatch(value) or _MAC.fullmatch(value) or _HASH.fullmatch(value)
        ),
        "agent": _AGENT.fullmatch,
        "iban": _is_iban,
        "ip": _is_ip,
        "account": _ACCOUNT.fullmatch,
    }
    for kind, fits in kinds.items():
        if (kind == "ip" and versions) or _share(values, fits) < MOST:
            continue
        return PersonalData(kind, kind == "ip" and _like_versions(words, values))
    together = _share(
        values, lambda value: any(f(value) for k, f in kinds.items() if k != "ip" or not versions)
    )
    if together >= MOST:
        return PersonalData("contact")
    if named(words, *DEVICES) and not named(words, "type", "kind", "os", "brand", "art", "typ"):
        coded = _share(
            values, lambda v: len(v) >= 6 and re.fullmatch(r"[\w:.-]+", v) and re.search(r"\d", v)
        )
        if coded >= MOST and len(values) > 1:
            return PersonalData("device")
    if named(words, *ACCOUNTS) and len(values) > 4 and _share(values, lambda v: len(v) > 2) > MOST:
        return PersonalData("account")
    if (
        named(words, "ip", "ipaddress", "ip address", "ipv4", "ipv6")
        and _share(values, _is_ip) > 0.3
    ):
        return PersonalData("ip")
    if (
        named(words, "user agent", "useragent", "browser string")
        and _share(values, lambda v: "/" in v) > 0.5
    ):
        return PersonalData("agent")
    return None


def _is_ip(value: str) -> bool:
    match = _HOST_PORT.fullmatch(value)
    for text in (value, match[1] if match else ""):
        try:
            ip_address(re.sub(r"\b0+(?=\d)", "", text) if "." in text and ":" not in text else text)
            return True
        except ValueError:
            continue
    return bool(re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.(x{1,3}|\*|0)", value))


def _like_versions(words: tuple[str, ...], values: list[str]) -> bool:
    """Return whether addresses may be versions, such as 1.2.0.14."""
    if named(words, "ip", "ipaddress", "ip address", "ipv4", "ipv6", "address", "addr", "adresse"):
        return False
    parts = [int(n) for value in values for n in re.findall(r"\d+", value)[:4]]
    return all(":" not in value for value in values) and max(parts, default=0) < 100


def _is_iban(value: str) -> bool:
    text = value.replace(" ", "").replace("-", "").upper()
    if not _IBAN.fullmatch(text):
        return False
    return int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) % 97 == 1


# --- numbers of people, cards and telephones ------------------------------------------------------


_PHONE = re.compile(
    r"(tel:|tel\.?:? )?(\+|00)\d{1,3}[\d ()/.-]{6,18}\d"  # international
    r"|(\+?1[ .-]?)?\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}( ?(x|ext\.?) ?\d{1,6})?"  # North America
    r"|\(?0\d{1,5}\)?[ /-]+\d[\d /.-]{3,14}\d"  # with a trunk prefix
    r"|0\d{9,11}"
    r"|0\d([ .-]\d{2}){4}",  # France
    re.I,
)


def _number(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    """Recognize national numbers, cards, accounts and telephone numbers."""
    other = named(words, *NOT_PEOPLE)
    long = [value for value in values if 6 <= len(digits_of(value)) <= 19]
    if len(long) < MOST * len(values):
        return _named_number(words, values)
    fits = [each for each in NATIONAL if _share(values, each.form.fullmatch) >= MOST]
    for each in fits:
        valid = _share(values, each.fits)
        if valid >= MANY and (each.certain or (len(values) >= SOME and each.valid is not denmark)):
            return PersonalData("national", other)
    if by_name := _named_number(words, values):
        return by_name
    if _share(values, _is_card) >= MANY and len(values) >= 3:
        return PersonalData("card", other)
    if _share(values, _PHONE.fullmatch) >= MOST:
        sure = _share(values, re.compile(r"(tel|\+|00|\().*", re.I).fullmatch) >= MOST
        return PersonalData("phone", other or not sure)
    if fits and any(each.certain or each.valid is denmark for each in fits):
        return PersonalData("national", True)
    return None


def _named_number(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    """Recognize numbers by the name of the column and their length."""
    for names, kind, least in (
        (NATIONAL_NAMES, "national", 6),
        (PHONE_NAMES, "phone", 6),
        (CARD_NAMES, "card", 12),
        (ACCOUNT_NAMES, "iban", 6),
    ):
        if named(words, *names) and _share(values, _has_digits(least)) >= MOST:
            return PersonalData(kind, named(words, *NOT_PEOPLE))
    return None


_CODE = re.compile(r"(?=(?:.*\d){3})[A-Z\d]+(?:[ ./-][A-Z\d]+)*")


def _has_digits(least: int) -> Callable[[str], bool]:
    """Return whether a text is a number with so many digits, or a long code with some."""
    return lambda value: (
        not re.search(r"[^\W\d_]{4}", value)
        and (len(digits_of(value)) >= least or (len(value) >= 8 and bool(_CODE.fullmatch(value))))
    )


_CARD = re.compile(r"(3\d|4\d|5\d|6\d|2[2-7])(?:[ -]?\d){11,17}")


def _is_card(value: str) -> bool:
    return bool(_CARD.fullmatch(value)) and luhn(value)


# --- places ---------------------------------------------------------------------------------------

_DEGREES = r"[-+]?\d{1,3}(\.\d+)? ?°? ?[NSEWO]?"
_PAIR = re.compile(
    rf"\W*(geo:|POINT ?\()?\W*(?=\S*\.\d\d){_DEGREES}[,;/ ]+(?=\S*\.\d\d){_DEGREES}( [-\d.]+)*\W*",
    re.I,
)
_DMS = re.compile(r"""\W*\d{1,3} ?[°º] ?\d{1,2}.*[NSEWO"″'].*""", re.I)


def _place(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    if _share(values, lambda v: _is_pair(v) or _DMS.fullmatch(v)) >= MOST:
        return PersonalData("coordinates")
    limit = next(
        (
            most
            for names, most in ((LATITUDES, 90), (LONGITUDES, 180), (COORDINATES, 180))
            if named(words, *names)
        ),
        None,
    )
    if limit is None:
        return None
    numbers = [_decimal(value) for value in values]
    inside = [n for n in numbers if n is not None and abs(n) <= limit]
    if len(inside) < MANY * len(values):
        return None
    fine = _share(values, lambda v: re.search(r"[.,]\d{2,}", v))
    if fine >= MOST or not named(
        words, "long", "breite", "lange", "position", "location", "standort"
    ):
        return PersonalData("coordinates", fine < MOST) if len(values) > 3 else None
    return None


def _is_pair(value: str) -> bool:
    if not _PAIR.fullmatch(value):
        return False
    numbers = [abs(float(n)) for n in re.findall(r"\d+\.\d+|\d+", value)]
    return len(numbers) >= 2 and numbers[0] <= 180 and numbers[1] <= 180


def _decimal(text: str) -> float | None:
    try:
        return float(re.sub(r"\s*°?\s*[NSEWOnsewo]?$", "", text.replace(",", ".")))
    except ValueError:
        return None


_ENGLISH = (
    "st|street|ave|avenue|road|rd|lane|ln|blvd|boulevard|drive|dr|way|court|ct|place|pl|square|"
    "terrace|close|crescent|highway|hwy|parkway|circle|row|hill|gardens"
)
_GERMANIC = (
    "straße|strasse|str|weg|platz|gasse|allee|ring|damm|ufer|straat|laan|plein|gatan|vägen|gade|"
    "vej|veien|katu"
)
_FRENCH = "rue|avenue|av|boulevard|bd|place|chemin|quai|impasse|allée|route"
_BEFORE = (
    "rue|avenue|calle|c/|plaza|paseo|avenida|av|via|viale|piazza|corso|rua|ulica|ul|praça|strada|al"
)
_STREET = re.compile(
    rf".*\d+[a-z]?,?( \S+){{0,5}} ({_ENGLISH})\b.*"
    rf"|.*?\S\S({_GERMANIC})[.,]{{0,2}} *\d+.*"
    rf"|\d+[a-z]?( bis)?,? ({_FRENCH})\b.*"
    rf"|({_BEFORE})[.\s]\D+\d+.*"
    r"|(p\.? ?o\.? box|postfach) \d+.*",
    re.I,
)


def _address(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    if _share(values, _STREET.fullmatch) >= MOST:
        return PersonalData("address")
    housed = _share(values, lambda v: re.search(r"\d", v) and re.search(r"[^\W\d_]{3}", v))
    if named(words, *ADDRESS_NAMES) and (housed >= 0.5 or len(values) > VARIED):
        return PersonalData("address", housed < 0.5)
    return None


_PLATES = tuple(
    re.compile(form)
    for form in (
        r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?",  # Germany
        r"[A-Z]{2}\d{2} ?[A-Z]{3}",  # Britain
        r"[A-Z]{2}[- ]?\d{3}[- ]?[A-Z]{2}",  # France, Italy
        r"\d{4}[- ]?[A-Z]{3}",  # Spain
    )
)
_WEAK_PLATES = re.compile(
    r"[A-Z]{2,3}[- ]?\d{3,4}|\d[A-Z]{3}\d{3}|\d{1,3}-?[A-Z]{2,3}-?\d{1,3}"
    r"|[A-Z]{1,2}-?\d{1,3}-?[A-Z]{1,3}|[A-Z]{1,3}[- ]\d{1,5}[- ]?[A-Z]{0,2}"
)


def _plate(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    upper = [value.upper() for value in values]
    strong = max(_share(upper, form.fullmatch) for form in _PLATES)
    together = _share(upper, lambda v: any(form.fullmatch(v) for form in _PLATES))
    weak = _share(
        upper, lambda v: _WEAK_PLATES.fullmatch(v) or any(f.fullmatch(v) for f in _PLATES)
    )
    if (
        named(words, *PLATE_NAMES)
        and _share(upper, lambda v: re.search(r"\d", v) and len(v) > 3) >= MOST
    ):
        return PersonalData("plate")
    series = {re.sub(r"\d+", "", value) for value in upper}  # of a code, not of a plate
    if named(words, *NOT_PEOPLE) or len(values) <= VARIED or len(series) <= len(values) // 4:
        return None
    if together >= MANY:
        return PersonalData("plate", strong < MANY or _WEAK_PLATES.fullmatch(upper[0]) is not None)
    return PersonalData("plate", True) if weak >= MANY else None


# --- people ---------------------------------------------------------------------------------------

_MONTHS = (
    "jan|feb|fev|fév|mar|mär|apr|avr|abr|mai|may|jun|jui|jul|aug|aou|ao"
    "û|ago|sep|oct|okt|out|nov|dec|dez|déc|dic|ene|set|gen|giu|lug|ott|mag"
)
_DAY = re.compile(
    r"(?P<y>\d{4})[-/. ]\d\d?[-/. ]\d\d?([T ].*)?"
    r"|\d\d?[-/. ]\d\d?[-/. ]+(?P<y2>\d{4}|\d\d)([T ].*)?"
    rf"|\d\d?(st|nd|rd|th|\.)?( de)?[ -/]?({_MONTHS})\w*\.?,?( de)?[ -/]?(?P<y3>\d{{4}}|\d\d)"
    rf"|({_MONTHS})\w*\.? \d\d?(st|nd|rd|th)?,? (?P<y4>\d{{4}})"
    r"|(?P<y5>19\d\d|20[0-2]\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
    r"|(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])(?P<y6>19\d\d|20[0-2]\d)"
    r"|(?P<y7>\d{4})年\d\d?月\d\d?日",
    re.I,
)
YOUNGEST, LIFE = 2012, 25  # dates of births end before, and span a generation


def is_day(text: str) -> bool:
    """Return whether a text is a date with a day, in one of many spellings."""
    return bool(_DAY.fullmatch(text))


def _year(match: re.Match[str]) -> int:
    year = int(next((text for text in match.groupdict().values() if text), 0))
    return year if year > 99 else year + (1900 if year > 25 else 2000)


def _birth(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    matches = [_DAY.fullmatch(value) for value in values]
    years = [_year(match) for match in matches if match]
    if len(years) < MOST * len(values):
        return None
    if named(words, *BIRTH_NAMES):
        return PersonalData("birth")
    if any(value.isdecimal() for value in values):  # eight digits may be anything
        return None
    years.sort()
    spread = years[-1] - years[0] >= LIFE and years[len(years) // 2] <= YOUNGEST - 10
    return PersonalData("birth", True) if spread and len(values) > VARIED else None


_PART = r"(?:(?:Mc|Mac|O['’]|D['’]|De|La|Van|Di)?[^\W\d_a-zß][^\W\d_A-Z]+(?:[-'’][^\W\d_]+)?)"
_INITIAL = r"(?:[^\W\d_a-z]\.)"
_PARTICLE = (
    r"(?:(?:von|van|de|der|den|del|della|di|da|dos|du|la|le|bin|ibn|al|zu|zur|ter|ten|y|e)\.? ?)*"
)
_TITLE = r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Miss|Herr|Frau|M|Mme|Sr|Sra)\.? )*"
_FULL_NAME = re.compile(
    rf"{_TITLE}{_PART}(?: (?:{_PART}|{_INITIAL}))?(?: {_INITIAL})? {_PARTICLE}{_PART}(?: {_PART})?"
    r"(?:,? (?:Jr|Sr|PhD|MD|II|III)\.?)?"
    rf"|{_INITIAL} ?(?:{_INITIAL} ?)?{_PARTICLE}{_PART}"
    rf"|{_PARTICLE}{_PART}(?: {_PART})?, (?:{_TITLE}{_PART}|{_INITIAL})(?: (?:{_PART}|{_INITIAL}))?"
)
_WORD_NAME = re.compile(rf"{_PARTICLE}{_PART}(?:[ -]{_PART})?|[^\W\d_]{{2,}}")


def _person(words: tuple[str, ...], values: list[str]) -> PersonalData | None:
    """Recognize names of people, which may be in capitals or in small letters."""
    lettered = _share(
        values, lambda v: re.fullmatch(r"[^\d@/_]*[^\W\d_]{2}[^\d@/_]*", v) and len(v.split()) <= 6
    )
    if lettered < MANY or len(values) < 3:
        return None
    titled = [_as_title(value) for value in values]
    full = _share(titled, _FULL_NAME.fullmatch)
    given = _share(titled, _has_given_name)
    other = named(words, *OTHER_NAMES)
    single = _share(titled, lambda v: _WORD_NAME.fullmatch(v) or _FULL_NAME.fullmatch(v))
    if named(words, *NAME_NAMES) and not other and single >= MOST:
        return PersonalData("name")
    several = len(values) > VARIED or full >= MOST or given >= 0.3
    if named(words, *RELATED_NAMES) and several and not other and single >= MOST:
        return PersonalData("name", given < 0.3)
    short = named(words, *SHORT_NAMES) and not other and single >= MOST
    if short and (len(values) > VARIED or given >= 0.3):
        return PersonalData(
            "name", given < 0.3 and full < MOST and not named(words, "name", "surname")
        )
    if full >= MOST and given >= 0.4 and len(values) >= 4:
        return PersonalData("name", other)
    if single >= MANY and given >= 0.5 and len(values) >= 6:
        return PersonalData("name", True)
    if full >= MANY and len(values) > 2 * VARIED and not other and _crossed(titled):
        return PersonalData("name", True)
    return None


def _as_title(value: str) -> str:
    cased = value.isupper() or value.islower()
    return re.sub(r"[^\W\d_]+", lambda word: word[0].capitalize(), value) if cased else value


def _has_given_name(value: str) -> bool:
    plain = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    return any(word in GIVEN_NAMES for word in re.findall(r"[^\W\d_]+", plain))


def _crossed(values: Collection[str]) -> bool:
    """Return whether first and last words occur in several combinations, as names of people do."""
    parts = [value.split() for value in values]
    ends = ({part[0] for part in parts}, {part[-1] for part in parts})
    return min(map(len, ends)) >= 0.2 * len(parts) or (
        max(map(len, ends)) < len(parts) and min(map(len, ends)) >= 5
    )


def _inside(values: list[str]) -> PersonalData | None:
    """Recognize a few addresses or accounts among other answers, which would become options."""
    single = [v for v in values if re.search(r"[^@\s]+@[^@\s]+\.[a-z]{2}", v, re.I) or _is_iban(v)]
    return PersonalData("contact", True) if single else None
