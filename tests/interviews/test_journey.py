"""A study from an empty folder to its report, by commands alone; and published data of R."""

import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import openpyxl
import pytest

from tests.oracles.randomized_items import SHARED

PEOPLE = 300
QUESTIONS = ("undeclared", "benefits")
TWO_GROUPS = """
name = "Taxes"
[device]
kind = "spinner"
[columns]
group = "card"
[groups]
codes = ["a", "b"]
[[question]]
id = "evades"
type = "yesno"
designs = [{ kind = "forced", yes = "1/4" }, { kind = "forced", yes = "3/4" }]
"""
BIRTHDAY = """
name = "Doping"
language = "de"
[device]
kind = "birthday"
[aim]
epsilon = 1.7
[[question]]
id = "doping"
type = "yesno"
text = "Haben Sie gedopt?"
design = { kind = "crosswise" }
"""
NIGERIA = """
name = "Nigeria"
[device]
kind = "die"
[[question]]
id = "armed"
type = "yesno"
column = "armed_groups_die"
design = { kind = "forced", yes = "1/6", no = "1/6" }
"""
MINARETS = """
name = "Minarets"
[device]
kind = "die"
dice = 2
[columns]
group = "condition"
[groups]
codes = [0, 1, 2]
[[question]]
id = "answer"
type = "yesno"
designs = [{ kind = "direct" }, { kind = "warner", p = "2/12" }, { kind = "warner", p = "10/12" }]
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs a command in an empty folder, and returns what it printed."""

    def command(*arguments, code=0):
        called = [sys.executable, "-m", "incrowd", *map(str, arguments)]
        narrow = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
        result = subprocess.run(
            called, cwd=tmp_path, env=narrow, capture_output=True, text=True, timeout=120
        )
        assert result.returncode == code, result.stderr
        assert "Traceback" not in result.stderr
        return result.stdout + result.stderr

    return command


def typed(path, rng, names, wrong=()):
    """Type answers into a spreadsheet of a kit, and two more columns; some cells stay empty.

    wrong: (row, column, text) of cells with mistakes.
    """
    book = openpyxl.load_workbook(path)
    sheet = book.active
    heads = [cell.value for cell in sheet[1]]
    first = len(heads) + 1
    sheet.cell(1, first).value, sheet.cell(1, first + 1).value = "age", "sex"
    for row in range(2, PEOPLE + 2):
        female = rng.random() < 0.5
        for name, share in zip(QUESTIONS, (0.2 if female else 0.4, 0.1), strict=True):
            die, true = rng.integers(1, 7), rng.random() < share
            said = names[int(die == 6 or (die != 1 and true))]
            sheet.cell(row, heads.index(name) + 1).value = said
        sheet.cell(row, first).value = int(rng.integers(18, 80))
        sheet.cell(row, first + 1).value = "female" if female else "male"
    for row in (10, 20, 30):
        sheet.cell(row, heads.index("undeclared") + 1).value = None
    for row, column, text in wrong:
        sheet.cell(row, ([*heads, "age", "sex"]).index(column) + 1).value = text
    book.save(path)


def text_of(path):
    """The words of a report."""
    if path.suffix == ".docx":
        with zipfile.ZipFile(path) as package:
            marked = package.read("word/document.xml").decode()
    else:
        marked = path.read_text("utf-8")
    return " ".join(re.sub(r"<[^>]+>", " ", marked).split())


