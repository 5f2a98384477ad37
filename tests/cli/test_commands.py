"""The command line as a person meets it: real processes, wrong files, no tracebacks."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from incrowd import Plan
from incrowd.cli.app import main
from tests.conftest import run

EXAMPLES = Path(__file__).parents[2] / "examples"
SURVEY, ANSWERS = str(EXAMPLES / "health.toml"), str(EXAMPLES / "rand_hie.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for arguments in (
        ("plan", SURVEY, "-o", folder / "plan.json"),
        ("randomize", folder / "plan.json", ANSWERS, "-o", folder / "reports.parquet"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    return folder


def test_json_of_plan():
    facts = json.loads(run("plan", SURVEY, "--json").stdout)
    assert 0.254 < facts["noise"] < 0.256  # 25.5% in the manual
    assert (facts["bits"], facts["distance"], facts["copies"], facts["crowd"]) == (15, 8, 1, 20000)
    assert len(facts["digest"]) == 64


def test_json_of_estimate(made):
    done = run("estimate", made / "plan.json", made / "reports.parquet", "--json")
    data = json.loads(done.stdout)
    assert data["reports"] == 20190
    assert data["tables"][0]["questions"] == ["physical_limitation"]
    cell = data["tables"][-1]["cells"][0]
    assert cell["answer"] == ["no", "excellent"]
    assert cell["low"] < cell["estimate"] < cell["high"]


def test_json_of_simulate():
    data = json.loads(run("simulate", SURVEY, ANSWERS, "--trials", "5", "--json").stdout)
    assert data["trials"] == 5
    keys = {"questions", "coverage", "max_abs_bias", "mean_standard_error"}
    assert keys <= set(data["tables"][0])


def test_people_get_tables(made):
    done = run("estimate", made / "plan.json", made / "reports.parquet")
    assert "self_rated_health" in done.stdout and "excellent" in done.stdout
    assert "%" in done.stdout


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "html"])
def test_every_kind_of_output_names_the_questions_and_answers(made, tmp_path, ending):
    out = tmp_path / f"e.{ending}"
    done = run("estimate", made / "plan.json", made / "reports.parquet", "-o", out)
    assert done.returncode == 0
    content = out.read_bytes()
    assert content.startswith({"json": b"{", "parquet": b"PAR1", "html": b"<!"}.get(ending, b""))
    assert b"self_rated_health" in content and b"excellent" in content


def wrong_uses(made, folder):
    plan, reports = made / "plan.json", made / "reports.parquet"
    out = folder / "out.parquet"
    (folder / "empty").write_bytes(b"")
    (folder / "short.parquet").write_bytes(reports.read_bytes()[:5000])
    text = Path(ANSWERS).read_text().splitlines()
    (folder / "column.csv").write_text("\n".join(line.split(",", 1)[1] for line in text))
    (folder / "option.csv").write_text("\n".join([*text[:3], text[3].replace("good", "fine")]))
    (folder / "nan.csv").write_text("\n".join([*text[:2], "no,good,NaN,0,yes"]))
    (folder / "edited.json").write_text(plan.read_text().replace('"copies": 1', '"copies": 2'))
    (folder / "few.csv").write_text("\n".join(text[:100]))
    return {
        "no survey": (("plan", folder / "none.toml"), 2, "No such file"),
        "survey is no TOML": (("plan", plan), 2, "is not TOML"),
        "plan is no plan": (("estimate", SURVEY, reports), 2, "holds no plan"),
        "edited plan": (("randomize", folder / "edited.json", ANSWERS, "-o", out), 1, "edited"),
        "empty answers": (("randomize", plan, folder / "empty", "-o", out), 2, "cannot be read"),
        "no column": (
            ("randomize", plan, folder / "column.csv", "-o", out),
            2,
            "'physical_limitation'; needs exactly one column",
        ),
        "unknown option": (
            ("randomize", plan, folder / "option.csv", "-o", out),
            2,
            "row 3, self_rated_health: got 'fine'",
        ),
        "NaN": (("randomize", plan, folder / "nan.csv", "-o", out), 2, "row 2, chronic_conditions"),
        "truncated": (("estimate", plan, folder / "short.parquet"), 2, "are no reports"),
        "reports are answers": (
            ("estimate", plan, ANSWERS),
            2,
            "name what `incrowd randomize` wrote",
        ),
        "no folder": (
            ("randomize", plan, ANSWERS, "-o", folder / "a" / "b.parquet"),
            2,
            "cannot be written",
        ),
        "ending": (("estimate", plan, reports, "-o", folder / "e.doc"), 2, "should end in"),
        "unknown option of the command": (("plan", SURVEY, "--loud"), 2, "--loud"),
        "no argument": (("plan",), 2, "SURVEY"),
        "unknown table": (("estimate", plan, reports, "--table", "a,b"), 2, "names no question"),
        "trials": (("simulate", SURVEY, ANSWERS, "--trials", "1"), 2, "at least 2"),
    }


NAMES = [
    "no survey",
    "survey is no TOML",
    "plan is no plan",
    "edited plan",
    "empty answers",
    "no column",
    "unknown option",
    "NaN",
    "truncated",
    "reports are answers",
    "no folder",
    "ending",
    "unknown option of the command",
    "no argument",
    "unknown table",
    "trials",
]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_use(made, tmp_path, name):
    uses = wrong_uses(made, tmp_path)
    assert list(uses) == NAMES
    arguments, code, message = uses[name]
    before = sorted(p.name for p in tmp_path.iterdir())
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_smaller_crowd(made, tmp_path):
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


def test_privacy_as_json():
    shown = ("privacy", "delta", "--noise", "0.3", "--bits", "2", "--crowd", "120", "--json")
    data = json.loads(run(*shown, "--epsilon", "0.7", "--analysis", "outlier").stdout)
    keys = [
        "analysis",
        "epsilon",
        "delta",
        "delta_lower",
        "delta_estimate",
        "eta",
        "noise",
        "worst",
        "assumption",
    ]
    assert set(keys) <= set(data)
    assert data["presence"]["delta"] == pytest.approx(2.364161e-12, rel=1e-4)
    assert data["absence"]["eta"] == pytest.approx(7.514439e-07, rel=1e-5)
    assert data["delta_lower"] <= data["delta_estimate"] <= data["delta"]
    found = ("privacy", "epsilon", *shown[2:], "--delta", "1e-6")
    assert 0 < json.loads(run(*found).stdout)["epsilon"] < 2
    data = json.loads(
        run("privacy", "noise", "--survey", SURVEY, "--crowd", "5000", "--json").stdout
    )
    assert data["delta"] <= 1e-6 and 0.2 < data["noise"] < 0.5


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_privacy_curve(tmp_path, ending):
    out = tmp_path / f"c.{ending}"
    options = ("--noise", "0.3", "--bits", "2", "--crowd", "500", "--points", "5", "-o", out)
    assert run("privacy", "curve", *options).returncode == 0
    text = out.read_text()
    assert "blanket" in text and "outlier" in text and "local" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("delta", "--noise", "0.5", "--bits", "2", "--crowd", "9", "--epsilon", "1"), "noise"),
        (("delta", "--noise", "0.3", "--crowd", "9", "--epsilon", "1"), "--bits"),
        (("delta", "--noise", "0.3", "--bits", "70", "--crowd", "9", "--epsilon", "1"), "1 to 64"),
        (("delta", "--noise", "0.3", "--bits", "2", "--crowd", "1", "--epsilon", "1"), "crowd"),
        (("delta", "--noise", "0.3", "--bits", "2", "--epsilon", "1"), "--crowd"),
        (("delta", "--noise", "0.3", "--bits", "2", "--crowd", "9"), "--epsilon"),
        (("noise", "--bits", "2", "--crowd", "9", "--epsilon", "1", "--delta", "0"), "delta"),
        (("epsilon", "--noise", "0.3", "--bits", "2", "--crowd", "9", "--delta", "2"), "delta"),
    ],
)
def test_privacy_wrong_use(arguments, message):
    done = run("privacy", *arguments)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_verify(made, tmp_path):
    plan, reports = made / "plan.json", made / "reports.parquet"
    assert json.loads(run("verify", plan, "--json").stdout)["holds"] is True
    found = json.loads(run("verify", plan, reports, "--json").stdout)
    assert found["holds"] is True and found["reports"] == 20190


def test_verify_rejects_less_noise_and_foreign_reports(made, tmp_path):
    """A plan whose noise was lowered and whose digest was made anew; reports with a stuck bit."""
    from incrowd import Plan, load_reports, save_reports, verify

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


def test_interrupt_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", "from incrowd.cli import main; main()"]
    command += ["simulate", SURVEY, ANSWERS, "--trials", "100000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_demo_and_help(tmp_path):
    done = run("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").stat().st_size < 2_000_000
    for command in ("plan", "randomize", "estimate", "simulate", "demo"):
        assert "Example" in run(command, "--help").stdout


# --- in the same process -----------------------------------------------------------------------


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command here; gives its exit code and what it wrote to both outputs."""

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return called


