"""Ids are text, and a file is no bomb: what is read of answers, whatever else the file holds."""

import gzip
import resource
import struct
import subprocess
import sys
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import incrowd
from incrowd.encoding.answers import load_answers, texts
from incrowd.errors import AnswersError, ReportsError
from incrowd.reports.collection import load_collection, parts
from incrowd.sampling.randomize import randomize_files
from tests.conftest import slowly

PROMISE = {"crowd": 1000, "privacy": {"epsilon": 8.0, "delta": 1e-3}}
YESNO = {"id": "a", "type": "yesno"}
KEPT = YESNO | {"randomizer": {"kind": "rappor", "f": 0.5, "memoized": True}}
IDS = ["007", "7", "1.10", "1.1", "1e3", "1000", "true", "True", " 7", "7 ", "12:00", "12:00:00"]
IDS += ["12345678901234567890123", "12345678901234567890124", "12345678901234567890125", "nan"]
IDS += ["NULL", "NA", "-0", "0", "2020-01-01", "é", "e\u0301", "0x7", "1,000"]

ALONE_AND_TOGETHER = [[text] for text in IDS] + [IDS, IDS[:2], IDS[12:15]]


def plan_of(question):
    return incrowd.plan(incrowd.Survey.of(PROMISE | {"name": "ids", "question": [question]}))


@pytest.fixture(scope="module")
def plan():
    """Joint reports, one for each person: of cells, as many arrive as the noise sets."""
    return incrowd.plan(
        incrowd.Survey.of(
            PROMISE | {"name": "ids", "question": [YESNO], "message": [{"questions": ["a"]}]}
        )
    )


@pytest.fixture(scope="module")
def kept():
    return plan_of(KEPT)


def written(table, path):
    write = pa.csv.write_csv if path.suffix == ".csv" else pa.parquet.write_table
    write(table, path)
    return path


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        *(("a.csv", chosen) for chosen in ALONE_AND_TOGETHER),
        ("a.parquet", IDS),
        *slowly(*(("a.parquet", chosen) for chosen in ALONE_AND_TOGETHER)),
    ],
)
def test_ids_are_read_byte_for_byte(plan, tmp_path, name, chosen):
    """Alone, so that a reader that guesses would, and among all kinds of others. As one person
    each, they give a report each."""
    path = written(pa.table({"id": chosen, "a": ["yes"] * len(chosen)}), tmp_path / name)
    table = load_answers(path, plan.survey, id="id")
    assert texts(table, "id").to_pylist() == chosen
    assert len(incrowd.randomize(plan, table, id="id")[0]) == len(chosen)


