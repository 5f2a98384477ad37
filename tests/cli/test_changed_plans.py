"""Plans whose digest fits, and whose analysis does not promise what they say."""

import json
from pathlib import Path

import pyarrow.csv
import pytest

import incrowd
from incrowd.accounting.analyses import ANALYSES
from incrowd.errors import PlanFileError
from incrowd.plans.digests import old_digest_of
from incrowd.workflow.randomize import randomize_files
from tests.conftest import run

OLD = Path(__file__).parents[1] / "data" / "format-1"
PLANNABLE = ", ".join(name for name, one in ANALYSES.items() if one.scalable)
CHANGES = {
    "analysis": ("magic", f"got 'magic'; use one of {PLANNABLE}"),
    "proved": (False, "got False; should be True, as the analysis blanket makes it"),
}


@pytest.fixture(params=CHANGES)
def changed(request, tmp_path):
    """A changed plan that fits its digest and its survey; and what is wrong with it."""
    value, said = CHANGES[request.param]
    content = incrowd.Plan.load(OLD / "plan.json").content
    content["guarantee"][request.param] = value
    if request.param == "analysis":
        content["survey"]["privacy"][request.param] = value
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"digest": old_digest_of(content), "plan": content}))
    return path, f"plan.guarantee.{request.param}: {said}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("randomize", OLD / "answers.csv", "-o", "reports"),
        ("tally", OLD / "reports", "-o", "tally.json"),
        ("tally", OLD / "tally.json", "-o", "tally.json"),
        ("estimate", OLD / "reports"),
        ("verify",),
        ("card",),
    ],
    ids=lambda arguments: " ".join(str(part).rpartition("/")[2] for part in arguments),
)
def test_every_command_refuses_it_in_the_same_words(changed, arguments, tmp_path):
    path, said = changed
    command, *others = arguments
    done = run(command, path, *others, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == f"error: {said}"
    assert list(tmp_path.iterdir()) == [path]


def test_so_does_the_library_before_it_reads_anything(changed, tmp_path):
    plan = incrowd.Plan.load(changed[0])
    answers = pyarrow.csv.read_csv(OLD / "answers.csv")
    for use in (
        lambda: incrowd.randomize(plan, answers),
        lambda: randomize_files(plan, OLD / "answers.csv", tmp_path / "reports"),
        lambda: incrowd.count(plan, []),
    ):
        with pytest.raises(PlanFileError) as error:
            use()
        assert str(error.value) == changed[1]
