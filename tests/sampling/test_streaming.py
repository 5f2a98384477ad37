"""Answers that do not fit in memory: one uniform order, the same law, nothing left behind.

Batches, buckets and row groups are made small, so that little data takes every path. Statistical
tests use fixed seeds; each states how often it would fail by chance, and rejects a wrong variant.
"""

import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

import incrowd
from incrowd.encoding.answers import load_answers
from incrowd.encoding.batches import load_batches
from incrowd.errors import AnswersError, UsageError
from incrowd.kernels import threads
from incrowd.kernels.threads import in_order
from incrowd.reports import collection
from incrowd.reports.collection import Collection, regrouped, write_reports
from incrowd.reports.temporary import Bucket
from incrowd.sampling import passes, streaming
from incrowd.sampling.buckets import branch, spread
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.passes import Disk, shuffled
from incrowd.sampling.streaming import batch_rows
from incrowd.workflow.randomize import randomize_files
from tests.conftest import KINDS, people, plan_of

ALARM = 1e-6
ROWS = 3000


def by_input_order(packed, buckets, keystream):
    """The wrong variant: which bucket a report goes to follows from where it stands."""
    return np.array_split(packed, buckets)


def by_batch(number):
    """Another: every batch has a bucket of its own."""
    given = iter(range(number))

    def choose(packed, buckets, keystream):
        chosen = next(given) % buckets
        return [packed if bucket == chosen else packed[:0] for bucket in range(buckets)]

    return choose


# --- the order -------------------------------------------------------------------------------


def order(count, batches, buckets, folder, keystream, choose=spread):
    """Where reports 0 to count - 1 stand after both passes: they carry their number."""
    numbers = np.arange(count, dtype="<u4").view(np.uint8).reshape(count, 4)
    with ExitStack() as open_files:
        disk = Disk(folder, open_files)
        made = disk.buckets(buckets, 4)
        for batch in np.array_split(numbers, batches):
            for bucket, packed in zip(made, choose(batch, buckets, keystream), strict=True):
                bucket.add(packed)
        pieces = list(shuffled(made, keystream, disk, lambda _: None))
    return np.concatenate(pieces).view("<u4").ravel()


def uniform(folder, choose):
    """Chi-square over all 24 orders of four reports, 960 draws: whether they look uniform."""
    stream, seen = Keystream.for_simulation(1), dict.fromkeys(permutations(range(4)), 0)
    for _ in range(960):
        seen[tuple(order(4, 2, 2, folder, stream, choose).tolist())] += 1
    statistic = sum((count - 40) ** 2 / 40 for count in seen.values())
    return statistic < chi2.isf(ALARM, 23)


@pytest.mark.parametrize("most", [100, 1])
def test_every_order_is_equally_likely(tmp_path, monkeypatch, most):
    """Also where buckets with more than one report are spread again. False alarm 1e-6. Wrong:
    the buckets follow the input, report by report or batch by batch."""
    monkeypatch.setattr(threads, "MOST_THREADS", 1)
    monkeypatch.setattr(passes, "FILES", 4)
    monkeypatch.setattr(passes, "SHUFFLE_BYTES", most * (passes.ORDER_BYTES + 8))
    assert uniform(tmp_path, spread)
    if most > 1:
        assert not uniform(tmp_path, by_input_order)
        assert not uniform(tmp_path, by_batch(10_000))


def test_a_place_tells_nothing_of_the_input(tmp_path):
    """20,000 numbered reports in 40 batches and 16 buckets: the correlation of the place in the
    output with the place in the input, times sqrt(n), is a standard normal number: 5 is exceeded
    once in 1.7 million times. Wrong: buckets by input order."""
    stream = Keystream.for_simulation(2)

    def score(choose):
        places = order(20_000, 40, 16, tmp_path, stream, choose)
        assert sorted(places) == list(range(20_000))
        return np.corrcoef(places, np.arange(20_000))[0, 1] * np.sqrt(20_000)

    assert abs(score(spread)) < 5
    assert score(by_batch(40)) > 5