def test_ids_of_csv_without_quotation_marks(plan, tmp_path):
    lines = ["id,a", *(f"{text},yes" for text in IDS if "," not in text)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    made = randomize_files(plan, tmp_path / "a.csv", tmp_path / "r.parquet", id="id")
    assert made.reports == (len(IDS) - 1,)


@pytest.mark.parametrize("name", ["a.csv", *slowly("a.parquet")])
def test_a_device_repeats_itself_whatever_else_the_file_holds(kept, tmp_path, name):
    """Week 2 has one more person, whose id has a letter. The bits of the others are the same.
    Wrong: ids as the reader's numbers, which draws most anew."""
    key = incrowd.DeviceKey(bytes(32))
    ids = [f"{row:05}" for row in range(1, 2000)]
    found = []
    for week, more in enumerate([[], ["a12"]]):
        table = pa.table({"id": ids + more, "a": ["yes"] * len(ids + more)})
        path = written(table, tmp_path / f"{week}{name}")
        found.append(permanent(kept, load_answers(path, kept.survey, id="id"), key))
    assert np.array_equal(found[0], found[1][: len(ids)])
    guessed = pa.table({"id": [str(int(text)) for text in ids], "a": ["yes"] * len(ids)})
    assert np.mean(permanent(kept, guessed, key) != found[0]) > 0.2


def permanent(plan, table, key):
    """The permanent response of each row."""
    from incrowd.encoding.answers import texts
    from incrowd.sampling.permanent import remembered, remembering

    memory = remembering(plan, table.num_rows, texts(table, "id").to_pylist(), key)
    records = np.ones((table.num_rows, 1), np.uint8)
    return remembered(plan, plan.messages[0], records, memory)[:, 0]


def test_whole_numbers_have_one_text_and_other_types_none(plan, tmp_path):
    large = [2**64 - 1, 2**64 - 2, 7]
    table = pa.table({"id": pa.array(large, pa.uint64()), "a": ["yes"] * 3})
    read = load_answers(written(table, tmp_path / "a.parquet"), plan.survey, id="id")
    assert texts(read, "id").to_pylist() == list(map(str, large))
    for ids in ([1.1, 7.0], [True, False], [b"7", b"8"], [["7"], ["8"]]):
        table = pa.table({"id": ids, "a": ["yes"] * 2})
        path = written(table, tmp_path / "b.parquet")
        with pytest.raises(
            AnswersError, match=r"^id: got 'id'; the column has type .*save the ids"
        ):
            randomize_files(plan, path, tmp_path / "r.parquet", id="id")


@pytest.mark.parametrize("cell", ["", '""'])
def test_a_row_without_id_is_named(plan, tmp_path, cell):
    (tmp_path / "a.csv").write_text(f"id,a\n7,yes\n{cell},no\n")
    with pytest.raises(AnswersError, match="row 2, id: no id"):
        randomize_files(plan, tmp_path / "a.csv", tmp_path / "r.parquet", id="id")


def test_other_columns_do_not_matter(plan, tmp_path):
    """A column that nobody asked for is not looked at, whatever it holds further down."""
    lines = ["a,x"] + ["yes,1"] * 300_000 + ["no,word"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert load_answers(tmp_path / "a.csv", plan.survey).num_rows == 300_001


def test_a_number_that_is_two_options_is_refused():
    """Was 7 the answer 7 or 007? A column of text says it."""
    plan = plan_of({"id": "b", "type": "choice", "options": ["007", "7", "0", "00", "snan"]})
    for column in ([7, 0], [7.0, None]):
        with pytest.raises(
            AnswersError, match=r"cannot distinguish the options that stand for the number"
        ):
            incrowd.randomize(plan, pa.table({"b": column}))
    assert incrowd.randomize(plan, pa.table({"b": ["7", "007", "00"]}))[0].people == 3
    told = plan_of({"id": "b", "type": "choice", "options": ["1", "2", "3"]})
    assert incrowd.randomize(told, pa.table({"b": [1.0, 2.0]}))[0].people == 2


# --- files that are larger than they look ----------------------------------------------------


def test_a_long_row_is_refused_in_our_words(plan, tmp_path):
    (tmp_path / "a.csv").write_text("a,x\nyes,1\nno," + "x" * 3_000_000 + "\nyes,1\n")
    for read in (
        lambda: load_answers(tmp_path / "a.csv", plan.survey),
        lambda: randomize_files(plan, tmp_path / "a.csv", tmp_path / "r.parquet"),
    ):
        with pytest.raises(AnswersError, match="a row of more than 1 MiB; should be a CSV file"):
            read()


WORD = {"id": "t", "type": "text", "block": 16, "cohorts": 4}
MULTI = {"id": "t", "type": "multi", "options": ["u", "v"], "at_most": 1}


def bomb(path):
    """A file of less than a megabyte that unpacks to 400 or more."""

    def repeated(word, rows):
        return pa.table({"t": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [word])})

    if path.name == "dictionary.parquet":
        pa.parquet.write_table(repeated("w" * 5000, 120_000), path, store_schema=False)
    elif path.name == "wide.parquet":
        pa.parquet.write_table(repeated("w" * 1_000_000, 600), path, store_schema=False)
    elif path.name == "plain.parquet":
        packed = {"use_dictionary": False, "compression": "zstd", "row_group_size": 120_000}
        pa.parquet.write_table(repeated("w" * 5000, 120_000), path, store_schema=False, **packed)
    elif path.name == "lists.parquet":
        lists = pa.table({"t": pa.repeat(pa.scalar(["u"] * 60_000), 1000)})
        pa.parquet.write_table(lists, path, compression="zstd")
    else:
        path.write_bytes(gzipped(b"t\n", (b"w" * 5000 + b"\n") * 1000, 80))


def gzipped(head, block, times):
    """One gzip stream of the head and the block so many times, which is compressed only once."""
    packing = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    start = packing.compress(head) + packing.flush(zlib.Z_FULL_FLUSH)
    again = packing.compress(block) + packing.flush(zlib.Z_FULL_FLUSH)
    check = zlib.crc32(head)
    for _ in range(times):
        check = zlib.crc32(block, check)
    sizes = struct.pack("<II", check, (len(head) + times * len(block)) % 2**32)
    return gzip.compress(b"")[:10] + start + again * times + packing.flush() + sizes


def test_a_stream_of_blocks_that_are_alike_is_gzip():
    assert gzip.decompress(gzipped(b"t\n", b"wow\n" * 99, 7)) == b"t\n" + b"wow\n" * 99 * 7


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("dictionary.parquet", 120_000),
        pytest.param("plain.parquet", 120_000, marks=pytest.mark.slow),
        pytest.param("wide.parquet", 600, marks=pytest.mark.slow),
        *slowly(("text.csv.gz", 80_000)),
        pytest.param("lists.parquet", 1000, marks=pytest.mark.slow),
    ],
)
def test_a_file_that_unpacks_to_much_takes_bounded_memory(tmp_path_factory, name, rows):
    """Less than 300 MB; 1,800 and more were taken once. Wrong: the
    whole file at once needs more than that."""
    folder = tmp_path_factory.mktemp("bombs")
    bomb(folder / name)
    for kind, question in (("word", WORD), ("multi", MULTI)):
        (folder / f"{kind}.json").write_text(plan_of(question).dumps())
    assert (folder / name).stat().st_size < 1_000_000
    kind = "multi" if name == "lists.parquet" else "word"
    paths = [folder / f"{kind}.json", folder / name, folder / f"{name}.reports"]
    read, grown = growth(
        "randomize_files(incrowd.Plan.load(sys.argv[1]), *sys.argv[2:]).rows", *paths
    )
    assert read == rows and grown < 300
    if name == "plain.parquet":
        assert growth("read_table(sys.argv[1]).num_rows", folder / name)[1] > 300


