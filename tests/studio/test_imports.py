"""Surveys from files: the same text as `incrowd init`, and nothing half done."""

import errno
import html
import json
import os
import re
import tomllib

import openpyxl
import pandas
import pyarrow as pa
import pyarrow.parquet
import pyreadstat
import pytest

from incrowd.errors import UsageError
from incrowd.studio import imports
from incrowd.studio.document import SurveyDocument, version
from incrowd.studio.imports import (
    base_name,
    check_work,
    decisions,
    edges_from_data,
    ending,
    left_out,
)
from tests.conftest import run, slowly

ROWS = "".join(
    f"{n},{'yes' if n % 3 else 'no'},{1 + n % 4},{999 if n % 10 == 0 else 20 + n % 60}\n"
    for n in range(300)
)
CSV = f"id,smokes,health,age\n{ROWS}".encode()
HTMX = {"HX-Request": "true"}


@pytest.fixture
def send(browser):
    def sent(name, content, **fields):
        return browser.post("/import", files={"file": (name, content)}, data=fields)

    return sent


def parquet(path):
    lines = CSV.decode().splitlines()
    columns = zip(*(line.split(",") for line in lines[1:]), strict=True)
    table = pa.table(dict(zip(lines[0].split(","), map(list, columns), strict=True)))
    pyarrow.parquet.write_table(table, path)
    return path.read_bytes()


def stata(path):
    frame = pandas.DataFrame({"smokes": [0, 1] * 40, "age": [*range(20, 60)] * 2})
    frame.to_stata(path, write_index=False)
    return path.read_bytes()


def spss(path):
    frame = pandas.DataFrame({"smokes": [0.0, 1, 9] * 40, "size": [*range(150, 190)] * 3})
    labels = {"smokes": {0.0: "nein", 1.0: "ja", 9.0: "weiß nicht"}}
    pyreadstat.write_sav(
        frame, str(path), variable_value_labels=labels, column_labels=["Rauchen Sie?", "Größe"]
    )
    return path.read_bytes()


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path.read_bytes()


def excel(path):
    answers = [["smokes", "Größe"], *([("ja", "nein")[n % 2], 150 + n] for n in range(40))]
    return workbook(path, answers=answers)


def xlsform(path):
    label, german = "label::English (en)", "label::Deutsch (de)"
    survey = [
        ["type", "name", label, german],
        ["select_one yn", "smokes", "Do you smoke?", "Rauchen Sie?"],
        ["select_multiple drug", "drugs", "Which drugs?", "Welche Drogen?"],
    ]
    choices = [["list_name", "name", label, german]]
    choices += [["yn", "yes", "Yes", "Ja"], ["yn", "no", "No", "Nein"]]
    choices += [["drug", "alcohol", "Alcohol", "Alkohol"], ["drug", "other", "Other", "Andere"]]
    return workbook(path, survey=survey, choices=choices)


def limesurvey(_):
    return (
        b'<?xml version="1.0"?><document><LimeSurveyDocType>Survey</LimeSurveyDocType>'
        b"<questions><rows><row><qid>1</qid><parent_qid>0</parent_qid><type>Y</type>"
        b"<title>smokes</title></row></rows></questions></document>"
    )


def qualtrics(_):
    payload = {"QuestionType": "MC", "Selector": "SAVR", "DataExportTag": "smokes"}
    payload["Choices"] = {"1": {"Display": "Yes"}, "2": {"Display": "No"}}
    element = {"Element": "SQ", "PrimaryAttribute": "QID1", "Payload": payload}
    content = {"SurveyEntry": {"SurveyName": "S"}, "SurveyElements": [element]}
    return json.dumps(content).encode()


def redcap(_):
    return (
        b"Variable / Field Name,Form Name,Field Type,Field Label,"
        b'"Choices, Calculations, OR Slider Labels"\n'
        b"record_id,f,text,Number,\n"
        b'pain,f,radio,Do you feel pain?,"1, Never | 2, Often"\n'
    )


@pytest.mark.parametrize(
    ("name", "content", "has_data"),
    [
        ("answers.csv", lambda _: CSV, True),
        ("answers.tsv", lambda _: CSV.replace(b",", b"\t"), True),
        ("my answers.v2.parquet", parquet, True),
        ("dictionary.csv", redcap, False),
        ("structure.lss", limesurvey, False),
        ("survey.qsf", qualtrics, False),
        ("questions.md", lambda _: b"Do you smoke? yes / no", False),
        *slowly(
            ("answers.sav", spss, True),
            ("answers.dta", stata, True),
            ("answers.xlsx", excel, True),
            ("form.xlsx", xlsform, False),
        ),
    ],
)
def test_the_survey_is_that_of_init(studio, send, tmp_path, name, content, has_data):
    file = tmp_path / name
    data = content(file)
    file.write_bytes(data)
    response = send(name, data)
    assert response.status_code == 303, response.text
    (project,) = map(studio.projects.open, studio.projects.names())
    assert response.headers["location"] == f"/p/{project.name}/design"
    assert run("init", file, "-o", tmp_path / "expected.toml").returncode == 0
    assert project.survey_path.read_bytes() == (tmp_path / "expected.toml").read_bytes()
    path = imports.data_path(project)
    assert (path is not None) == has_data
    if path:
        assert path.read_bytes() == data and path.stat().st_mode & 0o777 == 0o600