def test_buckets_are_equally_likely():
    """160,000 reports in 16 buckets, chi-square at 1e-6. Wrong: a byte modulo 12 for 12 buckets,
    of which four get 22 of 256 reports and eight 21; such a number is refused."""

    def even(sizes):
        expected = sum(sizes) / len(sizes)
        statistic = sum((size - expected) ** 2 / expected for size in sizes)
        return statistic < chi2.isf(ALARM, len(sizes) - 1)

    packed = np.arange(160_000, dtype="<u4").view(np.uint8).reshape(-1, 4)
    parts = spread(packed, 16, Keystream.for_simulation(3))
    assert np.array_equal(np.sort(np.concatenate(parts).view("<u4").ravel()), np.arange(160_000))
    assert even(list(map(len, parts)))
    drawn = Keystream.for_simulation(3).words(20_000).view(np.uint8)
    assert not even(np.bincount(drawn % 12).tolist())
    with pytest.raises(AssertionError):
        spread(packed, 12, Keystream.for_simulation(3))


def test_branches_of_a_simulation_repeat_and_real_ones_do_not():
    one, other = (
        [branch(stream).words(2).tolist() for _ in range(2)]
        for stream in (Keystream.for_simulation(5), Keystream.for_simulation(5))
    )
    assert one == other and one[0] != one[1]
    real = Keystream.from_system()
    assert not branch(real).simulation
    assert branch(real).words(2).tolist() != branch(real).words(2).tolist()


# --- whole files -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plans():
    return {kind: plan_of(kind) for kind in KINDS}


