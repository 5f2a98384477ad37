"""The command line as a person meets it: real processes, wrong files, no tracebacks."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from incrowd import Plan
from tests.cli.conftest import ANSWERS, SURVEY
from tests.conftest import run, slowly


def test_plan_prints_its_figures_as_json(made):
    facts = json.loads(run("plan", made / "survey.toml", "--no-side-by-side", "--json").stdout)
    assert 0.254 < facts["noise"] < 0.256  # 25.5% in the manual
    assert (facts["bits"], facts["distance"], facts["copies"], facts["crowd"]) == (15, 8, 1, 20000)
    assert len(facts["digest"]) == 64


def test_estimate_prints_its_cells_as_json(made):
    done = run("estimate", made / "plan.json", made / "reports.parquet", "--json")
    data = json.loads(done.stdout)
    assert data["reports"] == 20190
    assert data["tables"][0]["questions"] == ["physical_limitation"]
    cell = data["tables"][-1]["cells"][0]
    assert cell["answer"] == ["no", "excellent"]
    assert cell["low"] < cell["estimate"] < cell["high"]


@pytest.mark.slow
def test_simulate_prints_its_tables_as_json():
    data = json.loads(run("simulate", SURVEY, ANSWERS, "--trials", "5", "--json").stdout)
    assert data["trials"] == 5
    keys = {"questions", "coverage", "max_abs_bias", "mean_standard_error"}
    assert keys <= set(data["tables"][0])


def test_estimate_prints_tables(made):
    done = run("estimate", made / "plan.json", made / "reports.parquet")
    assert "self_rated_health" in done.stdout and "Excellent" in done.stdout
    assert "%" in done.stdout


@pytest.mark.parametrize("ending", ["csv", *slowly("json", "parquet", "html")])
def test_every_kind_of_output_names_the_questions_and_answers(made, tmp_path, ending):
    out = tmp_path / f"e.{ending}"
    done = run("estimate", made / "plan.json", made / "reports.parquet", "-o", out)
    assert done.returncode == 0
    content = out.read_bytes()
    assert content.startswith({"json": b"{", "parquet": b"PAR1", "html": b"<!"}.get(ending, b""))
    answer = b"Excellent" if ending == "html" else b"excellent"
    name = b"self_<wbr>rated_<wbr>health" if ending == "html" else b"self_rated_health"
    assert name in content and answer in content


RESULTS = {
    "estimate": (),
    "compare": ("physical_limitation", "self_rated_health"),
    "correlate": ("--among", "physical_limitation,chronic_conditions"),
    "regress": (
        "--outcome",
        "physical_limitation",
        "--on",
        "chronic_conditions",
        "--penalty",
        "firth",
    ),
    "postprocess": (),
}


@pytest.mark.parametrize("command", RESULTS)
def test_every_named_output_is_written(made, tmp_path, command):
    """A repeated -o wrote the last file alone, and said nothing of the others."""
    files = [tmp_path / "first.json", tmp_path / "second.csv", tmp_path / "third.xlsx"]
    outputs = [word for file in files for word in ("-o", file)]
    inputs = made / "plan.json", made / "reports.parquet"
    done = run(command, *inputs, *RESULTS[command], *outputs)
    assert done.returncode == 0, done.stderr
    assert json.loads(files[0].read_text())
    assert all(file.stat().st_size > 0 and f"wrote {file}" in done.stderr for file in files)


def test_a_smaller_crowd_has_to_be_accepted(made, tmp_path):
    text = Path(ANSWERS).read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join(text[:100]))
    run("randomize", made / "plan.json", tmp_path / "few.csv", "-o", tmp_path / "few.parquet")
    done = run("estimate", made / "plan.json", tmp_path / "few.parquet")
    assert done.returncode == 2 and "--accept-smaller-crowd" in done.stderr
    done = run(
        "estimate", made / "plan.json", tmp_path / "few.parquet", "--accept-smaller-crowd", "--json"
    )
    assert json.loads(done.stdout)["guarantee"]["crowd"] == 99


def test_a_seed_is_repeated_by_estimate(made, tmp_path):
    out = tmp_path / "r.parquet"
    run("randomize", made / "plan.json", ANSWERS, "-o", out, "--simulation-seed", "7")
    done = run("estimate", made / "plan.json", out)
    assert "simulat" in done.stdout.lower() and "7" in done.stdout


def test_verify_holds_for_what_the_commands_wrote(made, tmp_path):
    plan, reports = made / "plan.json", made / "reports.parquet"
    assert json.loads(run("verify", plan, "--json").stdout)["holds"] is True
    found = json.loads(run("verify", plan, reports, "--json").stdout)
    assert found["holds"] is True and found["reports"] == 20190


def test_verify_rejects_less_noise_and_foreign_reports(made, tmp_path):
    """A plan whose noise was lowered and whose digest was made anew; reports with a stuck bit."""
    from incrowd import load_reports, save_reports, verify

    plan = Plan.load(made / "plan.json")
    message = plan.messages[0]
    weaker = message.model_copy(update={"noise_numerator": int(message.noise_numerator * 0.98)})
    (tmp_path / "weak.json").write_text(plan.model_copy(update={"messages": (weaker,)}).dumps())
    done = run("verify", tmp_path / "weak.json")
    assert done.returncode == 1 and "DOES NOT HOLD" in done.stderr
    (reports,) = load_reports(made / "reports.parquet")
    stuck = reports.packed.copy()
    stuck[:, 0] |= 1
    from dataclasses import replace

    save_reports([replace(reports, packed=stuck)], tmp_path / "stuck.parquet")
    done = run("verify", made / "plan.json", tmp_path / "stuck.parquet")
    assert done.returncode == 1 and "cannot come from" in done.stderr
    (found,) = verify(plan, replace(reports, packed=stuck)).impossible
    assert (found.message, found.question, found.bit) == (1, "physical_limitation", 0)


@pytest.mark.slow
def test_verify_names_the_messages_without_reports(tmp_path):
    plan, reports = tmp_path / "plan.json", tmp_path / "reports"
    run("plan", SURVEY, "-o", plan)
    run("randomize", plan, ANSWERS, "-o", reports)
    files = sorted(reports.iterdir())
    assert len(files) == 4 and run("verify", plan, *files).returncode == 0
    done = run("verify", plan, files[0], files[2])
    said = "no reports of messages 2 and 4 were given, so 20,000 people are missing"
    assert done.returncode == 1 and said in done.stderr
    facts = json.loads(run("verify", plan, files[1], "--json").stdout)
    assert facts["messages_without_reports"] == [1, 3, 4] and not facts["holds"]


def test_verify_counts_the_people_of_the_reports_it_was_given(made, tmp_path):
    text = Path(ANSWERS).read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join(text[:10_001]))
    run("randomize", made / "plan.json", tmp_path / "few.csv", "-o", tmp_path / "few.parquet")
    done = run("verify", made / "plan.json", tmp_path / "few.parquet")
    said = "10,000 people are missing: the plan requires 20,000, and these reports come from 10,000"
    assert done.returncode == 1 and said in done.stderr


@pytest.mark.slow
def test_interrupt_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", "from incrowd.cli import main; main()"]
    command += ["--log", "info", "simulate", SURVEY, ANSWERS, "--trials", "100000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        begun = [process.stderr.readline() for _ in range(2)]  # of the survey, and the answers
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "rand_hie.csv" in begun[1]
    assert "Traceback" not in error and error.endswith("interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_demo_and_help(tmp_path):
    done = run("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").stat().st_size < 2_000_000
    for command in ("plan", "randomize", "estimate", "simulate", "demo"):
        assert "Example" in run(command, "--help").stdout


# --- in the same process -----------------------------------------------------------------------


def test_version_is_that_of_the_package(call):
    assert call("--version") == (0, f"incrowd {version('incrowd')}\n", "")