@pytest.mark.slow
@pytest.mark.parametrize(("language", "names"), [("en", ("no", "yes")), ("de", ("Nein", "Ja"))])
def test_from_an_empty_folder_to_a_report(run, tmp_path, language, names):
    new = ("new", "--device", "die", "--name", "Work", "--yes")
    asked = ("--question", "Undeclared? yes / no", "--question", "Benefits? yes / no")
    run(*new, *asked)
    survey = tmp_path / "survey.toml"
    assert re.findall(r'^id = "(.*)"', survey.read_text(), re.M) == [*QUESTIONS]
    assert "people, ±5.0" in run("plan", "survey.toml", "-o", "planned.toml")
    kit = ("interviews", "kit", "planned.toml", "--interviews", PEOPLE, "--language", language)
    run(*kit, "-o", "kit")
    typed(
        tmp_path / "kit" / "answers.xlsx",
        np.random.default_rng(5),
        names,
        wrong=[(41, "undeclared", "yess"), (42, "undeclared", "yess"), (43, "age", "forty")],
    )
    read = ("read", "planned.toml", "kit/answers.xlsx", "-o", "i.parquet")
    refused = run(*read, code=2)
    assert "undeclared: rows 40, 41: got 'yess'; did you mean yes?" in refused
    assert "row 42, age: got 'forty'" in refused and not (tmp_path / "i.parquet").exists()
    run("check", *read[1:3], code=1)
    book = openpyxl.load_workbook(tmp_path / "kit" / "answers.xlsx")
    for row, column in ((41, "undeclared"), (42, "undeclared"), (43, "age")):
        place = [cell.value for cell in book.active[1]].index(column) + 1
        book.active.cell(row, place).value = "NA"
    book.save(tmp_path / "kit" / "answers.xlsx")
    arrived = run(*read)
    assert "read as missing values: 2 'NA' in undeclared, 1 'NA' in age" in arrived
    assert "wrote i.parquet: 300 interviews" in arrived
    outputs = ("-o", "report.html", "-o", "report.docx", "--language", language)
    run("interviews", "estimate", "i.parquet", *outputs)
    figures = facts_in(run("interviews", "estimate", "i.parquet", "--json"))
    yes = next(each for each in figures["figures"] if each["answer"] == "yes")
    assert yes["people"] == PEOPLE - 5
    by_hand = (share_said(tmp_path, names) - 1 / 6) * 3 / 2  # without the forced answers
    assert yes["estimate"] == pytest.approx(by_hand)
    for name in ("report.html", "report.docx"):
        text = text_of(tmp_path / name)
        mark = "." if language == "en" else ","
        assert f"{100 * yes['estimate']:.1f}".replace(".", mark) in text
        assert f"{100 * yes['standard_error']:.1f}".replace(".", mark) in text
        method = "forced response (Boruch 1971)" if language == "en" else "erzwungene Antwort"
        rests = "The die is fair" if language == "en" else "Der Würfel ist nicht gezinkt"
        assert method in text and "Undeclared?" in text and rests in text and "25" in text
    for command in (
        ("table", "i.parquet", *QUESTIONS),
        ("compare", "i.parquet", "undeclared", "--by", "sex"),
        ("correlate", "i.parquet", "undeclared", "age"),
        ("regress", "i.parquet", "undeclared ~ age + sex", "--at", "age=30"),
    ):
        shown = run("interviews", *command)
        assert max(map(len, shown.partition("Guarantee")[0].splitlines())) <= 80
    assert "estimate" in run("interviews", "regress", "i.parquet", "undeclared ~ age + sex")


def facts_in(printed):
    """The facts that a command printed as JSON."""
    return json.JSONDecoder().raw_decode(printed[printed.index("{") :])[0]


def share_said(folder, names):
    """The share of people who said yes to the first question, counted in the spreadsheet."""
    sheet = openpyxl.load_workbook(folder / "kit" / "answers.xlsx").active
    place = [cell.value for cell in sheet[1]].index("undeclared")
    said = [row[place] for row in sheet.iter_rows(min_row=2, values_only=True)]
    return said.count(names[1]) / (said.count(names[0]) + said.count(names[1]))