@pytest.fixture(scope="module", params=["csv", "parquet"])
def answers(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / f"a.{request.param}"
    write = pa.csv.write_csv if request.param == "csv" else pa.parquet.write_table
    write(people(), path)
    return path


@pytest.fixture
def small(monkeypatch):
    """500 rows a batch, 16 buckets, 256 reports a row group."""
    monkeypatch.setattr(streaming, "BATCH_ROWS", 500)
    monkeypatch.setattr(passes, "FILES", 16)
    monkeypatch.setattr(collection, "group_rows", lambda width: 256)


def test_one_batch_gives_the_very_bytes_of_randomize(plans, answers, tmp_path):
    for kind in ("bits", "messages", "text"):
        made = plans[kind]
        table = load_answers(answers, made.survey)
        expected = incrowd.randomize(made, table, simulation_seed=7)
        written = randomize_files(made, answers, tmp_path / kind, simulation_seed=7)
        assert (written.rows, written.seed) == (ROWS, 7)
        assert written.reports == tuple(map(len, expected))
        for file, one in zip(written.files, expected, strict=True):
            found = collection.load_collection(file)
            assert np.array_equal(found.packed, one.packed) and found.id == one.id


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_message_keeps_its_law(plans, small, answers, tmp_path, kind):
    """Counts, headers and estimates; 5 standard errors, which one cell in 1.7 million exceeds.
    Wrong: the reports of the first batch alone."""
    made = plans[kind]
    written = randomize_files(made, answers, tmp_path / "out", simulation_seed=11)
    reports = incrowd.load_reports(tmp_path / "out")
    assert written.reports == tuple(map(len, reports))
    for message, one in zip(made.messages, reports, strict=True):
        assert (one.plan, one.bits, one.seed) == (made.digest, message.bits, 11)
        assert one.people == (ROWS if message.unlinked else None)
        assert message.unlinked or len(one) == ROWS * message.copies
    words = {"t": ["oslo", "paris"]} if kind == "text" else None
    found = incrowd.estimate(made, reports, candidates=words, accept_smaller_crowd=True)
    assert found.rejected == 0 and found.crowd == ROWS
    true = incrowd.truth(made, people(), tables=[table.questions for table in found.tables])
    for table, shares in zip(found.tables, true, strict=True):
        assert np.all(np.abs(table.estimate - shares) < 5 * table.standard_error)
    first = incrowd.randomize(made, people().slice(0, 500), simulation_seed=11)
    wrong = incrowd.estimate(made, first, accept_smaller_crowd=True)
    assert any(
        np.any(np.abs(table.estimate - shares) > 5 * table.standard_error)
        for table, shares in zip(wrong.tables, true, strict=True)
    )


def test_the_seed_alone_decides(plans, small, answers, tmp_path, monkeypatch):
    def written(name, seed, most_threads):
        monkeypatch.setattr(threads, "MOST_THREADS", most_threads)
        randomize_files(plans["messages"], answers, tmp_path / name, simulation_seed=seed)
        return [file.read_bytes() for file in sorted((tmp_path / name).iterdir())]

    first = written("first", 1, 1)
    assert written("again", 1, 4) == first
    assert written("other", 2, 1) != first
    assert written("real", None, 2) != written("real too", None, 2)


def row_groups(made, folder, answers):
    """How many reports of each row group have their first bit set, and how many have not."""
    written = randomize_files(made, answers, folder, simulation_seed=13)
    parts = list(incrowd.stream_reports(written.files[0]))
    assert [len(part) for part in parts] == [256] * (len(parts) - 1) + [len(parts[-1])]
    ones = np.array([int((part.packed[:, 0] & 1).sum()) for part in parts])
    return np.column_stack([ones, list(map(len, parts)) - ones])


def test_row_groups_tell_nothing_of_who_is_in_them(plans, small, answers, tmp_path, monkeypatch):
    """The first half of the people say yes; chi-square of homogeneity over 36 row groups at a
    false-alarm rate of 1e-6. Wrong: buckets by input order."""
    made = plans["bits"]
    assert chi2_contingency(row_groups(made, tmp_path / "r.parquet", answers)).pvalue > ALARM
    monkeypatch.setattr(passes, "spread", by_batch(10**6))
    assert chi2_contingency(row_groups(made, tmp_path / "w.parquet", answers)).pvalue < ALARM


def test_a_file_does_not_show_its_buckets(plans, small, answers, tmp_path):
    """It is to the byte the file of the same reports written at once."""
    made = plans["bits"]
    randomize_files(made, answers, tmp_path / "r.parquet", simulation_seed=17)
    (found,) = incrowd.load_reports(tmp_path / "r.parquet")
    incrowd.save_reports([found], tmp_path / "at once.parquet")
    written = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("r", "at once")]
    assert written[0] == written[1]


def test_too_large_buckets_are_spread_again(plans, small, answers, tmp_path, monkeypatch):
    made = plans["bits"]
    most = []
    real = passes._shuffle
    monkeypatch.setattr(passes, "_shuffle", lambda item: most.append(len(item[0])) or real(item))
    found = []
    for name, size in (("large", 5 << 26), ("little", 300 * (passes.ORDER_BYTES + 4))):
        monkeypatch.setattr(passes, "SHUFFLE_BYTES", size)
        most.clear()
        written = randomize_files(made, answers, tmp_path / f"{name}.parquet", simulation_seed=19)
        assert sum(most) == written.reports[0] == 3 * ROWS
        found.append(max(most))
        found.append(np.sort(incrowd.load_reports(written.files[0])[0].packed.view("<u2").ravel()))
    assert found[0] > 300 >= found[2]
    assert np.array_equal(found[1], found[3])


# --- what goes wrong -------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 499, 500, 1777, ROWS - 1])
def test_a_wrong_answer_is_named_by_its_row_in_the_file(plans, small, answers, tmp_path, row):
    """The rows before it are fine, and are not written."""
    columns = {name: column.to_pylist() for name, column in zip("abcd", people(), strict=False)}
    columns["b"][row] = "w"
    bad = tmp_path / answers.name
    write = pa.csv.write_csv if bad.suffix == ".csv" else pa.parquet.write_table
    write(pa.table(columns), bad)
    for kind, name in (("bits", "r.parquet"), ("messages", "folder")):
        with pytest.raises(AnswersError, match=rf"row {row + 1}, b: got 'w'; use one of x, y, z"):
            randomize_files(plans[kind], bad, tmp_path / name)
    assert list(tmp_path.iterdir()) == [bad]


