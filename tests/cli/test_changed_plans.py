"""Plans whose digest fits, and whose analysis does not promise what they say."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest

import incrowd
from incrowd.accountant.analyses import ANALYSES
from incrowd.errors import PlanFileError
from incrowd.plans.digests import digest_of
from incrowd.reports.tally_files import save_tally
from incrowd.sampling.randomize import randomize_files
from tests.conftest import ANSWERS, PLAIN, planned, reports_of, run

PLANNABLE = ", ".join(name for name, one in ANALYSES.items() if one.scalable)
CHANGES = {
    "analysis": ("magic", f"got 'magic'; use one of {PLANNABLE}"),
    "proved": (False, "got False; should be True for the analysis blanket"),
}


@pytest.fixture(scope="module")
def made():
    """A plan by the analysis `blanket`."""
    privacy = {"epsilon": 3.0, "delta": 1e-3, "analysis": "blanket"}
    return planned(PLAIN, privacy=privacy)


@pytest.fixture(scope="module")
def files(made, tmp_path_factory):
    """Answers, reports and a tally of that plan."""
    folder, reports = tmp_path_factory.mktemp("files"), reports_of(made)
    table = pa.table({id: ANSWERS[id] for id in ("a", "b")})
    pyarrow.csv.write_csv(table, folder / "answers.csv")
    incrowd.save_reports(reports, folder / "reports.parquet")
    save_tally(incrowd.count(made, reports), folder / "tally.json")
    return folder


@pytest.fixture(params=CHANGES)
def changed(request, made, tmp_path):
    """A changed plan that fits its digest and its survey; and what is wrong with it."""
    value, said = CHANGES[request.param]
    content = made.content
    content["guarantee"][request.param] = value
    if request.param == "analysis":
        content["survey"]["privacy"][request.param] = value
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"digest": digest_of(content), "plan": content}))
    return path, f"plan.guarantee.{request.param}: {said}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("randomize answers.csv", "-o", "reports"),
        ("tally reports.parquet", "-o", "tally.json"),
        ("tally tally.json", "-o", "tally.json"),
        ("estimate reports.parquet",),
        ("verify",),
        ("card",),
    ],
    ids=" ".join,
)
def test_every_command_refuses_it_in_the_same_words(changed, files, arguments, tmp_path):
    path, said = changed
    command, *named = arguments[0].split()
    done = run(command, path, *(files / name for name in named), *arguments[1:], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == f"error: {said}"
    assert list(tmp_path.iterdir()) == [path]


def test_so_does_the_library_before_it_reads_anything(changed, files, tmp_path):
    plan = incrowd.Plan.load(changed[0])
    answers = pyarrow.csv.read_csv(files / "answers.csv")
    for use in (
        lambda: incrowd.randomize(plan, answers),
        lambda: randomize_files(plan, files / "answers.csv", tmp_path / "reports"),
        lambda: incrowd.count(plan, []),
    ):
        with pytest.raises(PlanFileError) as error:
            use()
        assert str(error.value) == changed[1]