def wide_uses(made, folder):
    """A command that cannot be carried out, its exit code, and what it says."""
    plan, reports, none = made / "plan.json", made / "reports.parquet", folder / "none"
    out = folder / "out.parquet"
    (folder / "binary").write_bytes(b"\x00\x01\xff\xfe")
    (folder / "folder").mkdir()
    content = json.loads(plan.read_text())
    for name, value in (("empty", 0), ("other", 9)):
        content["plan"]["guarantee"]["crowd"] = value
        (folder / f"{name}.json").write_text(json.dumps(content))
    content["plan"]["format"] = "incrowd plan 9"
    (folder / "later.json").write_text(json.dumps(content))
    accountant = ("privacy", "delta", "--noise", "0.3", "--bits", "2", "--crowd", "9")
    return [
        (("plan", folder / "folder"), 2, "Is a directory; name a TOML file"),
        (("plan", folder / "binary"), 2, "is not TOML, which is UTF-8 text"),
        (("plan", SURVEY, "--frontier"), 2, "-o: is missing; --frontier writes a page"),
        (("plan", SURVEY, "--solve", "crowd"), 2, "--error: is missing; --solve crowd needs"),
        (("plan", SURVEY, "--solve", "x"), 2, "--solve: got 'x'; use one of crowd"),
        (("plan", SURVEY, "--ledger", plan), 2, "holds no ledger"),
        (("verify", none), 2, f"plan: got '{none}'; No such file"),
        (("verify", folder / "binary"), 2, "binary'; holds no plan; make one with"),
        (("verify", folder / "later.json"), 2, "plan.format: got 'incrowd plan 9'"),
        (("verify", folder / "empty.json"), 1, "crowd: got 0; should be at least 1; it was edited"),
        (("verify", folder / "other.json"), 1, "plan: as a whole; guarantee.crowd is 9"),
        (("verify", plan, none), 2, f"reports: got '{none}'; does not exist"),
        (("compare", plan, none, "a", "b"), 2, f"reports: got '{none}'; does not exist"),
        (("postprocess", plan, none), 2, f"reports: got '{none}'; does not exist"),
        (("tally", plan, none, "-o", "t.json"), 2, f"reports: got '{none}'; does not exist"),
        (("estimate", plan, none), 2, f"reports: got '{none}'; does not exist"),
        (("estimate", plan, reports, "--engine", "x"), 2, "--engine: got 'x'; use one of here"),
        (("randomize", plan, none, "-o", out), 2, f"answers: got '{none}'; does not exist"),
        (("randomize", plan, folder / "folder", "-o", out), 2, "is a folder; name a CSV"),
        (("simulate", SURVEY, none), 2, f"answers: got '{none}'; does not exist"),
        (("card", plan, "-o", plan), 2, "should end in"),
        (("demo", "-o", folder / "binary"), 2, "is a file; name a folder"),
        (accountant, 2, "--epsilon: is missing; give it, or --survey with it"),
        ((*accountant[:4], "--epsilon", "1"), 2, "--bits or --survey: is missing; name one"),
        ((*accountant, "--survey", SURVEY), 2, "--bits or --survey: got 2; name one of them"),
        (("privacy", "noise", *accountant[4:], "--epsilon", "1", "--eta", "0"), 2, "--eta: got 0"),
        (
            ("privacy", "curve", *accountant[2:], "--epsilon", "inf", "-o", "c.csv"),
            2,
            "--epsilon: got inf; should be greater than 0 and at most 700",
        ),
    ]