@pytest.mark.slow
def test_a_birthday_and_two_groups(run, tmp_path):
    (tmp_path / "birthday.toml").write_text(BIRTHDAY, "utf-8")
    run("plan", "birthday.toml", "-o", "planned.toml")
    run("interviews", "kit", "planned.toml", "-o", "doping", "--interviews", 20)
    cards = text_of(tmp_path / "doping" / "cards-for-respondents.html")
    assert "Haben Sie gedopt?" in cards and "gleich" in cards and "Januar" in cards
    (tmp_path / "groups.toml").write_text(TWO_GROUPS)
    run("interviews", "kit", "groups.toml", "-o", "taxes", "--interviews", 20)
    sheet = openpyxl.load_workbook(tmp_path / "taxes" / "answers.xlsx").active
    codes = [row[[c.value for c in sheet[1]].index("card")].value for row in sheet.iter_rows(2)]
    assert sorted(codes) == ["a"] * 10 + ["b"] * 10
    title = [("Wave 1", "", ""), ("", "", "")]
    rows = [("interview", "card", "evades"), *((n, "ab"[n % 2], "Ja") for n in range(40))]
    lines = (",".join(map(str, row)) for row in (*title, *rows))
    (tmp_path / "titled.csv").write_text("\n".join(lines))
    arrived = run("read", "groups.toml", "titled.csv", "-o", "t.parquet")
    assert "Wave 1" in arrived and "40 interviews" in arrived


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("read", "answers.csv", "survey.toml"), "TOML"),
        (("read", "survey.toml", "none.csv"), "does not exist"),
        (("interviews", "estimate", "survey.toml"), "incrowd read SURVEY DATA"),
        (("interviews", "estimate", "answers.csv"), "incrowd read SURVEY DATA"),
        (("randomize", "survey.toml", "answers.csv", "-o", "reports"), "incrowd read"),
        (("plan", "answers.csv"), "TOML"),
    ],
)
def test_wrong_and_swapped_files_are_explained(run, tmp_path, arguments, words):
    (tmp_path / "survey.toml").write_text(NIGERIA)
    (tmp_path / "answers.csv").write_text("armed_groups_die\n1\n0\n")
    said = run(*arguments, code=2)
    assert said.startswith("error: ") and words in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    ["name", "kind", "id", "type", "column", "design", "yes", "no"],
)
def test_a_misspelled_key_is_named(run, tmp_path, key):
    (tmp_path / "s.toml").write_text(re.sub(rf"\b{key}( =|\b =)", rf"{key}x =", NIGERIA, count=1))
    said = run("check", "s.toml", code=2)
    assert (
        f"{key}x" in said or f"{key}: is missing" in said or f"{key} of armed: is missing" in said
    )


@pytest.mark.slow
def test_data_of_r_by_commands_alone(run, tmp_path):
    """The figures that R's rr and RRreg give for the same files."""
    if not SHARED.is_dir():
        pytest.skip("the data of R's packages are not here")
    (tmp_path / "n.toml").write_text(NIGERIA)
    (tmp_path / "m.toml").write_text(MINARETS)
    arrived = run("read", "n.toml", SHARED / "nigeria_rr.csv", "-o", "n.parquet")
    assert "22 'NA' in armed_groups_die, 15 'NA' in age" in arrived

    def facts(*arguments):
        return facts_in(run("interviews", *arguments, "--json"))

    yes = facts("estimate", "n.parquet")["figures"][1]
    assert (yes["people"], round(yes["estimate"], 6)) == (2435, 0.26191)
    assert yes["standard_error"] == pytest.approx(0.014416, abs=2e-6)
    formula = "asset_index + married + age/10 + (age/10)^2 + education + female"
    fit = facts("regress", "n.parquet", f"armed ~ {formula}", "--errors", "scores")
    found = {each["term"]: each for each in fit["coefficients"]}
    assert round(found["asset_index"]["estimate"], 4) == 0.0790
    assert found["female"]["estimate"] == pytest.approx(-0.55439, abs=2e-4)
    run("read", "m.toml", SHARED / "minarets_rr.csv", "-o", "m.parquet")
    lies = facts("honesty", "m.parquet", "answer", "--model", "lies")
    text = json.dumps(lies)
    assert re.search(r"0\.8706", text) and re.search(r"0\.6358", text)