MEASURED = """
import re, sys
import incrowd
from incrowd.sampling.randomize import randomize_files
from pyarrow.parquet import read_table
def most():
    return int(re.search("VmHWM:\\\\s*([0-9]+)", open("/proc/self/status").read())[1])
before = most()
print({})
print((most() - before) // 1024)
"""


def growth(work, *arguments):
    """What a piece of work gives, and how many MB it adds to the memory of a process."""
    command = [sys.executable, "-c", MEASURED.format(work), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
def test_reports_that_unpack_to_much_are_refused(plan, tmp_path):
    """Reports are written without compression: row groups larger than ours are somebody else's."""
    header = incrowd.randomize(plan, pa.table({"a": ["yes"]}))[0]
    incrowd.save_reports([header], tmp_path / "r.parquet")
    schema = pa.parquet.read_schema(tmp_path / "r.parquet")
    zeros = np.zeros(20_000_000, np.uint8)
    column = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(1), len(zeros), [None, pa.py_buffer(zeros)]
    )
    table = pa.Table.from_arrays([column], schema=schema)
    pa.parquet.write_table(
        table, tmp_path / "b.parquet", compression="zstd", row_group_size=len(zeros)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for read in (load_collection, lambda path: list(parts(path))):
        with pytest.raises(ReportsError, match="should have at most 16,777,216"):
            read(tmp_path / "b.parquet")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10 << 10
