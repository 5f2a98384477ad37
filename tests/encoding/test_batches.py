"""Answers read in batches: the file in pieces, and the errors of the whole file."""

import gzip

import pyarrow as pa
import pyarrow.csv
import pytest

from incrowd.encoding.answers import load_answers, load_batches
from incrowd.errors import AnswersError
from tests.conftest import people, survey_of

ROWS = 3000


@pytest.fixture(scope="module")
def survey():
    return survey_of("bits")


# --- the pieces ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("rows", [1, 700, 3000, 5000])
def test_batches_are_the_file_in_pieces(survey, tmp_path, ending, rows):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(people(), path, row_group_size=400)
    else:
        pa.csv.write_csv(people(), path)
        if ending == "csv.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    read = load_batches(path, survey, rows)
    tables, steps = zip(*read.tables, strict=True)
    assert [table.num_rows for table in tables[:-1]] == [rows] * (ROWS // rows - (ROWS % rows == 0))
    # Each piece may have dictionaries of its own.
    assert pa.concat_tables(tables).to_pylist() == load_answers(path, survey).to_pylist()
    expected = (ROWS, "rows") if ending == "parquet" else (path.stat().st_size, "bytes")
    assert (read.size, read.unit) == expected
    assert sum(steps) == read.size and min(steps) >= 0


WRONG_FILES = [
    ("a.csv", b""),
    ("a.csv", b"a,b,c,d\n"),
    ("a.csv", b"a,b,c\nyes,x,none\n"),
    ("a.csv", b"a,b,c,d,d\nyes,x,none,1,1\n"),
    ("a.csv", b"a,b,c,d\nyes,x\n"),
    ("a.csv", b"\xff\xfe\x00\x01"),
    ("a.csv", b"a,b,c,d\n\xff,x,none,1\n"),
    ("a.parquet", b"PAR1 truncated"),
    ("a.parquet", b""),
]


@pytest.mark.parametrize(("name", "content"), WRONG_FILES)
def test_a_wrong_file_gives_the_error_of_a_whole_one(survey, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AnswersError) as whole:
        load_answers(tmp_path / name, survey)
    with pytest.raises(AnswersError) as batches:
        list(load_batches(tmp_path / name, survey, 10).tables)
    source = f"Could not open Parquet input source '{tmp_path / name}': "
    assert str(batches.value) == str(whole.value).replace(source, "")


def test_no_file_at_all(survey, tmp_path):
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(AnswersError, match="No such file"):
            load_batches(path, survey, 10)
    with pytest.raises(AnswersError):
        list(load_batches(tmp_path, survey, 10).tables)
