"""The command `card`: what it writes, and what it refuses."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from incrowd.cli.checking import card as command
from incrowd.errors import PlanError, UsageError
from incrowd.presentation.card import certified_card, html, markdown
from incrowd.presentation.write import write_card
from tests.conftest import local_plan, second_round, with_less_noise, yes_no_question


def run(*arguments):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "my plan.json"
    path.write_text(second_round().dumps())
    return path


class TestCommand:
    def test_markdown_on_standard_output(self, plan_file):
        done = run(plan_file)
        assert done.exit_code == 0
        assert done.stdout == markdown(certified_card(second_round(), "my plan.json"))
        assert "    incrowd verify 'my plan.json'\n" in done.stdout

    @pytest.mark.parametrize(("ending", "text"), [("html", html), ("md", markdown), ("HTML", html)])
    def test_writes_by_ending(self, plan_file, ending, text):
        out = plan_file.with_name(f"card.{ending}")
        done = run(plan_file, "-o", out)
        assert done.exit_code == 0 and done.stdout == ""
        assert out.read_text(encoding="utf-8") == text(
            certified_card(second_round(), plan_file.name)
        )

    def test_json_has_the_facts_of_the_plan(self, plan_file):
        facts = json.loads(run(plan_file, "--json").stdout)
        assert facts["digest"] == second_round().digest
        assert facts["guarantee"]["local_epsilon"] == second_round().guarantee.local_epsilon
        assert facts["memoized"] == ["drug"] and facts["colluding"] == 50
        assert [asked["survey"] for asked in facts["earlier"]] == ["Round <one>"]
        assert set(facts["who_sees_what"]) >= {"Shuffler", "Analyst", "Public"}

    def test_refuses_a_plan_that_does_not_hold_and_writes_nothing(self, plan_file):
        plan_file.write_text(with_less_noise(local_plan(yes_no_question("a"))).dumps())
        out = plan_file.with_name("card.html")
        error = run(plan_file, "-o", out).exception
        assert isinstance(error, PlanError) and error.exit_code == 1
        assert not out.exists()

    @pytest.mark.parametrize("name", ["card.pdf", "card", "my plan.json"])
    def test_another_ending_is_refused_before_the_work(self, plan_file, name):
        error = run(plan_file, "-o", plan_file.with_name(name)).exception
        assert isinstance(error, UsageError) and ".html, .md" in str(error)

    def test_the_plan_is_not_overwritten(self, plan_file):
        plan = plan_file.rename(plan_file.with_name("plan.md"))
        error = run(plan, "-o", plan).exception
        assert isinstance(error, UsageError) and "is an input" in str(error)

    def test_a_folder_that_is_not_there(self, plan_file):
        with pytest.raises(UsageError, match="cannot be written"):
            write_card(
                certified_card(second_round(), plan_file.name),
                plan_file.parent / "none" / "card.md",
            )
