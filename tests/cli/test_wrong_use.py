"""Commands that cannot be carried out: exit codes and words, no tracebacks, nothing left behind."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import ANSWERS, SURVEY
from tests.conftest import run


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
        "a plan for answers": (
            ("init", plan),
            2,
            "line 1 is not JSON; should be an object with a key",
        ),
        "survey is no TOML": (("plan", plan), 2, "is not TOML; name a survey"),
        "plan is no plan": (("estimate", SURVEY, reports), 2, "is not a plan"),
        "edited plan": (("randomize", folder / "edited.json", ANSWERS, "-o", out), 2, "edited"),
        "empty answers": (("randomize", plan, folder / "empty", "-o", out), 2, "cannot be read"),
        "no column": (
            ("randomize", plan, folder / "column.csv", "-o", out),
            2,
            "'physical_limitation'; there should be exactly one",
        ),
        "unknown option": (
            ("randomize", plan, folder / "option.csv", "-o", out),
            2,
            "row 3, self_rated_health: got 'fine'",
        ),
        "NaN": (("randomize", plan, folder / "nan.csv", "-o", out), 2, "row 2, chronic_conditions"),
        "truncated": (("estimate", plan, folder / "short.parquet"), 2, "it is not a reports file"),
        "reports are answers": (
            ("estimate", plan, ANSWERS),
            2,
            "name a file that `incrowd randomize` wrote",
        ),
        "no folder": (
            ("randomize", plan, ANSWERS, "-o", folder / "a" / "b.parquet"),
            2,
            "cannot be written",
        ),
        "reports as CSV": (
            ("randomize", plan, ANSWERS, "-o", folder / "reports.csv"),
            2,
            "should name a folder, or a file that ends in .parquet",
        ),
        "ending": (("estimate", plan, reports, "-o", folder / "e.doc"), 2, "should end in"),
        "unknown option of the command": (("plan", SURVEY, "--loud"), 2, "--loud"),
        "two outputs": (
            ("plan", SURVEY, "-o", "a.json", "-o", "b.json"),
            2,
            "-o: is given 2 times; it has one value; give it once",
        ),
        "two seeds": (
            ("randomize", plan, ANSWERS, "-o", out, "--simulation-seed=1", "--simulation-seed=2"),
            2,
            "--simulation-seed: is given 2 times",
        ),
        "a number twice below a group": (
            ("privacy", "delta", "--noise", "0.3", "--noise", "0.4"),
            2,
            "--noise: is given 2 times",
        ),
        "no argument": (("plan",), 2, "SURVEY"),
        "unknown table": (("estimate", plan, reports, "--table", "a,b"), 2, "no question has"),
        "trials": (("simulate", SURVEY, ANSWERS, "--trials", "1"), 2, "from 2 to 1,000,000"),
    }


NAMES = [
    "no survey",
    "a plan for answers",
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
    "reports as CSV",
    "ending",
    "unknown option of the command",
    "two outputs",
    "two seeds",
    "a number twice below a group",
    "no argument",
    "unknown table",
    "trials",
]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_uses_end_with_their_code_and_a_message(made, tmp_path, name):
    uses = wrong_uses(made, tmp_path)
    assert list(uses) == NAMES
    arguments, code, message = uses[name]
    before = sorted(p.name for p in tmp_path.iterdir())
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


# --- in the same process -----------------------------------------------------------------------


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
        (("plan", folder / "folder"), 2, "it cannot be read: Is a directory; name a TOML file"),
        (("plan", folder / "binary"), 2, "it is not UTF-8; save it as UTF-8"),
        (("plan", SURVEY, "--frontier"), 2, "-o: is missing; --frontier writes a page"),
        (("plan", SURVEY, "--solve", "crowd"), 2, "--error: is missing; --solve crowd needs"),
        (("plan", SURVEY, "--solve", "x"), 2, "--solve: got 'x'; use one of crowd"),
        (("plan", SURVEY, "--ledger", plan), 2, "is not a ledger"),
        (("verify", none), 2, f"plan: got '{none}'; it cannot be read: No such file"),
        (("verify", folder / "binary"), 2, "binary'; it is not a plan; make one with"),
        (("verify", folder / "later.json"), 2, "plan.format: got 'incrowd plan 9'"),
        (("verify", folder / "empty.json"), 2, "crowd: got 0; should be at least 1; the plan was"),
        (("verify", folder / "other.json"), 2, "from the survey: guarantee.crowd is 9"),
        (("verify", plan, none), 2, f"reports: got '{none}'; it does not exist"),
        (("compare", plan, none, "a", "b"), 2, f"reports: got '{none}'; it does not exist"),
        (
            ("compare", plan, reports, "a=b", "c=d", "--crosstab"),
            2,
            "two questions, not two shares",
        ),
        (
            ("compare", plan, reports, "a", "b", "--crosstab", "--reference", "x"),
            2,
            "a crosstab has no reference",
        ),
        (("compare", plan, reports, "a", "b", "-o", "out.doc"), 2, "should end in"),
        (("correlate", plan, reports, "-o", reports), 2, "it is an input of this command"),
        (("postprocess", plan, none), 2, f"reports: got '{none}'; it does not exist"),
        (("tally", plan, none, "-o", "t.json"), 2, f"reports: got '{none}'; it does not exist"),
        (("estimate", plan, none), 2, f"reports: got '{none}'; it does not exist"),
        (("estimate", plan, reports, "--engine", "x"), 2, "--engine: got 'x'; use one of here"),
        (("randomize", plan, none, "-o", out), 2, f"answers: got '{none}'; it does not exist"),
        (("randomize", plan, folder / "folder", "-o", out), 2, "is a folder; name a CSV"),
        (("simulate", SURVEY, none), 2, f"answers: got '{none}'; it does not exist"),
        (("card", plan, "-o", plan), 2, "should end in"),
        (("send", "nolink", "--show"), 2, "link: is 'nolink'; should end with #"),
        (("demo", "-o", folder / "binary"), 2, "is a file; name a folder"),
        (accountant, 2, "--epsilon: is missing; give it, or a --survey that states it"),
        ((*accountant[:4], "--epsilon", "1"), 2, "--bits or --survey: is missing; give one"),
        ((*accountant, "--survey", SURVEY), 2, "--bits or --survey: got 2; give one of them"),
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


MEMOIZED = """
name = "Drugs"
crowd = 20
[privacy]
epsilon = 3.0
analysis = "local"
[[question]]
id = "drug"
type = "yesno"
randomizer = { kind = "rappor", f = 0.6, memoized = true }
"""


def test_a_device_key_is_left_only_with_reports(tmp_path, call):
    """Without --id the rows cannot be told apart: there are no reports, and no key."""
    (tmp_path / "s.toml").write_text(MEMOIZED)
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
