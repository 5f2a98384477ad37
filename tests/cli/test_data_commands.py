"""Data of any kind on the command line: standard input, formats, encodings, first surveys."""

import io
import json
import os
import sys
import threading
from pathlib import Path

import pandas
import pytest

import incrowd
from tests.cli.conftest import ANSWERS, SURVEY
from tests.conftest import local_plan, one_in, yes_no_question


@pytest.fixture
def piped(call, monkeypatch):
    """Run a command here, with bytes on its standard input."""

    def called(content, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return call(*arguments)

    return called


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The example for few people, without a shuffler: quick to plan, and to simulate."""
    path = tmp_path_factory.mktemp("small") / "survey.toml"
    text = Path(SURVEY).read_text().replace("crowd = 20000", "crowd = 500")
    path.write_text(text.replace("[privacy]", '[privacy]\nanalysis = "local"'))
    assert incrowd.Survey.load(path).crowd == 500
    return path


FORMATS = {"csv": "to_csv", "jsonl": "to_json", "parquet": "to_parquet", "feather": "to_feather"}


@pytest.mark.parametrize("format", one_in(2, FORMATS))
def test_standard_input_is_read_in_every_format(piped, small, tmp_path, format):
    data = pandas.read_csv(ANSWERS).head(500)
    options = {"csv": {"index": False}, "jsonl": {"orient": "records", "lines": True}}
    getattr(data, FORMATS[format])(tmp_path / "data", **options.get(format, {}))
    content = (tmp_path / "data").read_bytes()
    (tmp_path / "data").unlink()
    shown = ("--trials", "2", "--json")
    wanted = piped(b"", "simulate", small, write(tmp_path, data), *shown)
    assert wanted[0] == 0
    for more in ((), ("--format", format)):
        assert piped(content, "simulate", small, "-", *shown, *more) == wanted
    assert [path.name for path in tmp_path.iterdir()] == ["whole.csv"]


def write(folder, data):
    data.to_csv(folder / "whole.csv", index=False)
    return folder / "whole.csv"


def test_what_is_piped_is_randomized(piped, tmp_path):
    plan = local_plan(yes_no_question("physical_limitation"), name="piped")
    (tmp_path / "plan.json").write_text(plan.dumps())
    content, found = Path(ANSWERS).read_bytes(), []
    for name, answers in (("file.parquet", ANSWERS), ("pipe.parquet", "-")):
        made = ("randomize", tmp_path / "plan.json", answers, "-o", tmp_path / name)
        assert piped(content, *made, "--simulation-seed", "1")[0] == 0
        found.append([bytes(part.packed) for part in incrowd.load_reports(tmp_path / name)])
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_named_pipe_is_read(call, tmp_path):
    """As a shell makes one of <(command)."""
    os.mkfifo(tmp_path / "pipe")
    content = Path(ANSWERS).read_bytes()
    writing = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writing.start()
    code, out, _ = call("simulate", SURVEY, tmp_path / "pipe", "--trials", "2", "--json")
    writing.join()
    assert code == 0 and json.loads(out)["trials"] == 2


@pytest.mark.slow
def test_another_encoding_is_named(call, tmp_path):
    text = Path(ANSWERS).read_text()
    (tmp_path / "wide.csv").write_text(text, encoding="utf-16")
    command = ("simulate", SURVEY, tmp_path / "wide.csv", "--trials", "2", "--json")
    right = call("simulate", SURVEY, ANSWERS, "--trials", "2", "--json")[1]
    code, out, err = call(*command)  # its first bytes say so
    assert (code, out) == (0, right)
    (tmp_path / "wide.csv").write_text(text.replace("good", "gut – ja"), encoding="cp1252")
    code, _, err = call("simulate", SURVEY, tmp_path / "wide.csv", "--trials", "2")
    assert code == 2 and "--encoding cp1252" in err


@pytest.mark.slow
def test_a_sheet_is_named(call, small, tmp_path):
    """To all commands that read answers; the sheet before it has others."""
    data = pandas.read_csv(ANSWERS).head(300)
    with pandas.ExcelWriter(tmp_path / "a.xlsx") as book:
        data.head(1).to_excel(book, sheet_name="example", index=False)
        data.to_excel(book, sheet_name="all", index=False)
    shown, named = ("--trials", "2", "--json"), ("--sheet", "all")
    code, out, _ = call("simulate", small, tmp_path / "a.xlsx", *shown, *named)
    assert (code, out) == call("simulate", small, write(tmp_path, data), *shown)[:2]
    call("plan", small, "--no-side-by-side", "-o", tmp_path / "p.json")
    reports = ("-o", tmp_path / "r.parquet", *named, "--json")
    code, out, _ = call("randomize", tmp_path / "p.json", tmp_path / "a.xlsx", *reports)
    assert code == 0 and json.loads(out)["rows"] == 300
    code, out, _ = call("init", tmp_path / "a.xlsx", *named)
    assert code == 0 and "crowd = 300" in out
    code, _, err = call("init", tmp_path / "a.xlsx", "--sheet", "All")
    assert code == 2 and "--sheet: got 'All'" in err and "did you mean all?" in err


@pytest.mark.slow
def test_a_first_survey_is_planned_and_used(call, tmp_path):
    survey, plan = tmp_path / "s.toml", tmp_path / "plan.json"
    code, out, err = call("init", ANSWERS, "-o", survey)
    assert (code, out) == (0, "") and "5 questions, a crowd of 20,000" in err
    assert "to decide: options and edges were taken from the data" in err
    assert call("plan", survey, "--no-side-by-side", "-o", plan)[0] == 0
    assert call("randomize", plan, ANSWERS, "-o", tmp_path / "r")[0] == 0
    before = survey.read_text()
    code, _, err = call("init", ANSWERS, "-o", survey)
    assert code == 2 and "--force" in err and survey.read_text() == before
    assert call("init", ANSWERS, "-o", survey, "--force")[0] == 0


def test_few_people_are_told_what_noise_from_the_services_would_give(call, tmp_path):
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_text("smokes\n" + "yes\nno\nno\n" * 30)
    many.write_text("smokes\n" + "yes\nno\nno\n" * 600)
    code, _, err = call("init", few)
    assert code == 0 and 'noise = "services" in [privacy]' in err and "not work together" in err
    code, out, _ = call("init", few, "--json")
    [advice] = json.loads(out)["advice"]
    assert advice in err
    code, _, err = call("init", many)
    assert code == 0 and "services" not in err


def test_without_a_file_the_survey_is_printed(call):
    code, out, _ = call("init", ANSWERS)
    assert code == 0 and out == incrowd.draft(ANSWERS).toml


def test_data_are_not_overwritten(call, tmp_path):
    (tmp_path / "a.csv").write_text("a\nyes\nno\n")
    code, _, err = call("init", tmp_path / "a.csv", "-o", tmp_path / "a.csv", "--force")
    assert code == 2 and "it is an input" in err
    assert (tmp_path / "a.csv").read_text() == "a\nyes\nno\n"


def test_who_is_invited_decides_about_the_crowd(call, tmp_path):
    form, survey, plan = (tmp_path / name for name in ("form.txt", "s.toml", "plan.json"))
    form.write_text("Have you been bullied? yes / no\n")
    invited = ("--invited", "450", "--expected", "60%")
    code, _, err = call("init", form, "-o", survey, *invited)
    assert code == 0 and "a crowd of 196" in err
    loaded = incrowd.Survey.load(survey)
    assert (loaded.people.invited, loaded.people.expected, loaded.crowd) == (450, 0.6, 196)
    survey.write_text(survey.read_text().replace("delta = 1e-6", 'analysis = "local"'))
    _, out, _ = call("plan", survey, "--no-side-by-side", "-o", plan)
    assert "270 expected to answer" in " ".join(out.split())
    assert "needs 216: the crowd of 196 and a reserve of 20" in " ".join(out.split())
    survey.write_text(survey.read_text().replace("\n[people]", "crowd = 300\n\n[people]"))
    _, out, _ = call("plan", survey, "--no-side-by-side", "-o", plan)
    assert "probably, nothing would be released" in " ".join(out.split())


def test_too_few_invited_people_are_refused_before_anything_is_written(call, tmp_path):
    survey = tmp_path / "s.toml"
    code, _, err = call("init", ANSWERS, "-o", survey, "--invited", "40", "--expected", "50%")
    assert code == 2 and "should be at least 28" in err and not survey.exists()
