"""What is said of answers, of ids and of lists of words."""

from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import incrowd
from tests.messages.shared import file, options, survey

NAMED = {"a": ["yes", "no", "yes"], "id": ["1", "1", "2"]}

WORD = {"id": "t", "type": "text", "block": 16, "cohorts": 4}


def load(text, name="answers.csv", **options):
    return lambda folder: incrowd.load_answers(file(folder, name, text), survey(), **options)


def of(columns, *questions, id=None):
    """Answers that a plan of some questions does not take."""

    def call(_):
        made = incrowd.plan(survey(*questions))
        return incrowd.randomize(made, pa.table(columns), simulation_seed=1, id=id)

    return call


def wide(folder):
    """A Parquet file whose only row is larger than what is read at once."""
    path = folder / "wide.parquet"
    pa.parquet.write_table(pa.table({"a": ["y" * (3 << 20)]}), path)
    with mock.patch("incrowd.encoding.answers.PIECE_BYTES", 1 << 20):
        return incrowd.load_answers(path, survey())


def long_row(folder):
    """A CSV file whose only line does not end."""
    return incrowd.load_answers(file(folder, "a.csv", 'a\n"' + "y" * (2 << 20)), survey())


def in_passes(folder):
    """A file so long that it is read in batches, with a mistake near the end."""
    from incrowd.sampling.randomize import randomize_files

    path = file(folder, "answers.csv", "a\n" + "yes\n" * 300_000 + "maybe\n")
    return randomize_files(incrowd.plan(survey()), path, folder / "out.parquet")


CASES = {
    "no file of answers": lambda folder: incrowd.load_answers(folder / "none.csv", survey()),
    "answers in another encoding": load(b"a\n\xff\xfe\n"),
    "a header in another encoding": load(b"a,\xff\nyes,no\n"),
    "answers with cells too many": load("a,b\nyes,no\nyes,no,maybe\n"),
    "answers that are no Parquet": load("a\nyes\n", "answers.parquet"),
    "a row of many megabytes": wide,
    "a line of many megabytes": long_row,
    "no rows": load("a\n"),
    "no column of the question": load("b\nyes\n"),
    "two columns of the question": load("a,a\nyes,no\n"),
    "no column of the ids": load("a\nyes\n", id="name"),
    "no column of the ids in a table": of({"a": ["yes"]}, id="name"),
    "ids that are fractions": of({"a": ["yes"], "id": [1.5]}, id="id"),
    "a row without an id": of({"a": ["yes", "no"], "id": ["1", ""]}, id="id"),
    "rows of an id that differ": of(NAMED, id="id"),
    "many rows of an id that differ": of({"a": ["yes"] + ["no"] * 9, "id": ["1"] * 10}, id="id"),
    "an answer that is none": of({"a": ["maybe"]}),
    "many answers that are none": of({"a": ["maybe"] * 9}),
    "no answer": of({"a": ["yes", None]}),
    "a choice of something else": of({"c": ["x"]}, options(3)),
    "a choice among many": of({"c": ["x"]}, options(30)),
    "more options than may be": of({"c": ["o1;o2"]}, options(3, type="multi", at_most=1)),
    "an amount with a comma": of({"d": ["1,5"]}, {"id": "d", "type": "amount", "edges": [0, 1]}),
    "a number too small": of({"d": ["-1"]}, {"id": "d", "type": "number", "edges": [0, 1]}),
    "an empty word": lambda _: incrowd.randomize(
        incrowd.plan(survey(WORD)), pa.table({"t": [" "]}), simulation_seed=1
    ),
    "a column of dates": of({"a": pa.array(np.array(["2020-01-01"], "datetime64[D]"))}),
    "options that are one number": of({"c": [7]}, options(2, options=["7", "007"])),
    "a mistake far down": in_passes,
    "no file of words": lambda folder: incrowd.load_words(folder / "none.txt"),
    "a file without words": lambda folder: incrowd.load_words(file(folder, "words.txt", "\n\n")),
    "words that are no text": lambda folder: incrowd.load_words(file(folder, "w.txt", b"\xff")),
}