def test_wide_uses_are_refused_in_words(made, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uses = wide_uses(made, tmp_path)
    before = sorted(tmp_path.iterdir())
    for arguments, code, message in uses:
        found, out, error = call(*arguments)
        assert (found, out) == (code, ""), (arguments, error)
        assert message in error
        assert "Traceback" not in error and "Input should" not in error
        assert sorted(tmp_path.iterdir()) == before


def test_version(call):
    assert call("--version") == (0, f"incrowd {version('incrowd')}\n", "")


MEMOISED = """
name = "Drugs"
crowd = 20
[privacy]
epsilon = 3.0
analysis = "local"
[[question]]
id = "drug"
type = "yesno"
randomizer = { kind = "rappor", f = 0.6, memoised = true }
"""


def test_a_device_key_is_left_only_with_reports(tmp_path, call):
    """Without --id the rows cannot be told apart: there are no reports, and no key."""
    (tmp_path / "s.toml").write_text(MEMOISED)
    rows = "\n".join(f"p{i},yes" for i in range(20))
    (tmp_path / "a.csv").write_text(f"id,drug\n{rows}\n")
    plan, key = tmp_path / "plan.json", tmp_path / "key"
    assert call("plan", tmp_path / "s.toml", "--no-side-by-side", "-o", plan)[0] == 0
    command = ("randomize", plan, tmp_path / "a.csv", "-o", tmp_path / "r.parquet")
    code, _, error = call(*command, "--device-key", key)
    assert code == 2 and "--id" in error and "wrote" not in error and not key.exists()
    code, _, error = call(*command, "--device-key", key, "--id", "id")
    assert code == 0 and f"wrote a new secret to {key}" in error
    secret = key.read_text()
    assert call(*command, "--device-key", key)[0] == 2 and key.read_text() == secret


ASKED = ("privacy", "delta", "--noise", 0.3, "--bits", 2, "--crowd", 120, "--epsilon", 0.7)
COMMANDS = {
    "plan": ("plan", SURVEY),
    "simulate": ("simulate", SURVEY, ANSWERS, "--trials", "2"),
    "privacy": ASKED,
    "compare": ("compare", "plan.json", "reports.parquet", "doctor_visits", "chronic_conditions"),
    "postprocess": ("postprocess", "plan.json", "reports.parquet"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_fit_80_columns_uncut(name, made, call, monkeypatch):
    """Nothing is cut with an ellipsis; every name stands there whole, be it on two lines."""
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(*COMMANDS[name])
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    if name != "privacy":
        names = "".join(re.split(r"[\s│]+", out))
        assert "doctor_visits" in names and "chronic_conditions" in names


def test_printed_guarantees_are_rounded_towards_the_weaker(made, call):
    facts = json.loads(call(*ASKED, "--json")[1])
    delta = float(re.search(r"shuffle +│ +0.7 │ +(\S+) ", call(*ASKED)[1])[1])
    assert facts["delta"] <= delta < facts["delta"] * 1.00001
    exact = Plan.load(made / "plan.json").messages[0].noise.q
    shown = float(re.search(r" (0\.\d+) ", call("plan", SURVEY, "--no-side-by-side")[1])[1])
    assert exact - 1e-6 < shown <= exact


def completed(call, monkeypatch, words):
    monkeypatch.setenv("_INCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"incrowd {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    return call()[1].split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("esti", ["estimate"]),
        ("estimate plan.json r.parquet --engine s", ["spark"]),
        ("estimate plan.json r.parquet --simultaneous b", ["bonferroni"]),
        ("privacy noise --analysis b", ["blanket"]),
        ("postprocess plan.json r.parquet --method s", ["simplex"]),
        ("plan survey.toml --solve c", ["crowd"]),
        ("plan surv", []),  # the shell then offers files
    ],
)
def test_the_tab_key(words, found, call, monkeypatch):
    assert completed(call, monkeypatch, words) == found


def test_completion_can_be_shown(call, monkeypatch):
    """Where incrowd has nothing to offer, the shell offers files."""
    monkeypatch.setenv("_INCROWD_COMPLETE", "source_bash")
    assert "complete -o default" in call()[1]