def test_an_error_says_how_far_it_looked(plans, small, tmp_path):
    table = people().set_column(1, "b", pa.array(["x"] * 700 + ["w"] * (ROWS - 700)))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(AnswersError) as error:
        randomize_files(plans["bits"], tmp_path / "a.parquet", tmp_path / "r.parquet")
    said = str(error.value)
    assert "row 701, b" in said and "b: got 300; rows in all" in said
    assert "answers: got 'rows 1 to 1,000'" in said


def test_a_damaged_end_of_the_file(plans, small, tmp_path):
    """The reader meets it when some batches are done: the same error, and nothing written."""
    pa.csv.write_csv(people(20_000), tmp_path / "a.csv")
    with open(tmp_path / "a.csv", "a") as file:
        file.write("yes,x\n")
    with pytest.raises(AnswersError, match="cannot be read"):
        randomize_files(plans["bits"], tmp_path / "a.csv", tmp_path / "r.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("label", ["randomising", "shuffling"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "disk full")])
def test_interrupted_in_either_pass(plans, small, answers, tmp_path, label, error):
    """Nothing is left, and a file that was there before stays as it was."""

    @contextmanager
    def bar(shown, total):
        def advance(done):
            if shown.startswith(label):
                raise error

        yield advance

    (tmp_path / "r.parquet").write_text("before")
    for kind, name in (("bits", "r.parquet"), ("messages", "folder")):
        with pytest.raises((KeyboardInterrupt, MemoryError, UsageError)):
            randomize_files(plans[kind], answers, tmp_path / name, progress=bar)
    assert [file.name for file in tmp_path.iterdir()] == ["r.parquet"]
    assert (tmp_path / "r.parquet").read_text() == "before"


def test_outputs_that_cannot_be(plans, small, answers, tmp_path):
    for output in (tmp_path / "none" / "r.parquet", tmp_path / "folder" / "below"):
        (tmp_path / "folder").write_text("a file")
        with pytest.raises(UsageError, match=r"-o.*cannot be written"):
            randomize_files(plans["bits"], answers, output)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "message-1.parquet").write_text("reports")
    with pytest.raises(UsageError, match="holds reports already"):
        randomize_files(plans["messages"], answers, tmp_path / "full")


