"""What the manual and the README state about the commands, beside what they do."""

import csv
import gzip
import json
import math
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import incrowd
from incrowd.cli.later import COMMANDS, Later
from incrowd.planner.alternatives import LOCAL_EPSILONS
from incrowd.plans.digests import digest_of
from tests.conftest import one_in, run
from tests.oracles.installed import LOCAL, NEEDING, prepare

ROOT = Path(__file__).parent.parent
README = " ".join((ROOT / "README.md").read_text().split())  # without line breaks
MANUAL = ROOT / "docs"
HEALTH = ROOT / "examples" / "health.toml"
UNTIL_STOPPED = {"host", "studio", "shuffler run", "inviter run", "collector run"} | {
    "first-mixer run",
    "second-mixer run",
}
NOW = "2000-01-01T00:00:00Z"  # of no clock: the command says so as JSON


def all_commands():
    for name in COMMANDS:
        loaded = Later(name).loaded()
        group = getattr(loaded, "commands", None)
        yield from (
            {f"{name} {each}": it for each, it in group.items()}.items()
            if group
            else [(name, loaded)]
        )


def test_every_command_prints_json_unless_it_runs_until_it_is_stopped():
    options = {name: {o for p in it.params for o in p.opts} for name, it in all_commands()}
    assert {name for name, of in options.items() if "--json" not in of} == UNTIL_STOPPED
    assert "`studio` and the `run` of a service" in (MANUAL / "commands.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = prepare(tmp_path_factory.mktemp("claims"))
    for name in ("randomize", "tally"):
        assert run(*LOCAL[name].split(), cwd=folder).returncode == 0
    spoil(folder)
    return folder


def spoil(folder):
    """Write files that were edited, damaged, or do not give what they promise."""
    text = (folder / "plan.json").read_text()

    def planned(name, change, seal=True):
        data = json.loads(text)
        change(data["plan"])
        data["digest"] = digest_of(data["plan"]) if seal else data["digest"]
        (folder / name).write_text(json.dumps(data))

    def half(plan):
        plan["messages"][0]["noise_numerator"] //= 2

    planned("weak.json", half)
    planned("edited.json", half, seal=False)
    planned("unknown.json", lambda plan: plan["guarantee"].update(analysis="other"))
    plan = incrowd.Plan.loads(text)
    people = incrowd.load_answers(folder / "answers.csv", plan.survey)
    simulated = incrowd.randomize(plan, people, simulation_seed=1)
    incrowd.save_reports(simulated, folder / "simulated.parquet")
    shutil.copytree(folder / "received", folder / "unsigned")
    (folder / "unsigned" / "receipt.json").unlink()
    release = (folder / "0.release").read_bytes()
    (folder / "damaged.release").write_bytes(release[:-1] + bytes([release[-1] ^ 1]))
    (folder / "wrong.csv").write_text("ill,old\nperhaps,no\nyes,no\n")
    run("ledger", "full.json", "--new", cwd=folder)
    run("ledger", "full.json", "plan.json", "reports.parquet", cwd=folder)
    run("ledger", "empty.json", "--new", cwd=folder)


@pytest.mark.parametrize("name", one_in(2, [name for name in LOCAL if name != "ledger --new"]))
def test_json_is_one_document_on_standard_output(folder, tmp_path, name):
    copy = shutil.copytree(folder, tmp_path / "copy")
    run("ledger", "ledger.json", "--new", cwd=copy)
    done = run(*LOCAL[name].format(now=NOW).split(), "--json", cwd=copy)
    assert json.loads(done.stdout or "{}") or done.returncode
    for line in done.stderr.splitlines():
        assert json.loads(line).keys() <= {"error", "warning", "note"}, line


PRIVACY = "--noise 0.3 --bits 1 --crowd 50 --epsilon 1"
OPEN = "--bundle service/bundle.json -o opened --workers 1"
EXIT_CODES = {
    "privacy delta " + PRIVACY: 0,
    "check survey.toml answers.csv": 0,
    # something failed, or does not hold
    "check survey.toml wrong.csv": 1,
    "verify weak.json": 1,
    "card weak.json": 1,
    "estimate weak.json reports.parquet": 1,
    "randomize weak.json answers.csv -o weak.parquet": 1,
    "verify plan.json simulated.parquet": 1,
    "ledger full.json plan.json reports.parquet": 1,
    f"open damaged.release --key private.key {OPEN}": 1,
    f"send https://127.0.0.1:9#{'0' * 64} answers.csv --patience 0": 1,
    # incorrect usage
    "estimat plan.json": 2,
    "privacy delt": 2,
    "plan survey.toml another": 2,
    "plan survey.toml --no-such-option": 2,
    "plan missing.toml": 2,
    "privacy curve --noise 0.3 --bits 1 --crowd 50 -o curve.txt": 2,
    "estimate plan.json answers.csv": 2,
    "check missing.toml answers.csv": 2,
    "shuffler run missing": 2,
    "shuffler check missing": 2,
    "invitations 3 -o codes.csv --shuffler missing": 2,
    "inviter run missing": 2,
    "inviter check missing": 2,
    "inviter invite 3 -o codes.csv --inviter missing": 2,
    "first-mixer init answers.csv/first": 2,
    "first-mixer run missing": 2,
    "first-mixer check missing": 2,
    "second-mixer init answers.csv/second": 2,
    "second-mixer run missing": 2,
    "second-mixer check missing": 2,
    "collector init answers.csv/collector": 2,
    "collector run missing": 2,
    "collector check missing": 2,
    # a file that was edited, or cannot be used here
    "verify edited.json": 2,
    "verify unknown.json": 2,
    "card edited.json": 2,
    "randomize edited.json answers.csv -o edited.parquet": 2,
    "estimate unknown.json reports.parquet": 2,
    "verify plan.json unsigned": 2,
    "ledger empty.json plan.json simulated.parquet": 2,
    f"open 0.release --key plan.json {OPEN}": 2,
}


@pytest.mark.parametrize("words", EXIT_CODES)
def test_exit_codes_are_those_of_the_manual(folder, words):
    done = run(*words.split(), cwd=folder)
    assert done.returncode == EXIT_CODES[words], done.stderr
    if done.returncode == 2:
        assert re.match(r"error: [\w.\[\]-]+: ", done.stderr), done.stderr


@pytest.mark.parametrize("name", ["estimate", "compare", "correlate", "regress", "postprocess"])
def test_columns_of_exports_need_no_quotation_marks_in_sql(folder, name):
    """A column called "table" needs them."""
    words = LOCAL[name].rpartition(" -o ")[0]
    assert run(*words.split(), "-o", f"{name}.csv", cwd=folder).returncode == 0
    with (folder / f"{name}.csv").open(newline="") as file:
        columns = next(csv.reader(file))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE exported ({', '.join(columns)})")
        with pytest.raises(sqlite3.OperationalError):
            database.execute(f"CREATE TABLE other ({', '.join(['table', *columns])})")


def test_extras_of_the_manual_are_those_that_commands_need():
    (stated,) = re.findall(r"\*\*Extras\.\*\*(.*?)\n\n", (MANUAL / "commands.md").read_text(), re.S)
    assert {*re.findall(r"`(\w+)`", stated)} >= NEEDING.keys()


def test_the_sizes_of_the_client_are_those_stated():
    (stated,) = re.findall(r"of at most (\d+) kB \(compressed\)", README)
    client = (ROOT / "clients" / "js" / "dist" / "incrowd.js").read_bytes()
    size = len(gzip.compress(client, 9)) / 1000
    assert size <= float(stated) < size + 1


def test_local_epsilons_of_the_manual_are_those_tried():
    (stated,) = re.findall(
        r"the largest of ([\d, and]+) that", (MANUAL / "planning.md").read_text()
    )
    assert [float(number) for number in re.findall(r"\d+", stated)] == [*LOCAL_EPSILONS]


def test_the_numbers_of_the_readme_are_those_of_the_demo():
    survey = incrowd.Survey.load(HEALTH)
    plan = incrowd.plan(survey)
    effective = [
        people
        for table in incrowd.forecast(plan)
        for people in (table.effective_sample_size, table.effective_sample_size_uneven)
    ]
    stated = (
        f"survey of {round(min(effective), -2):,.0f} to {round(max(effective), -2):,.0f} people"
    )
    assert README.count(stated) == len(re.findall("survey of [0-9,]+ to", README))
    joint = incrowd.plan(survey.model_copy(update={"tables": "any"}))
    noise = 100 * joint.messages[0].noise_numerator / 2**32
    assert f"needs {noise:.1f}% noise for epsilon 1" in README
    left, of_joint = (math.ceil(10 * each.guarantee.local_epsilon) / 10 for each in (plan, joint))
    assert f"retains only epsilon {left}," in README and f"leaves epsilon {of_joint}." in README
    sizes = [100 * message.noise_numerator / 2**32 for message in plan.messages]
    assert f"{min(sizes):.1f} to {max(sizes):.1f}% of the bits are flipped" in README


@pytest.mark.parametrize("delta", ["", "delta = 1e-8\n"])
def test_a_delta_that_the_analysis_local_does_not_use_is_noted(tmp_path, delta):
    question = '[[question]]\nid = "a"\ntype = "yesno"\n'
    privacy = f'[privacy]\nepsilon = 3.0\nanalysis = "local"\n{delta}'
    (tmp_path / "s.toml").write_text(f'name = "x"\ncrowd = 100\n{privacy}{question}')
    done = run("plan", "s.toml", "--no-side-by-side", cwd=tmp_path)
    assert done.returncode == 0 and ("1e-08 is not used" in done.stderr) == bool(delta)


def test_one_is_counted_in_the_singular(tmp_path):
    question = '[[question]]\nid = "a"\ntype = "yesno"\n'
    text = f'name = "x"\ncrowd = 2\n[privacy]\nepsilon = 3.0\nanalysis = "local"\n{question}'
    (tmp_path / "s.toml").write_text(text)
    (tmp_path / "a.csv").write_text("a\nyes\n")
    said = [
        run(*words.split(), cwd=tmp_path)
        for words in (
            "plan s.toml -o p.json --no-side-by-side",
            "check s.toml a.csv",
            "randomize p.json a.csv -o r.parquet",
            "estimate p.json r.parquet --accept-smaller-crowd",
            "verify p.json r.parquet",
        )
    ]
    text = " ".join(done.stdout + done.stderr for done in said)
    assert "1 row, 1 person" in text and "wrote 1 report to" in text
    assert "1 person is randomized" in text
    several = r"(?<![\d.,])1 (people|rows|reports|questions|tables|messages)\b"
    assert re.search(several, text) is None
