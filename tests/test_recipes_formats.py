"""A format of files that the package does not have: read, from its module and a line of registry.

The format is made up: the first line says what it is, the second names the columns, and all that
follows are answers, with a semicolon and a space between them.
"""

import sys
from unittest import mock

import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.formats.reader import Reader
from incrowd.encoding.formats.registry import FORMATS, FileFormat

MAGIC = b"%answers"
NEW = FileFormat("made-up", "Made-up", (".made",), __name__, (MAGIC,))
UNMARKED = NEW._replace(magic=())

SURVEY = incrowd.Survey.of(
    {
        "name": "Formats",
        "crowd": 100,
        "privacy": {"epsilon": 2.0},
        "question": [
            {"id": "smokes", "type": "yesno"},
            {"id": "age", "type": "number", "edges": [0, 40]},
        ],
    }
)


class MadeUp(Reader):
    def table(self, source):
        _, head, *lines = source.whole().decode().splitlines()
        rows = [line.split("; ") for line in lines]
        names = head.split("; ")
        return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


READER = MadeUp()
CONTENT = MAGIC + b" 1\nage; smokes; town\n31; yes; A\n55; no; B\n"


@pytest.mark.parametrize("format", [NEW, UNMARKED])
def test_a_new_format_is_read_by_its_name_and_its_content(format, tmp_path):
    (tmp_path / "answers.made").write_bytes(CONTENT)
    (tmp_path / "answers.csv").write_text("smokes,age\nyes,31\nno,55\n")
    with mock.patch.dict(FORMATS, {format.kind: format}):
        found = incrowd.load_answers(tmp_path / "answers.made", SURVEY)
        plan = incrowd.plan(SURVEY)
        reports = incrowd.randomize(plan, tmp_path / "answers.made", simulation_seed=1)
        from_csv = incrowd.randomize(plan, tmp_path / "answers.csv", simulation_seed=1)
    assert found.to_pydict() == {"smokes": ["yes", "no"], "age": ["31", "55"]}
    assert [each.packed.tolist() for each in reports] == [each.packed.tolist() for each in from_csv]


def test_a_format_that_nobody_registered_is_refused(tmp_path):
    assert __name__ in sys.modules
    (tmp_path / "answers.made").write_bytes(b"\x00" + CONTENT)
    with pytest.raises(incrowd.AnswersError, match="CSV, JSON lines, Parquet"):
        incrowd.load_answers(tmp_path / "answers.made", SURVEY)
    with mock.patch.dict(FORMATS, {NEW.kind: NEW}):
        with pytest.raises(incrowd.AnswersError, match="or Made-up file"):
            incrowd.load_answers(tmp_path / "other", SURVEY)
        (tmp_path / "wrong.csv").write_bytes(CONTENT)
        with pytest.raises(incrowd.AnswersError, match="contains Made-up data"):
            incrowd.load_answers(tmp_path / "wrong.csv", SURVEY)
