"""Values with parts of their own are named, left out, and never options."""

import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import incrowd
from tests.conftest import one_in

NESTED = {
    "an object": {"city": "Bern", "zip": "3000"},
    "a list of objects": [{"n": "1"}, {"n": "2"}],
    "a list of lists": [["a"], ["b"]],
}
SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 4,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [{"id": "smokes", "type": "yesno"}],
    }
)
OTHER = SURVEY.model_copy(
    update={"questions": (SURVEY.question("smokes").model_copy(update={"id": "home"}),)}
)


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "feather"])
@pytest.mark.parametrize("name", one_in(2, NESTED))
def test_nested_values_are_left_out(tmp_path, name, ending):
    rows = [{"smokes": ["yes", "no"][n % 2], "home": NESTED[name]} for n in range(40)]
    path = tmp_path / f"a.{ending}"
    if ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    elif ending == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        pa.feather.write_feather(pa.Table.from_pylist(rows), path)
    draft = incrowd.draft(path)
    assert [each.id for each in draft.questions] == ["smokes"]
    (left_out,) = draft.left_out
    assert left_out.id == "home" and left_out.why.code == "drafts.nested"
    assert incrowd.load_answers(path, SURVEY)["smokes"].to_pylist() == ["yes", "no"] * 20
    with pytest.raises(incrowd.AnswersError, match="cannot hold answers"):
        incrowd.randomize(incrowd.plan(OTHER), path, simulation_seed=1)
