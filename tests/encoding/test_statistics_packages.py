"""Dates, sets of responses and encodings in the files of SPSS and Stata."""

import struct
from datetime import date, datetime

import pandas
import pyreadstat
import pytest

import incrowd

SECONDS = 86400
SPSS = {  # format -> the day that a number stands for
    "DATE11": date(2021, 4, 1),
    "ADATE10": date(1999, 12, 31),
    "EDATE10": date(2020, 2, 29),
    "SDATE10": date(1970, 1, 1),
    "JDATE7": date(2021, 4, 1),
    "QYR8": date(2022, 7, 1),
    "MOYR8": date(2022, 11, 1),
    "WKYR10": date(2023, 1, 8),
    "DATETIME20": date(2021, 4, 1),
    "YMDHMS20": date(2021, 4, 1),
}
STATA = {
    "%td": (0, date(1960, 1, 1)),
    "%d": (366, date(1961, 1, 1)),
    "%tdD_m_Y": (-1, date(1959, 12, 31)),
    "%tq": (241, date(2020, 4, 1)),
    "%tm": (-1, date(1959, 12, 1)),
    "%th": (121, date(2020, 7, 1)),
    "%tw": (52 * 60 + 1, date(2020, 1, 8)),
    "%tc": (86_400_000 * 31, date(1960, 2, 1)),
}
SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 4,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [
            {"id": "q", "type": "choice", "options": ["1", "2"]},
            {"id": "when", "type": "choice", "options": ["2000-01-01", "2000-01-02"]},
        ],
    }
)


def spss_number(day):
    return (day - date(1582, 10, 14)).days * SECONDS


def read(path):
    """The column `when`, as `load_answers` has it and as a draft leaves it out."""
    draft = incrowd.draft(path)
    (left_out,) = [each for each in draft.left_out if each.id == "when"]
    assert "dates" in left_out.reason and draft.people == 40
    return incrowd.load_answers(path, SURVEY)["when"].to_pylist()


def frame(*numbers):
    repeated = [numbers[n % len(numbers)] for n in range(40)]
    return pandas.DataFrame({"q": [1.0, 2.0] * 20, "when": pandas.Series(repeated, dtype=float)})


@pytest.mark.parametrize("format", SPSS)
def test_numbers_of_a_date_format_of_spss_are_dates(tmp_path, format):
    path, day = tmp_path / "a.sav", SPSS[format]
    numbers = frame(spss_number(day), spss_number(day) + SECONDS, None)
    pyreadstat.write_sav(numbers, path, variable_format={"when": format})
    after = date.fromordinal(day.toordinal() + 1)
    assert read(path)[:3] == [day.isoformat(), after.isoformat(), None]


@pytest.mark.parametrize("format", STATA)
def test_numbers_of_a_date_format_of_stata_are_dates(tmp_path, format):
    path, (number, day) = tmp_path / "a.dta", STATA[format]
    again = number + (86_400_000 * 400 if format == "%tc" else 400)
    pyreadstat.write_dta(frame(number, again), path, variable_format={"when": format})
    first, second = read(path)[:2]
    assert first == day.isoformat() and datetime.fromisoformat(second).year > day.year


@pytest.mark.parametrize("year", [10_000, 20_000, 300_000])
def test_one_date_beyond_the_calendar_does_not_damage_a_file(tmp_path, year):
    path = tmp_path / "a.sav"
    far = spss_number(date(2000, 1, 1)) + (year - 2000) * 365.2425 * SECONDS
    numbers = frame(*[spss_number(date(2000, 1, 1))] * 39, far)
    pyreadstat.write_sav(numbers, path, variable_format={"when": "DATE11"})
    assert {*read(path)} == {"2000-01-01", "9999-12-31"}


def test_numbers_that_are_not_dates_stay_numbers(tmp_path):
    for format in ("F8.2", "COMMA8.2", "DOLLAR10.2", "WKDAY3", "MONTH3"):
        path = tmp_path / f"{format}.sav"
        pyreadstat.write_sav(frame(1.0, 2.0), path, variable_format={"when": format})
        assert incrowd.load_answers(path, SURVEY)["when"].to_pylist()[:2] == ["1", "2"]


@pytest.mark.parametrize("encoding", ["latin-1", "latin1", "iso-8859-1", "cp1252", "windows-1252"])
def test_every_name_of_an_encoding_is_the_same(tmp_path, encoding):
    path = tmp_path / "a.sav"
    texts = pandas.DataFrame({"q": ["größer", "müde"] * 20})
    pyreadstat.write_sav(texts, path)
    content = path.read_bytes().replace("größer".encode(), "größer".encode("cp1252") + b"  ")
    content = content.replace("müde".encode(), "müde".encode("cp1252") + b" ")
    path.write_bytes(content.replace(b"UTF-8", b"CP125"))
    options = ["größer", "müde"]
    survey = SURVEY.model_copy(
        update={"questions": (SURVEY.question("q").model_copy(update={"options": options}),)}
    )
    answers = incrowd.load_answers(path, survey, encoding=encoding)
    assert answers["q"].to_pylist()[:2] == options


def with_sets(path, text):
    """Write sets of multiple responses into a file of SPSS, before the end of its dictionary."""
    record = struct.pack("<iiii", 7, 7, 1, len(text)) + text
    end = struct.pack("<ii", 999, 0)
    before, mark, after = path.read_bytes().partition(end)
    assert mark
    path.write_bytes(before + record + mark + after)


@pytest.mark.parametrize(
    "sets,label",
    [
        (b"$drugs=D1 1 12 Which drugs? when q\n", "Which drugs?"),
        (b"$all=C 3 All when q\n", "All"),
        (b"$none=D1 1 0  q when\n", "none"),
    ],
)
def test_columns_of_a_set_are_one_question(tmp_path, sets, label):
    path = tmp_path / "a.sav"
    data = pandas.DataFrame({"q": [1.0, 0.0] * 20, "when": [0.0, 1.0] * 20, "b": [0.0, 1.0] * 20})
    pyreadstat.write_sav(data, path)
    with_sets(path, sets)
    together, alone = incrowd.draft(path).questions
    assert (together.id, alone.id) == (label, "b")
    assert together.keys["type"] == "multi"
    assert together.keys["columns"] == {"q": "q", "when": "when"}


def test_codes_with_one_label_stay_apart(tmp_path):
    names = ["Springfield", "Springfield", "Shelbyville"]
    data = pandas.DataFrame({"q": [1, 2, 3, 3] * 20})
    for name, write, number in (
        ("a.sav", pyreadstat.write_sav, float),
        ("a.dta", pyreadstat.write_dta, int),
    ):
        labels = {number(code): label for code, label in enumerate(names, 1)}
        write(data, tmp_path / name, variable_value_labels={"q": labels})
        (question,) = incrowd.draft(tmp_path / name).questions
        assert len(question.keys["options"]) == 3