def test_a_survey_file_is_taken_as_it_is(studio, send):
    text = '# Ours\r\nname = "A b"\r\ncrowd = 3\r\n'
    assert send("x.toml", text.encode()).status_code == 303
    project = studio.projects.open("a-b")
    assert project.survey_path.read_bytes() == text.encode()
    assert send("x.toml", text.encode()).headers["location"] == "/p/a-b-2/design"
    assert send("Untitled.toml", b"").headers["location"] == "/p/untitled/design"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("one.csv", b"a,b\n1,2\n"),
        ("constant.csv", b"a\n1\n1\n1\n"),
        ("noise.sav", bytes(range(256)) * 4),
        ("noise.parquet", b"PAR1" + bytes(100)),
        ("noise.xlsx", b"PK\x03\x04" + bytes(100)),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(100)),
        ("bad.toml", b"name = "),
        ("latin.toml", "name = 'ä'".encode("latin-1")),
        ("...", CSV),
        ("x" * 250 + ".csv", CSV),
    ],
)
def test_a_file_that_cannot_be_used_leaves_nothing_behind(studio, send, name, content):
    response = send(name, content)
    assert response.status_code == 422 and 'class="problems"' in response.text
    assert "has a bug" not in response.text
    assert list(studio.projects.folder.iterdir()) == []


def test_a_file_in_another_encoding_is_sent_again_with_its_encoding(studio, send):
    """The page names the file as the person does, and keeps what was typed."""
    content = "długość;śpi\n".encode("windows-1250") + b"170;ja\n180;nein\n" * 20
    text = send("my answers.csv", content, encoding="utf-9", sheet="<1>").text
    assert 'value="utf-9"' in text and 'value="&lt;1&gt;"' in text
    text = send("my answers.csv", content).text
    assert "got &#39;my answers.csv&#39;; it is in another encoding" in text
    assert 'id="encoding"' in text and "<details open>" in text
    assert send("my answers.csv", content, encoding="windows-1250").status_code == 303
    project = studio.projects.open("my-answers")
    assert "długość" in project.text()
    # The data are read in this encoding from now on.
    data = imports.data_path(project)
    assert check_work(lambda _: None, project.survey_path, data, "").check.accepted
    with pytest.raises(UsageError, match="too few different numbers"):
        edges_from_data(data, "śpi")


def test_an_encoding_that_is_certain_is_not_asked_for(studio, send):
    content = "sep=;\nGröße;müde\n".encode("windows-1252") + b"170;ja\n180;nein\n" * 20
    assert send("my answers.csv", content).status_code == 303
    project = studio.projects.open("my-answers")
    assert "Größe" in project.text()
    data = imports.data_path(project)
    assert imports.reading(data)["encoding"] == "cp1252"
    assert check_work(lambda _: None, project.survey_path, data, "").check.accepted


def test_no_file_at_all(browser, studio):
    response = browser.post("/import", data={"file": "x"})
    assert response.status_code == 422 and "choose a file" in response.text


def test_a_file_that_is_too_long(studio, send, monkeypatch):
    monkeypatch.setattr(imports, "MOST_BYTES", 1000)
    assert "longer than" in send("a.csv", CSV).text
    assert list(studio.projects.folder.iterdir()) == []


