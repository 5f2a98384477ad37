"""Answers that do not fit in memory: one uniform order, the same law, nothing left behind.

Batches, buckets and row groups are made small, so that little data takes every path. Statistical
tests use fixed seeds; each states how often it would fail by chance, and rejects a wrong variant.
"""

import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.stats import chi2_contingency

import incrowd
from incrowd.encoding.answers import load_answers
from incrowd.errors import AnswersError, UsageError
from incrowd.kernels import threads
from incrowd.reports import collection
from incrowd.sampling import shuffle, streaming
from incrowd.sampling.randomize import randomize_files
from incrowd.sampling.streaming import batch_rows
from tests.conftest import KINDS, one_in, people, slowly
from tests.sampling.conftest import by_batch

ALARM = 1e-6
ROWS = 3000


# --- whole files -----------------------------------------------------------------------------


@pytest.mark.parametrize("answers_file", [*slowly("csv"), "parquet"], indirect=True)
def test_one_batch_gives_the_very_bytes_of_randomize(plans, answers_file, tmp_path):
    for kind in ("bits", "messages", "text"):
        made = plans[kind]
        table = load_answers(answers_file, made.survey)
        expected = incrowd.randomize(made, table, simulation_seed=7)
        written = randomize_files(made, answers_file, tmp_path / kind, simulation_seed=7)
        assert (written.rows, written.seed) == (ROWS, 7)
        assert written.reports == tuple(map(len, expected))
        for file, one in zip(written.files, expected, strict=True):
            found = collection.load_collection(file)
            assert np.array_equal(found.packed, one.packed) and found.id == one.id


@pytest.mark.parametrize("kind", one_in(2, list(KINDS)))
def test_every_kind_of_message_keeps_its_law(plans, small_batches, answers_file, tmp_path, kind):
    """Counts, headers and estimates; 5 standard errors, which one cell in 1.7 million exceeds.
    Wrong: the reports of the first batch alone."""
    made = plans[kind]
    written = randomize_files(made, answers_file, tmp_path / "out", simulation_seed=11)
    reports = incrowd.load_reports(tmp_path / "out")
    assert written.reports == tuple(map(len, reports))
    for message, one in zip(made.messages, reports, strict=True):
        assert (one.plan, one.bits, one.seed) == (made.digest, message.bits, 11)
        assert one.people == (ROWS if message.cells else None)
        assert message.cells or len(one) == ROWS * message.copies
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


def test_the_seed_alone_decides(plans, small_batches, answers_file, tmp_path, monkeypatch):
    def written(name, seed, most_threads):
        monkeypatch.setattr(threads, "MOST_THREADS", most_threads)
        randomize_files(plans["messages"], answers_file, tmp_path / name, simulation_seed=seed)
        return [file.read_bytes() for file in sorted((tmp_path / name).iterdir())]

    first = written("first", 1, 1)
    assert written("again", 1, 4) == first
    assert written("other", 2, 1) != first
    assert written("real", None, 2) != written("real too", None, 2)


def row_groups(made, folder, answers_file):
    """How many reports of each row group have their first bit set, and how many have not."""
    written = randomize_files(made, answers_file, folder, simulation_seed=13)
    parts = list(incrowd.stream_reports(written.files[0]))
    assert [len(part) for part in parts] == [256] * (len(parts) - 1) + [len(parts[-1])]
    ones = np.array([int((part.packed[:, 0] & 1).sum()) for part in parts])
    return np.column_stack([ones, list(map(len, parts)) - ones])


def test_row_groups_tell_nothing_of_who_is_in_them(
    plans, small_batches, answers_file, tmp_path, monkeypatch
):
    """The first half of the people say yes; chi-square of homogeneity over 36 row groups at a
    false-alarm rate of 1e-6. Wrong: buckets by input order."""
    made = plans["bits"]
    assert chi2_contingency(row_groups(made, tmp_path / "r.parquet", answers_file)).pvalue > ALARM
    monkeypatch.setattr(shuffle, "spread", by_batch(10**6))
    assert chi2_contingency(row_groups(made, tmp_path / "w.parquet", answers_file)).pvalue < ALARM


def test_a_file_does_not_show_its_buckets(plans, small_batches, answers_file, tmp_path):
    """It is to the byte the file of the same reports written at once."""
    made = plans["bits"]
    randomize_files(made, answers_file, tmp_path / "r.parquet", simulation_seed=17)
    (found,) = incrowd.load_reports(tmp_path / "r.parquet")
    incrowd.save_reports([found], tmp_path / "at once.parquet")
    written = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("r", "at once")]
    assert written[0] == written[1]


def test_too_large_buckets_are_spread_again(
    plans, small_batches, answers_file, tmp_path, monkeypatch
):
    made = plans["bits"]
    most = []
    real = shuffle._shuffle
    monkeypatch.setattr(shuffle, "_shuffle", lambda item: most.append(len(item[0])) or real(item))
    found = []
    for name, size in (("large", 5 << 26), ("little", 300 * (shuffle.ORDER_BYTES + 4))):
        monkeypatch.setattr(shuffle, "SHUFFLE_BYTES", size)
        most.clear()
        written = randomize_files(
            made, answers_file, tmp_path / f"{name}.parquet", simulation_seed=19
        )
        assert sum(most) == written.reports[0] == 3 * ROWS
        found.append(max(most))
        found.append(np.sort(incrowd.load_reports(written.files[0])[0].packed.view("<u2").ravel()))
    assert found[0] > 300 >= found[2]
    assert np.array_equal(found[1], found[3])


# --- one row each, and devices ---------------------------------------------------------------


def test_ids_are_looked_at_over_the_whole_file(plans, small_batches, tmp_path):
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
    with pytest.raises(AnswersError, match="row 2,001: got 'p0'; it is also the id of row 1"):
        randomize_files(
            made, tmp_path / "b.csv", tmp_path / "s.parquet", simulation_seed=3, id="id"
        )


@pytest.mark.slow
def test_permanent_responses_need_ids(small_batches, tmp_path):
    randomizer = {"kind": "rappor", "f": 0.5, "memoized": True}
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


def test_the_progress_bars_know_their_totals(plans, small_batches, answers_file, tmp_path):
    shown = []

    @contextmanager
    def bar(label, total):
        steps = []
        yield steps.append
        shown.append((label, total, sum(steps)))

    randomize_files(plans["messages"], answers_file, tmp_path / "out", progress=bar)
    size, unit = answers_file.stat().st_size, "bytes"
    if answers_file.suffix == ".parquet":
        size, unit = ROWS, "rows"
    reports = sum(len(part) for part in incrowd.load_reports(tmp_path / "out"))
    assert shown == [
        (f"randomizing, {unit}", size, size),
        ("shuffling, reports", reports, reports),
    ]


MEMORY = """
import sys
from pathlib import Path
from incrowd import Plan
from incrowd.sampling import shuffle
from incrowd.sampling.randomize import randomize_files
shuffle.SHUFFLE_BYTES = 1 << 24
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
