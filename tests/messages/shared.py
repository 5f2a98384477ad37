"""What the calls of the table build on: surveys, plans, reports, files, commands."""

import contextlib
import io
import os
from functools import cache
from unittest import mock

import pyarrow as pa
import pyarrow.csv

import incrowd
from incrowd.collection.settings import load_settings
from tests.conftest import people, plan_of

YESNO = {"id": "a", "type": "yesno"}


def survey(*questions, **changed):
    """A survey that plans without a search; of one yes/no question unless others are named."""
    privacy = {"epsilon": 2.0, "analysis": "local"}
    raw = {"name": "A", "crowd": 100, "privacy": privacy, "question": list(questions) or [YESNO]}
    return incrowd.Survey.of(raw | changed)


def options(count, **more):
    return {"id": "c", "type": "choice", "options": [f"o{n}" for n in range(count)], **more}


def question(**changed):
    """A survey in which one question is not as it should be."""
    return survey(YESNO | changed)


@cache
def made(kind="bits"):
    return plan_of(kind)


@cache
def asked():
    """A plan of one question, for whom a small crowd is enough."""
    return incrowd.plan(survey(crowd=1000))


@cache
def reports(kind="bits", rows=3000):
    return incrowd.randomize(made(kind), people(rows), simulation_seed=1)


def estimated(kind="bits", **options):
    return incrowd.estimate(made(kind), reports(kind), **options)


def file(folder, name, text=""):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def with_variable(kind, folder, name, value):
    """Settings of a service, with a variable in the environment."""
    with mock.patch.dict(os.environ, {name: value}):
        load_settings(kind, folder)


def plan_file(folder, kind="bits"):
    return file(folder, f"{kind}.json", made(kind).dumps())


def answers_file(folder, rows=3000, **columns):
    path = folder / "answers.csv"
    table = people(rows)
    pa.csv.write_csv(table.append_column("id", pa.array(range(rows))) if columns else table, path)
    return path


def reports_file(folder, kind="bits"):
    path = folder / f"{kind}.parquet"
    incrowd.save_reports(reports(kind), path)
    return path


def survey_file(folder):
    text = 'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
    return file(folder, "survey.toml", text + '[[question]]\nid = "a"\ntype = "yesno"\n')


def command(*arguments):
    """A command of the command line, in this process."""
    from incrowd.cli.app import app

    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        app(args=list(map(str, arguments)), prog_name="incrowd", standalone_mode=False)