CHILD = """
import sys
from incrowd.sampling import streaming
streaming.BATCH_ROWS = 200
from incrowd.cli import main
main()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_interrupted_process_leaves_nothing(plans, tmp_path):
    """A real Ctrl-C while the buckets are being filled, whose files nobody else can see."""
    plan, answers, folder = tmp_path / "plan.json", tmp_path / "a.csv", tmp_path / "out"
    plan.write_text(plans["bits"].dumps())
    pa.csv.write_csv(people(300_000), answers)
    folder.mkdir()
    arguments = ["randomize", plan, answers, "-o", folder / "r.parquet"]
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while nameless_bytes(process.pid) < 10_000:
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    assert [file.stat().st_size for file in folder.iterdir()] == [0]  # a place for the output
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert list(folder.iterdir()) == []


def nameless_bytes(process):
    """How much the process has written to open files that have no name."""
    found = 0
    for file in Path(f"/proc/{process}/fd").iterdir():
        try:
            status = file.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            assert status.st_mode & 0o777 == 0o600
            found += status.st_size
    return found


# --- one row each, and devices ---------------------------------------------------------------


def test_ids_are_looked_at_over_the_whole_file(plans, small, tmp_path):
    """With ids everything is one batch: a row of the first id that comes 2,000 rows later."""
    made = plans["bits"]
    table = people().append_column("id", pa.array([f"p{row % 2000}" for row in range(ROWS)]))
    same = table.slice(0, 1000)
    pa.csv.write_csv(pa.concat_tables([table.slice(0, 2000), same]), tmp_path / "a.csv")
    written = randomize_files(
        made, tmp_path / "a.csv", tmp_path / "r.parquet", simulation_seed=3, id="id"
    )
    assert (written.rows, written.reports) == (3000, (3 * 2000,))
    pa.csv.write_csv(table, tmp_path / "b.csv")
    with pytest.raises(AnswersError, match="rows 1 and 2001: got 'p0'; is the id of both"):
        randomize_files(
            made, tmp_path / "b.csv", tmp_path / "s.parquet", simulation_seed=3, id="id"
        )


def test_permanent_responses_need_ids(small, tmp_path):
    randomizer = {"kind": "rappor", "f": 0.5, "memoised": True}
    question = {"id": "a", "type": "yesno", "randomizer": randomizer}
    raw = {"name": "m", "crowd": 1000, "privacy": {"epsilon": 8.0}, "question": [question]}
    made, key = incrowd.plan(incrowd.Survey.of(raw)), incrowd.DeviceKey(bytes(32))
    table = people().append_column("id", pa.array(range(ROWS)))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    arguments = (made, tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="device_key"):
        randomize_files(*arguments, tmp_path / "r.parquet")
    with pytest.raises(UsageError, match="id: is missing"):
        randomize_files(*arguments, tmp_path / "r.parquet", device_key=key)
    assert not (tmp_path / "r.parquet").exists()
    rounds = []
    for name in ("one", "two"):
        written = randomize_files(*arguments, tmp_path / name, id="id", device_key=key)
        rounds.append(incrowd.load_reports(written.files[0])[0].packed.sum())
    assert rounds[0] == rounds[1]


# --- the pieces ------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("rows", [1, 700, 3000, 5000])
def test_batches_are_the_file_in_pieces(plans, tmp_path, ending, rows):
    path, survey = tmp_path / f"a.{ending}", plans["bits"].survey
    if ending == "parquet":
        pa.parquet.write_table(people(), path, row_group_size=400)
    else:
        pa.csv.write_csv(people(), path)
        if ending == "csv.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    read = load_batches(path, survey, rows)
    tables, steps = zip(*read.tables, strict=True)
    assert [table.num_rows for table in tables[:-1]] == [rows] * (ROWS // rows - (ROWS % rows == 0))
    assert pa.concat_tables(tables).equals(load_answers(path, survey))
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
def test_a_wrong_file_gives_the_error_of_a_whole_one(plans, tmp_path, name, content):
    survey = plans["bits"].survey
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AnswersError) as whole:
        load_answers(tmp_path / name, survey)
    with pytest.raises(AnswersError) as batches:
        list(load_batches(tmp_path / name, survey, 10).tables)
    source = f"Could not open Parquet input source '{tmp_path / name}': "
    assert str(batches.value) == str(whole.value).replace(source, "")


def test_no_file_at_all(plans, tmp_path):
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(AnswersError, match="No such file"):
            load_batches(path, plans["bits"].survey, 10)
    with pytest.raises(AnswersError):
        list(load_batches(tmp_path, plans["bits"].survey, 10).tables)


def test_an_empty_parquet_file(plans, tmp_path):
    pa.parquet.write_table(people().slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(AnswersError, match="no rows"):
        randomize_files(plans["bits"], tmp_path / "a.parquet", tmp_path / "r.parquet")


def test_batches_are_smaller_where_people_send_more(plans):
    """A byte for each bit of each copy: 10 bits three times; three bits apart are numbers."""
    assert batch_rows(plans["messages"]) == streaming.BATCH_ROWS
    wide = plans["bits"].model_copy(
        update={"messages": (plans["bits"].messages[0].model_copy(update={"copies": 10_000}),)}
    )
    assert batch_rows(wide) == streaming.BATCH_BYTES // (10 * 10_000)


@given(st.lists(st.integers(0, 50)), st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_regrouped_keeps_the_rows_and_their_order(sizes, rows):
    all_rows = np.arange(2 * sum(sizes), dtype=np.uint8).reshape(-1, 2)
    pieces = np.split(all_rows, np.cumsum(sizes)[:-1]) if sizes else []
    found = list(regrouped(pieces, rows))
    assert all(len(piece) == rows for piece in found[:-1])
    assert all(0 < len(piece) <= rows for piece in found)
    assert np.array_equal(np.concatenate([all_rows[:0], *found]), all_rows)


@given(st.lists(st.integers(0, 40), max_size=5), st.integers(1, 9), st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_a_bucket_gives_back_what_it_got(sizes, width, most):
    rng = np.random.default_rng(1)
    pieces = [rng.integers(0, 256, (size, width), np.uint8) for size in sizes]
    bucket = Bucket(Path(tempfile.gettempdir()), width)
    for piece in pieces:
        bucket.add(piece)
    assert len(bucket) == sum(sizes)
    taken = list(bucket.take(most))
    assert all(len(piece) <= most for piece in taken)
    empty = np.empty((0, width), np.uint8)
    assert np.array_equal(np.concatenate([empty, *taken]), np.concatenate([empty, *pieces]))
    bucket.close()


def test_no_reports_are_a_file_as_well(tmp_path):
    header = Collection("plan", 0, 12, np.empty((0, 2), np.uint8), id="id")
    write_reports(header, [], tmp_path / "r.parquet")
    found = collection.load_collection(tmp_path / "r.parquet")
    assert len(found) == 0 and found.packed.shape == (0, 2)


def test_work_is_taken_in_order_and_not_far_ahead(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    drawn = []

    def items():
        for number in range(20):
            drawn.append(number)
            yield number

    def work(number):
        time.sleep(0.01 * (number % 3))
        return number

    for number, found in enumerate(in_order(work, items())):
        assert found == number and len(drawn) <= number + 3
    assert number == 19


def test_work_that_fails_stops_the_rest():
    done = []

    def work(number):
        if number == 3:
            raise ValueError(number)
        done.append(number)

    with pytest.raises(ValueError, match="3"):
        list(in_order(work, range(1000)))
    assert len(done) < 20


def test_the_progress_bars_know_their_totals(plans, small, answers, tmp_path):
    shown = []

    @contextmanager
    def bar(label, total):
        steps = []
        yield steps.append
        shown.append((label, total, sum(steps)))

    randomize_files(plans["messages"], answers, tmp_path / "out", progress=bar)
    size, unit = answers.stat().st_size, "bytes"
    if answers.suffix == ".parquet":
        size, unit = ROWS, "rows"
    reports = sum(len(part) for part in incrowd.load_reports(tmp_path / "out"))
    assert shown == [
        (f"randomising, {unit}", size, size),
        ("shuffling, reports", reports, reports),
    ]


MEMORY = """
import sys
from pathlib import Path
from incrowd import Plan
from incrowd.sampling import passes
from incrowd.workflow.randomize import randomize_files
passes.SHUFFLE_BYTES = 1 << 24
randomize_files(Plan.load(sys.argv[1]), sys.argv[2], Path(sys.argv[2]).with_name("r.parquet"))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_file(plans, tmp_path):
    """Peak memory of a process, in MB: 6 million rows take at most 150 more than 1 million. If
    the reports and their permutation were held, it would be some 500."""
    (tmp_path / "plan.json").write_text(plans["bits"].dumps())
    peaks = []
    for rows in (1_000_000, 6_000_000):
        pa.parquet.write_table(people(rows), tmp_path / "a.parquet")
        command = [sys.executable, "-c", MEMORY, tmp_path / "plan.json", tmp_path / "a.parquet"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 150, peaks
