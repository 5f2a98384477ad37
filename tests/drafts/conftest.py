"""Forms of other software, written for a test, and what a draft of one has to keep."""

import csv
import json
import tomllib

import openpyxl
import pytest

import incrowd


@pytest.fixture
def workbook(tmp_path):
    """A function that writes a workbook with a sheet for each list of rows, by its name."""

    def written(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name.replace("_", " "))
            for row in rows:
                sheet.append(row)
        path = tmp_path / "form.xlsx"
        book.save(path)
        return path

    return written


@pytest.fixture
def table(tmp_path):
    """A function that writes rows as a CSV file."""

    def written(rows, name="form.csv", separator=","):
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=separator).writerows(rows)
        return path

    return written


@pytest.fixture
def sections(table):
    """A function that writes a CSV file with a section for each list of rows, by its name."""

    def written(**parts):
        rows = [row for name, part in parts.items() for row in ((name,), *part)]
        return table(rows)

    return written


@pytest.fixture
def text(tmp_path):
    """A function that writes a text; anything else as JSON."""

    def written(name, content):
        path = tmp_path / name
        content = content if isinstance(content, str) else json.dumps(content)
        path.write_text(content, encoding="utf-8")
        return path

    return written


@pytest.fixture
def drafted():
    """A function that drafts a survey and plans it, since every draft can be planned.

    It returns the draft and the questions by their ids.
    """

    def planned(path, plan=False):
        draft = incrowd.draft(path)
        assert draft.people is None, "it was read as answers"
        survey = incrowd.Survey.of(tomllib.loads(draft.toml))
        if plan:
            assert incrowd.plan(survey).survey.crowd == draft.crowd
        return draft, {question.id: question for question in survey.questions}

    return planned


@pytest.fixture
def refusal():
    """A function that returns the message with which a form is refused."""

    def refused(path):
        with pytest.raises(incrowd.AnswersError) as error:
            incrowd.draft(path)
        return str(error.value)

    return refused


@pytest.fixture
def conditions(drafted):
    """A function that drafts a form with questions q0, q1, ..., and returns for each the condition
    in the survey, or else what the user has to decide, which is checked to make it optional."""

    def read(path, number):
        draft, questions = drafted(path)
        about = (line for line in draft.undecided if "the form asks it only if" in line)
        doubts = {line.partition(": ")[0]: line for line in about}
        stated = {}
        for id in (f"q{n}" for n in range(number)):
            condition = questions[id].asked_if
            undecided = id in doubts
            assert not (undecided and condition) and questions[id].optional == undecided
            stated[id] = doubts[id] if undecided else str(condition)
        return [*stated.values()]

    return read
