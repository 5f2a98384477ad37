"""Whatever is made of reports with a known seed says so, in every form it can take."""

import json
from typing import NamedTuple

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer

import incrowd
from incrowd.cli.app import app
from tests.conftest import one_in, slowly_except

SEED = 918273645
SURVEY = """
name = "small"
crowd = 60
[privacy]
epsilon = 16.0
analysis = "local"

[[question]]
id = "smokes"
type = "yesno"

[[question]]
id = "sex"
type = "choice"
options = ["f", "m"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A survey, its plan and answers; reports with a seed and without."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "survey.toml").write_text(SURVEY)
    rows = "\n".join(f"{a},{b}" for a in ("yes", "no") for b in ("f", "m")) + "\n"
    (folder / "answers.csv").write_text("smokes,sex\n" + rows * 15)
    survey = incrowd.Survey.load(folder / "survey.toml")
    made = incrowd.plan(survey)
    (folder / "plan.json").write_text(made.dumps())
    table = incrowd.load_answers(folder / "answers.csv", survey)
    for name, seed in (("seeded", SEED), ("real", None)):
        incrowd.save_reports(
            incrowd.randomize(made, table, simulation_seed=seed), folder / f"{name}.parquet"
        )
    return folder


class Done(NamedTuple):
    """What a command gave."""

    code: int
    stdout: str


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Runs a command in this process, in the folder: each output once more is cheap."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        capsys.readouterr()
        code = app(list(map(str, arguments)), standalone_mode=False)
        return Done(code or 0, capsys.readouterr().out)

    return call


# Each command that makes something of answers or reports; {o} is a file to write.
COMMANDS = {
    "randomize": ("plan.json", "answers.csv", "-o", "{o}.parquet", "--simulation-seed", SEED),
    "tally": ("plan.json", "{reports}", "-o", "{o}.json"),
    "estimate": ("plan.json", "{reports}"),
    "compare": ("plan.json", "{reports}", "smokes", "sex"),
    "correlate": ("plan.json", "{reports}", "--among", "smokes,sex", "--scores", "sex=1,2"),
    "postprocess": ("plan.json", "{reports}", "--table", "smokes,sex"),
    "regress": ("plan.json", "{reports}", "--outcome", "smokes", "--on", "sex"),
    "verify": ("plan.json", "{reports}"),
    "simulate": ("survey.toml", "answers.csv", "--trials", 2, "--seed", SEED),
}
WRITES = {"estimate": ("csv", "json", "html", "parquet"), "regress": ("csv", "json", "html")}
ALWAYS = {"randomize", "simulate"}  # they name the seed themselves
REFUSES = {"ledger"}  # takes no reports of a simulation: test_ledger.py


def outputs(run, command, reports, tmp_path):
    """Everything the command gives: what is printed for people and machines, what is written."""
    places = {"{reports}": f"{reports}.parquet"}
    endings = WRITES.get(command, ())
    for number, flags in enumerate([(), ("--json",), *(("-o", f"{{o}}.{e}") for e in endings)]):
        target = tmp_path / f"{command}-{reports}-{number}"
        arguments = [
            str(places.get(a, a)).replace("{o}", str(target)) for a in (*COMMANDS[command], *flags)
        ]
        done = run(command, *arguments)
        assert done.code == (1 if command == "verify" and reports == "seeded" else 0), done
        yield f"printed {flags}", done.stdout
        if flags == ("--json",):
            assert json.loads(done.stdout)["simulation_seed"] == (
                None if reports == "real" else SEED
            )
        for file in target.parent.glob(f"{target.name}.*"):
            yield f"file {file.suffix}", readable(file)


def readable(file):
    """A file as text; of Parquet all metadata, and the rows."""
    if file.suffix != ".parquet":
        return file.read_text()
    found = pq.read_table(file)
    metadata = {k.decode(): v.decode() for k, v in (found.schema.metadata or {}).items()}
    return json.dumps(metadata)


@pytest.mark.parametrize(
    "command", slowly_except(COMMANDS, "randomize", "tally", "estimate", "verify", "simulate")
)
def test_every_output_of_a_simulation_says_so(run, command, tmp_path):
    for name, text in outputs(run, command, "seeded", tmp_path):
        assert "simulation" in text.lower() and str(SEED) in text, (command, name)


@pytest.mark.parametrize("command", one_in(3, sorted(set(COMMANDS) - ALWAYS)))
def test_no_output_of_real_reports_says_so(run, command, tmp_path):
    for name, text in outputs(run, command, "real", tmp_path):
        assert "Simulation. These reports" not in text and str(SEED) not in text, (command, name)


NO_SEED = {
    "send",  # what it sends is always drawn from the operating system
    "check",  # it looks at answers alone, and draws nothing
}


def test_no_command_is_left_out():
    """Every command that reads answers or reports, or knows a seed, is in the list above."""
    group = typer.main.get_command(app)
    takes = {"reports", "answers", "simulation_seed"}
    found = {
        name
        for name, command in group.commands.items()
        if takes & {parameter.name for parameter in command.loaded().params}
    }
    assert found == set(COMMANDS) | REFUSES | NO_SEED


def test_rows_of_estimates_name_the_seed(run, tmp_path):
    """A CSV file has no other place; Parquet has it in the rows as well."""
    for name, wanted in (("seeded", f"seed {SEED}"), ("real", None)):
        for ending, read in ((".csv", pyarrow.csv.read_csv), (".parquet", pq.read_table)):
            target = tmp_path / f"{name}{ending}"
            run("estimate", "plan.json", f"{name}.parquet", "-o", target)
            table = read(target)
            assert ("simulation" in table.column_names) == (wanted is not None)
            if wanted:
                assert all(wanted in text for text in table["simulation"].to_pylist())


def test_a_tally_of_a_simulation_is_one_however_it_is_added(run, tmp_path):
    """One seeded tally among real ones marks the estimates."""
    for name in ("seeded", "real"):
        run("tally", "plan.json", f"{name}.parquet", "-o", tmp_path / f"{name}.json")
    for order in (("real", "seeded"), ("seeded", "real")):
        tallies = [tmp_path / f"{name}.json" for name in order]
        done = run("estimate", "plan.json", *tallies, "--json")
        assert json.loads(done.stdout)["simulation_seed"] == SEED


def test_each_file_of_a_folder_names_the_seed(run, tmp_path):
    """A plan of two messages: every Parquet file in the folder."""
    survey = incrowd.Survey.of(
        {
            "name": "two",
            "crowd": 60,
            "privacy": {"epsilon": 8.0, "analysis": "local"},
            "question": [{"id": id, "type": "yesno"} for id in ("a", "b")],
            "table": [{"questions": [id]} for id in ("a", "b")],
        }
    )
    made = incrowd.plan(survey)
    (tmp_path / "plan.json").write_text(made.dumps())
    (tmp_path / "answers.csv").write_text("a,b\n" + "yes,no\n" * 60)
    output = tmp_path / ("folder" if len(made.messages) > 1 else "one.parquet")
    answers, plan = tmp_path / "answers.csv", tmp_path / "plan.json"
    assert run("randomize", plan, answers, "-o", output, "--simulation-seed", SEED).code == 0
    files = list(output.glob("*.parquet")) if output.is_dir() else [output]
    assert len(files) == len(made.messages)
    assert all(str(SEED) in readable(file) for file in files)