def test_a_full_disk_leaves_no_half_project(studio, send, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("incrowd.studio.projects.write_bytes", full)
    response = send("a.csv", CSV)
    assert response.status_code == 422 and "No space left on device" in response.text
    assert list(studio.projects.folder.iterdir()) == []


def test_names_of_files():
    assert base_name("C:\\data\\a.csv") == base_name("/home/me/a.csv") == "a.csv"
    assert base_name("../../a.csv") == "a.csv"
    assert ending("a.b.csv") == ".csv" and ending("a.csv.gz") == ".csv.gz" and ending("a") == ""


@pytest.fixture
def project(studio, send):
    assert send("answers.csv", CSV).status_code == 303
    return studio.projects.open("answers")


@pytest.fixture
def decide(browser, project):
    def decided(decision, answer):
        data = {"do": "decide", "seen": version(project.text()), "answer": answer}
        data |= {"of": decision.id, "code": decision.code, "comment": decision.comment}
        response = browser.post("/p/answers/design", data=data, headers=HTMX)
        assert response.status_code == 200, response.text

    return decided


def test_each_decision_removes_its_mark_and_nothing_else(project, decide):
    text, open_decisions = project.text(), decisions(project.document())
    assert len(open_decisions) == text.count("DECIDE:") > 4
    for number, each in enumerate(open_decisions):
        assert each.answers
        decide(each, "done")
        assert len(decisions(project.document())) == len(open_decisions) - 1 - number
    assert tomllib.loads(project.text()) == tomllib.loads(text)
    assert (
        "# an example" in project.text() or "# the number of rows, rounded down" in project.text()
    )
    while project.undo():
        pass
    assert project.text() == text


def test_codes_for_no_answer_are_decided_by_clicking(project, decide):
    taken = next(each for each in decisions(project.document()) if each.code == "999")
    assert taken.id == "age" and [each.value for each in taken.answers] == ["done", "answer"]
    decide(taken, "answer")
    age = next(q for q in tomllib.loads(project.text())["question"] if q["id"] == "age")
    assert "missing" not in age and "999 was taken" not in project.text()
    decide(imports.ImportDecision("", "", "age", "998", ()), "missing")
    age = next(q for q in tomllib.loads(project.text())["question"] if q["id"] == "age")
    assert age["missing"] == ["998"] and age["optional"] is True


ALIKE = 60


@pytest.fixture
def alike(studio, send):
    """A project of many columns with the same code for missing answers, and one with another."""
    names = [f"item{number}" for number in range(ALIKE)]
    last = ["9" if n % 10 == 0 else str(1 + n % 5) for n in range(200)]
    rows = [
        ",".join([*(["999" if n % 9 == 0 else str(n % 80)] * ALIKE), last[n]]) for n in range(200)
    ]
    assert (
        send("alike.csv", "\n".join([",".join([*names, "last"]), *rows]).encode()).status_code
        == 303
    )
    return studio.projects.open("alike")


def forms(page, answer):
    """The fields of each form of a decision with this answer, and the name of its button."""
    found = re.findall(r"<form [^>]*>(.*?)</form>", page, re.DOTALL)
    every = [
        (
            {
                name: html.unescape(value)
                for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', each)
            },
            html.unescape(re.search(r"<button[^>]*>(.*?)</button>", each, re.DOTALL)[1]),
        )
        for each in found
        if 'value="decide"' in each
    ]
    return [(fields, name) for fields, name in every if fields["answer"] == answer]


@pytest.mark.slow
def test_the_same_code_of_many_columns_is_decided_at_once(browser, alike):
    before = decisions(alike.document())
    open_ids = [each.id for each in before if each.code == "999"]
    assert len(open_ids) == ALIKE
    page = browser.get("/p/alike/design").text
    together, *single = (each for each in forms(page, "answer") if each[0]["code"] == "999")
    assert len(single) == ALIKE and "all" not in single[0][0]
    assert together[1] == ("No, it is an answer: the same for all 60 columns with the code 999")
    german = browser.get("/p/alike/design", headers={"Accept-Language": "de"}).text
    assert "dasselbe für alle 60 Spalten mit dem Code 999" in german
    response = browser.post("/p/alike/design", data=together[0], headers=HTMX)
    assert "Decided for 60 columns." in response.text
    asked = tomllib.loads(alike.text())["question"]
    assert all("missing" not in each for each in asked if each["id"] in open_ids)
    left = [each for each in before if each.code != "999"]
    assert list(decisions(alike.document())) == left and left
    assert alike.undo() and list(decisions(alike.document())) == list(before)
    # Once more, if another window has decided one of them.
    (first, *_) = (fields for fields, _ in single)
    assert browser.post("/p/alike/design", data=first, headers=HTMX).status_code == 200
    page = browser.get("/p/alike/design").text
    agreed = next(fields for fields, _ in forms(page, "done") if "all" in fields)
    assert browser.post("/p/alike/design", data=agreed, headers=HTMX).status_code == 200
    kept = [each for each in tomllib.loads(alike.text())["question"] if "missing" in each]
    assert len([each for each in kept if each["missing"] == ["999"]]) == ALIKE - 1


@pytest.mark.slow
def test_one_of_many_columns_is_decided_alone(browser, alike):
    """Its own comment goes, not the equal one of the first column."""
    before = [each.id for each in decisions(alike.document()) if each.code == "999"]
    page = browser.get("/p/alike/design").text
    chosen = next(f for f, _ in forms(page, "done") if f.get("of") == "item30" and "all" not in f)
    assert browser.post("/p/alike/design", data=chosen, headers=HTMX).status_code == 200
    after = [each.id for each in decisions(alike.document()) if each.code == "999"]
    assert after == [id for id in before if id != "item30"]


def test_columns_with_the_same_numbers_are_decided_at_once(studio, send, browser):
    """All are amounts, or none; a column with other numbers has a decision of its own."""
    rows = [f"{1 + n % 5},{1 + n % 5},{1 + n % 5},{1 + n % 4}" for n in range(200)]
    assert send("likert.csv", "\n".join(["a,b,c,d", *rows]).encode()).status_code == 303
    project = studio.projects.open("likert")
    page = browser.get("/p/likert/design").text
    (together,) = (each for each in forms(page, "amounts") if "all" in each[0])
    assert together[1] == "They are amounts: the same for all 3 columns"
    german = browser.get("/p/likert/design", headers={"Accept-Language": "de"}).text
    assert "dasselbe für alle 3 Spalten<" in german
    assert browser.post("/p/likert/design", data=together[0], headers=HTMX).status_code == 200
    types = [each["type"] for each in tomllib.loads(project.text())["question"]]
    assert types == ["number", "number", "number", "choice"]
    assert [each.id for each in decisions(project.document()) if each.id] == ["d"]


@pytest.mark.slow
def test_decisions_that_are_no_longer_open_say_so(browser, alike):
    together, _ = forms(browser.get("/p/alike/design").text, "answer")[0]
    wrong = together | {"comment": "# another"}
    response = browser.post("/p/alike/design", data=wrong, headers=HTMX)
    assert response.status_code == 422 and "no longer open" in response.text


def test_codes_can_be_amounts(project, decide):
    few = next(each for each in decisions(project.document()) if each.id == "health")
    decide(few, "amounts")
    asked = next(q for q in tomllib.loads(project.text())["question"] if q["id"] == "health")
    assert asked == {"id": "health", "type": "number", "edges": [1, 2, 3, 4]}


def test_columns_that_were_left_out_are_listed(project):
    assert [each.split(":")[0] for each in left_out(project.text())] == ['"id"']
    assert left_out("name = 'x'") == () and decisions(SurveyDocument("name = ")) == ()


def test_the_data_are_checked_against_the_survey(project):
    steps = []
    checked = check_work(steps.append, project.survey_path, imports.data_path(project), "")
    assert checked.version == version(project.text()) and checked.check.accepted and steps
    project.save(project.text().replace('"999"', '"998"'), expected=version(project.text()))
    checked = check_work(steps.append, project.survey_path, imports.data_path(project), "")
    (finding,) = (each for each in checked.check.findings if "999" in str(each))
    assert finding.missing_code == "999"


def test_a_check_runs_beside_the_page(browser, studio, project):
    response = browser.post("/p/answers/design/check", data={"person": ""}, headers=HTMX)
    assert "being checked" in response.text
    job = imports.check_of(studio, project)
    assert job.ended.wait(60) and job.state == "done", job.error
    assert "The data fit the survey: 300 rows." in browser.get("/p/answers/design/check").text
    assert "The data fit the survey: 300 rows." in browser.get("/p/answers/design").text


def test_edges_are_taken_from_the_data(browser, project):
    path = imports.data_path(project)
    assert edges_from_data(path, "age")[0] == 0 and len(edges_from_data(path, "age")) > 3
    data = {"of": "age", "seen": version(project.text())}
    assert browser.post("/p/answers/design/edges", data=data).status_code == 303
    data["of"] = "smokes"
    response = browser.post("/p/answers/design/edges", data=data, headers=HTMX)
    assert response.status_code == 422 and "too few different numbers" in response.text
    data["of"] = "nothing"
    assert "no such column" in browser.post("/p/answers/design/edges", data=data).text


def test_a_project_without_data(browser, studio):
    studio.projects.create("B", 'name = "B"\n')
    for path in ("check", "edges"):
        response = browser.post(f"/p/b/design/{path}", data={"of": "a"}, headers=HTMX)
        assert response.status_code == 422 and "from a file of answers" in response.text


@pytest.mark.parametrize("name", ["/etc/passwd", "../other/data.csv", "a/../../data.csv"])
def test_a_survey_of_a_stranger_reads_no_file_outside_of_its_folder(studio, send, name):
    question = f'[[question]]\nid = "a"\ntype = "choice"\noptions_file = "{name}"\n'
    text = f'name = "x"\ncrowd = 100\n{question}'
    response = send("survey.toml", text.encode())
    assert response.status_code == 422 and "in the folder of the survey" in response.text
    assert studio.projects.names() == ()
    beside = text.replace(name, "options.txt")
    assert send("survey.toml", beside.encode()).status_code == 303
