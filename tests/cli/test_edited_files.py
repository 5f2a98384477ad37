"""Files that were edited, at the command line."""

import json

import pytest

from incrowd.cli.app import main
from incrowd.plans.digests import sealed
from tests.conftest import rewritten


@pytest.fixture
def said(monkeypatch, capfd, tmp_path):
    """What a command says, and how it ends."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["incrowd", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        shown = capfd.readouterr()
        assert "fault" not in shown.err
        return code, shown.err + shown.out

    return run


def test_the_commands_refuse_what_was_edited(saved_reports, said):
    assert said("tally", "plan.json", "r.parquet", "-o", "t.json")[0] == 0
    before = saved_reports.read_bytes()
    rewritten(saved_reports, people="900")
    for command in (["verify"], ["estimate"], ["tally", "-o", "u.json"]):
        code, text = said(command[0], "plan.json", "r.parquet", *command[1:])
        assert code == 2 and "edited or damaged" in text
    saved_reports.write_bytes(before)
    rewritten(saved_reports, seal=True, people="900")
    code, text = said("verify", "plan.json", "r.parquet")
    assert code == 1 and "900 people send" in text and "cannot come from" in text
    code, text = said("estimate", "plan.json", "r.parquet")
    assert code == 2 and "900 people send at least" in text
    saved_reports.write_bytes(before)

    tally = saved_reports.parent / "t.json"
    old = json.loads(tally.read_text())
    old["messages"]["0"]["accepted"] = 5000
    tally.write_text(json.dumps(old))
    assert "edited or damaged" in said("estimate", "plan.json", "t.json")[1]
    old.pop("digest")
    tally.write_text(json.dumps(sealed(old)))
    for command in (["estimate"], ["tally", "-o", "u.json"]):  # nothing is sealed that is wrong
        code, text = said(command[0], "plan.json", "t.json", *command[1:])
        assert code == 2 and "do not fit 5,000 reports" in text
    assert not (saved_reports.parent / "u.json").exists()
