"""National numbers of people, by their forms and check digits.

Check digits are those of the public definitions: ISO 7064, ISO/IEC 7812 (Luhn), Verhoeff, and the
rules of each country, which its function names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import NamedTuple


def digits_of(value: str) -> list[int]:
    """Return the digits in a text."""
    return [int(each) for each in value if each.isdecimal()]


def _weighted(digits: Iterable[int], weights: Iterable[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(value: str) -> bool:
    """Return whether the last digit of a number is the check digit of the others, by Luhn."""
    doubled = [2 * d if n % 2 else d for n, d in enumerate(reversed(digits_of(value)))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _real_date(year: int, month: int, day: int) -> bool:
    try:
        return bool(date(year, month, day))
    except ValueError:
        return False


def _two_digit_date(value: str, order: str) -> bool:
    """Return whether six digits are a date; order: "ymd", "dmy" or "mdy". Days may be increased by
    40 or 60, and months by 20 to 80, as some countries do for women and for later centuries."""
    digits = dict(zip(order, (int(value[at : at + 2]) for at in (0, 2, 4)), strict=True))
    day, month = digits["d"] % 40 or 40, digits["m"] % 20 or 20
    return _real_date(2000, month, min(day, 31)) and day <= 31


def _steuer_id(value: str) -> bool:  # Germany: ISO 7064 mod 11, 10; one digit of ten repeats
    digits, product = digits_of(value), 10
    if digits[0] == 0 or not 8 <= len(set(digits[:10])) <= 9:
        return False
    for digit in digits[:10]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def _insee(value: str) -> bool:  # France: the key is 97 less the number modulo 97
    text = re.sub(r"\D", "", value.upper().replace("2A", "19").replace("2B", "18"))
    return len(text) == 15 and 97 - int(text[:13]) % 97 == int(text[13:])


def _dni(value: str) -> bool:  # Spain: a letter by the number modulo 23; X, Y, Z begin an NIE
    text = re.sub(r"[\W_]", "", value.upper())
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


_TENS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_REST = (2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", [*_TENS, *_TENS, *_REST], strict=True))


def _codice(value: str) -> bool:  # Italy: odd and even places have tables of their own
    text = value.upper().replace(" ", "")
    even = {each: int(each) if each.isdigit() else ord(each) - 65 for each in text}
    total = sum(_ODD[c] if n % 2 == 0 else even[c] for n, c in enumerate(text[:15]))
    return chr(65 + total % 26) == text[15]


def _bsn(value: str) -> bool:  # the Netherlands: the "test of eleven"
    digits = digits_of(value)
    return any(digits) and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _personnummer(value: str) -> bool:  # Sweden: a date, and Luhn on ten digits
    text = "".join(map(str, digits_of(value)))[-10:]
    return _two_digit_date(f"{text[:4]}{int(text[4:6]) % 60:02}", "ymd") and luhn(text)


def _pesel(value: str) -> bool:  # Poland
    digits = digits_of(value)
    total = _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1))
    return total % 10 == 0 and _two_digit_date("".join(map(str, digits[:6])), "ymd")


def _cpf(value: str) -> bool:  # Brazil
    digits = digits_of(value)
    sums = (_weighted(digits, range(start, 1, -1)) for start in (10, 11))
    return len(set(digits)) > 1 and all(
        s * 10 % 11 % 10 == d for s, d in zip(sums, digits[9:], strict=True)
    )


def _belgium(value: str) -> bool:
    text = "".join(map(str, digits_of(value)))
    key = int(text[9:])
    return key in (97 - int(text[:9]) % 97, 97 - int(f"2{text[:9]}") % 97)


def _norway(value: str) -> bool:
    digits = digits_of(value)
    return (
        _two_digit_date("".join(map(str, digits[:6])), "dmy")
        and _weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
        and _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    )


def _finland(value: str) -> bool:
    text = re.sub(r"[-+A-FU-Y](?=\d{3})", "", value.upper())
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:9]) % 31] == text[9]


def _ahv(value: str) -> bool:  # Switzerland: an EAN
    digits = digits_of(value)
    return _weighted(digits, (1, 3) * 7) % 10 == 0


def _austria(value: str) -> bool:
    digits = digits_of(value)
    others = digits[:3] + digits[4:]
    return _weighted(others, (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11 == digits[3] and digits[0] > 0


def _china(value: str) -> bool:
    digits = [int(each) for each in value[:17]]
    key = _weighted(digits, (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)) % 11
    return "10X98765432"[key] == value[17].upper()


def _nhs(value: str) -> bool:  # the United Kingdom
    digits = digits_of(value)
    return (11 - _weighted(digits, range(10, 1, -1)) % 11) % 11 == digits[9] and any(digits)


def _czech(value: str) -> bool:
    text = "".join(map(str, digits_of(value)))
    year, month, day = int(text[:2]), int(text[2:4]) % 50 % 20, int(text[4:6])
    return int(text) % 11 == 0 and _real_date(1900 + year, month or 20, day)


def _turkey(value: str) -> bool:
    d = digits_of(value)
    tenth = (sum(d[:9:2]) * 7 - sum(d[1:8:2])) % 10
    return d[0] > 0 and d[9] == tenth and sum(d[:10]) % 10 == d[10]


def denmark(value: str) -> bool:
    """Return whether a number begins with a date, as in Denmark; it has no check digits."""
    return _two_digit_date("".join(map(str, digits_of(value)[:6])), "dmy")


def _tfn(value: str) -> bool:  # Australia
    return _weighted(digits_of(value), (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _nif(value: str) -> bool:  # Portugal
    digits = digits_of(value)
    key = 11 - _weighted(digits, range(9, 1, -1)) % 11
    return (0 if key > 9 else key) == digits[8]


def _dihedral(one: int, other: int) -> int:
    """Return the product in the group of the symmetries of a pentagon."""
    turned = (one + (other if one < 5 else -other)) % 5
    return turned + 5 * ((one < 5) != (other < 5))


_FIRST = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]


def _aadhaar(value: str) -> bool:  # India: Verhoeff
    check, places = 0, [[*range(10)]]
    for _ in range(7):
        places.append([places[-1][_FIRST[n]] for n in range(10)])
    for place, digit in enumerate(reversed(digits_of(value))):
        check = _dihedral(check, places[place % 8][digit])
    return check == 0


class NationalNumber(NamedTuple):
    """A form of national numbers. certain: whether the form shows by itself that it is one."""

    form: re.Pattern[str]
    valid: Callable[[str], bool]
    certain: bool = False

    def fits(self, value: str) -> bool:
        """Return whether a value has the form and valid check digits."""
        return bool(self.form.fullmatch(value)) and self.valid(value)


def _always(_: str) -> bool:
    return True


NATIONAL = tuple(
    NationalNumber(re.compile(form, re.IGNORECASE), valid, certain)
    for form, valid, certain in (
        (r"(?!000|666)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", _always, True),  # United States
        (r"(?!000|666)\d{3} (?!00)\d{2} (?!0000)\d{4}", _always, True),
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\s?(\d{2}\s?){3}[A-D]", _always, True),  # Britain
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]-?(\d{2}-?){3}[A-D]", _always, True),
        (r"\d{2} ?\d{3} ?\d{3} ?\d{3}", _steuer_id, False),
        (r"[12378] ?\d{2} ?\d{2} ?(\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}", _insee, False),
        (r"\d{8}[- ]?[A-Z]|\d{2}\.\d{3}\.\d{3}[- ]?[A-Z]|[XYZ][- ]?\d{7}[- ]?[A-Z]", _dni, False),
        (r"[A-Z]{6} ?\d{2}[A-EHLMPR-T]\d{2} ?[A-Z]\d{3}[A-Z]", _codice, True),
        (r"\d{9}|\d{4}[. ]\d{2}[. ]\d{3}|\d{3}[. ]\d{3}[. ]\d{3}", _bsn, False),
        (r"(19|20)?\d{6}[-+]?\d{4}", _personnummer, False),
        (r"\d{11}", _pesel, False),
        (r"\d{11}|\d{3}\.\d{3}\.\d{3}-\d{2}", _cpf, False),
        (r"\d{2}\.?\d{2}\.?\d{2}[- ]?\d{3}[. ]?\d{2}", _belgium, False),
        (r"\d{6} ?\d{5}", _norway, False),
        (r"\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]", _finland, False),
        (r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}", _ahv, False),
        (r"\d{4} ?\d{6}", _austria, False),
        (r"[1-9]\d{16}[\dX]", _china, False),
        (r"\d{3}[- ]?\d{3}[- ]?\d{4}", _nhs, False),
        (r"\d{6}/?\d{4}", _czech, False),
        (r"[1-9]\d{10}", _turkey, False),
        (r"\d{6}-\d{4}", denmark, False),
        (r"\d{3}[- ]?\d{3}[- ]?\d{3}", luhn, False),  # Canada
        (r"\d{3} ?\d{3} ?\d{3}", _tfn, False),
        (r"[1-3]\d{8}|[1-3]\d{2} \d{3} \d{3}", _nif, False),
        (r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", _aadhaar, False),
    )
)
