"""Personal data in columns: recognized by name and by pattern, and not where they only look so."""

from collections import Counter
from random import Random

import pandas
import pytest

import incrowd
from incrowd.drafts.columns import DataColumn, SkippedColumn, question_of
from incrowd.drafts.national import NATIONAL
from incrowd.drafts.personal import personal
from tests.conftest import one_in
from tests.oracles.invented_people import LOOK_ALIKE, SORTS, luhn, values

COLUMNS = 40
RECOGNIZED = 38  # of 40: 95%
LEFT_OUT = 2  # of 40 look-alikes


def drafted(name, cells):
    return question_of(DataColumn(name, Counter(cells), len(cells), 0))


@pytest.mark.parametrize("sort", one_in(3, SORTS))
def test_forty_columns_of_each_sort_are_recognized(sort):
    """Left out with a reason that says so. The wrong variant knows names alone."""
    missed = []
    for number in range(COLUMNS):
        name, make = SORTS[sort](number)
        cells = values(make, seed=number)
        draft = drafted(name, cells)
        if not isinstance(draft, SkippedColumn) or "personal data" not in draft.reason:
            missed.append((name, cells[:3], draft))
    assert COLUMNS - len(missed) >= RECOGNIZED, missed


def test_columns_that_only_look_like_personal_data_stay():
    assert len(LOOK_ALIKE) == COLUMNS
    gone = []
    for number, (name, make) in enumerate(LOOK_ALIKE):
        draft = drafted(name, values(make, seed=number))
        if isinstance(draft, SkippedColumn) and not draft.doubt:
            gone.append((name, draft.reason))
    assert len(gone) <= LEFT_OUT, gone


def test_random_digits_are_no_national_numbers():
    """A check digit is right by chance in one of ten: eight numbers are not enough by luck."""
    random = Random(5)
    for length in (8, 9, 10, 11, 13, 15, 16):
        cells = {str(random.randint(10 ** (length - 1), 10**length - 1)): 1 for _ in range(60)}
        found = personal("amount", cells)
        assert found is None or found.doubtful, (length, found)


def test_check_digits_of_published_examples():
    """Examples of the authorities, or of the articles that describe the numbers."""
    published = [
        ("86095742719", "Steuer-ID"),
        ("255081416802538", "INSEE"),
        ("12345678Z", "DNI"),
        ("X1234567L", "NIE"),
        ("RSSMRA85T10A562S", "codice fiscale"),
        ("111222333", "BSN"),
        ("811218-9876", "personnummer"),
        ("44051401359", "PESEL"),
        ("111.444.777-35", "CPF"),
        ("131052-308T", "hetu"),
        ("756.9217.0769.85", "AHV"),
        ("943 476 5919", "NHS"),
        ("1237 010180", "SVNR"),
        ("11010519491231002X", "resident identity card"),
        ("046 454 286", "SIN"),
        ("10000000146", "TC Kimlik"),
        ("123 456 782", "TFN"),
    ]
    for text, kind in published:
        assert any(each.fits(text) for each in NATIONAL), kind
    assert luhn("4111111111111111")


def test_one_address_among_the_options_is_noticed():
    cells = ["yes"] * 50 + ["maybe"] * 40 + ["ask anna.berg@example.org"] * 2
    draft = drafted("q", cells)
    assert isinstance(draft, SkippedColumn) and draft.doubt


def test_labels_are_read_as_people_read_them():
    labels = {"1": "Anna Berg", "2": "Paul Stein", "3": "Maria Costa", "4": "Jan Novak"}
    column = DataColumn("interviewer", dict.fromkeys(labels, 30), 120, 0, labels=labels)
    assert "names of people" in question_of(column).reason


def test_no_personal_value_is_in_the_draft():
    frame = pandas.DataFrame({"smokes": ["yes", "no", "no"] * 100})
    for sort, column in SORTS.items():
        name, make = column(3)
        frame[f"{name} {sort}"] = values(make, seed=3)
    draft = incrowd.draft(frame)
    text = draft.toml
    shown = {cell for name in frame.columns[1:] for cell in frame[name] if cell in text}
    assert [each.id for each in draft.questions] == ["smokes"]
    assert not shown
