"""Counting on Spark: the tally of one process, also when machines are lost in the middle.

What needs Spark is marked `spark` and runs on a cluster of two workers on this machine; the work
of a single partition is tested without it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import reduce
from operator import add
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import ReportsError, UsageError
from incrowd.estimation.estimate import count_on_spark
from incrowd.reports import collection, spark
from incrowd.reports.collection import Collection, row_groups
from incrowd.reports.tally import Tally
from incrowd.reports.tally_files import as_text, of_text
from tests.conftest import KINDS, one_in, people, plan_of

on_spark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
PEOPLE = 2500
CLUSTER = "local-cluster[2,1,1024]"


def same(one, other):
    """Whether two tallies are equal, to the last count."""
    plain = [json.loads(as_text(tally)) for tally in (one, other)]
    for data in plain:
        for message in data["messages"].values():
            message["tables"] = sorted(message["tables"], key=lambda table: table["questions"])
    return plain[0] == plain[1]


@pytest.fixture(scope="module")
def plans():
    return {kind: plan_of(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def reports(plans, tmp_path_factory):
    """Reports of every kind, 200 in a row group, in a folder whose name has to be quoted."""
    folder = tmp_path_factory.mktemp("reports") / "all [of] them, *.parquet"
    folder.mkdir()
    usual, collection.group_rows = collection.group_rows, lambda width: 200
    for seed, (kind, plan) in enumerate(plans.items()):
        made = incrowd.randomize(plan, people(PEOPLE), simulation_seed=seed)
        incrowd.save_reports(made, folder / (kind if len(made) > 1 else f"{kind}.parquet"))
    collection.group_rows = usual
    return {kind: next(folder.glob(f"{kind}*")) for kind in plans}


def expected(plan, path, kind="singles"):
    return incrowd.count(plan, incrowd.stream_reports(path), kind=kind)


# --- one partition, without Spark ------------------------------------------------------------


def tallies(batches):
    return [of_text(text.decode()) for batch in batches for text in batch["tally"].to_pylist()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", one_in(3, list(KINDS)))
def test_places_shared_out_in_any_way_give_one_tally(plans, reports, kind):
    """Three partitions, one of them empty; a partition that comes twice is refused."""
    plan, path = plans[kind], reports[kind]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    places = [(str(file), number) for file in files for number in range(row_groups(file))]
    whole = expected(plan, path)
    nothing = Tally(plan.digest, whole.tables)
    numbers = np.random.default_rng(1).permutation(len(places))
    found = []
    for part in (numbers[:5], numbers[:0], numbers[5:]):
        batches = [pa.RecordBatch.from_pydict({"id": half}) for half in np.array_split(part, 2)]
        found += tallies(spark._count_places(plan, nothing, places, iter(batches)))
    assert same(reduce(add, found), whole)
    with pytest.raises(ReportsError, match="occur twice"):
        reduce(add, [*found, found[0]])


def without(monkeypatch, *modules):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def pretend(monkeypatch, **names):
    """Modules of Spark that hold nothing but the given names."""
    for module in ("py4j", "py4j.protocol", "pyspark", "pyspark.errors", "pyspark.sql"):
        made = ModuleType(module)
        for name, value in names.items():
            setattr(made, name, value)
        monkeypatch.setitem(sys.modules, module, made)


def test_a_missing_extra_is_named(monkeypatch):
    without(monkeypatch, "pyspark", "pyspark.sql", "pyspark.errors", "py4j", "py4j.protocol")
    with pytest.raises(
        UsageError, match=r'engine: needs .* not installed; install "incrowd\[spark\]"'
    ):
        next(spark.started().gen)


def test_missing_java_is_named(monkeypatch, tmp_path):
    pretend(monkeypatch, Py4JError=OSError, PySparkException=ValueError, SparkSession=None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs Java 17"):
        next(spark.started().gen)


def test_an_unknown_engine_is_refused(plans, reports, tmp_path):
    (tmp_path / "plan.json").write_text(plans["bits"].dumps())
    done = command("estimate", tmp_path / "plan.json", reports["bits"], "--engine", "sparks")
    assert done.returncode == 2
    assert "--engine: got 'sparks'; use one of here, spark" in done.stderr


def test_what_went_wrong_is_said_without_traces():
    error = ValueError(
        "Job aborted\n  File x\nincrowd.errors.ReportsError: reports: got 1; no\n at"
    )
    assert spark._reason(error) == "reports: got 1; no"
    assert spark._reason(ValueError("Job aborted\n  at")) == "Job aborted"
    assert spark._reason(ValueError("It was\nTrace\nKeyError: 'a'\n  at")) == "KeyError: 'a'"
    assert spark._reason(ValueError()) == "ValueError"


def command(*arguments):
    child = [sys.executable, "-c", "from incrowd.cli import main; main()", *map(str, arguments)]
    return subprocess.run(child, capture_output=True, text=True, timeout=300)


# --- on two workers --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Two workers with an executor each; what they write goes to a folder of the test."""
    import pyspark

    home = tmp_path_factory.mktemp("spark")
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(home)
    try:
        with spark.started(CLUSTER) as found:
            yield found
    finally:
        os.environ.pop("SPARK_HOME")
        if before is not None:
            os.environ["SPARK_HOME"] = before


class TestCluster:
    pytestmark = on_spark

    @pytest.mark.parametrize("kind", list(KINDS))
    def test_files_give_the_tally_of_one_process(self, session, plans, reports, kind):
        plan, path = plans[kind], reports[kind]
        for counts in ("singles", "pairs"):
            whole = expected(plan, path, counts)
            assert same(spark.count_files(plan, session, [path], whole.tables, counts), whole)

    def test_one_session_at_a_time(self, session, plans, reports):
        with pytest.raises(UsageError, match="another Spark session is running"):
            count_on_spark(plans["bits"], [reports["bits"]])

    def test_wrong_files_are_refused(self, session, plans, reports, tmp_path):
        plan, path = plans["bits"], reports["bits"]
        wanted = plan.survey.wanted
        with pytest.raises(ReportsError, match="occur twice"):
            spark.count_files(plan, session, [path, path], wanted)
        with pytest.raises(ReportsError, match="another plan"):
            spark.count_files(plans["text"], session, [path], wanted)
        with pytest.raises(ReportsError, match="No such file"):
            spark.count_files(plan, session, [tmp_path / "none.parquet"], wanted)

    def test_a_file_that_is_lost_on_the_way(self, session, plans, reports, tmp_path):
        """Its end is there when the driver looks, its reports are not when a worker comes."""
        plan, path = plans["bits"], tmp_path / "r.parquet"
        places = [(str(path), 0)]
        work = spark.partial(spark._count_places, plan, Tally(plan.digest, ()), places)
        with pytest.raises(ReportsError, match=r"could not be counted: reports: got .*r\.parquet"):
            spark._collected(session.range(1), work)

    def test_a_lost_worker_changes_nothing(self, session, plans, tmp_path, monkeypatch):
        """One of two executors is killed while it counts. 60 row groups in four tasks, each of
        which is slow. Wrong: what tasks leave behind when they begin, added up."""
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # no worker finds this file
        plan, begun, file = plans["bits"], tmp_path / "begun", tmp_path / "r.parquet"
        begun.mkdir()
        monkeypatch.setattr(collection, "group_rows", lambda width: 500)
        packed = np.concatenate([packed_of(number) for number in range(30)])
        made = Collection(plan.digest, 0, plan.messages[0].bits, packed, id="y")
        incrowd.save_reports([made], file)
        count_places = spark._count_places

        def slow(plan, nothing, places, batches):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    Path(begun, f"{time.time_ns()} {number} {os.getpid()}").touch()
                    time.sleep(0.1)
                    one = pa.RecordBatch.from_pydict({"id": [number]})
                    yield from count_places(plan, nothing, places, iter([one]))

        monkeypatch.setattr(spark, "_count_places", slow)
        killer = Killer(session, begun)
        found = spark.count_files(plan, session, [file], plan.survey.wanted)
        assert killer.killed()
        whole = expected(plan, file)
        assert len(whole.parts) == 60 and same(found, whole)
        numbers = [int(path.name.split()[1]) for path in begun.iterdir()]
        assert len(numbers) > 60 and set(numbers) == set(range(60))


def packed_of(number):
    """1000 reports of ten bits that belong to a number."""
    packed = np.random.default_rng(number).integers(0, 256, (1000, 2), np.uint8)
    packed[:, 1] &= 3
    return packed


def stages(session):
    tracker = session.sparkContext.statusTracker()
    return list(filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())))


class Killer(threading.Thread):
    """Kills an executor in the middle of a task, as a power failure would: that of the worker
    which began the sixth row group, of the fifteen in its task."""

    def __init__(self, session, begun):
        super().__init__(daemon=True)
        self.session, self.begun, self.victim, self.busy = session, begun, None, False
        self.start()

    def run(self):
        limit = time.monotonic() + 120
        while len(names := sorted(path.name for path in self.begun.iterdir())) < 6:
            if time.monotonic() > limit:
                return
            time.sleep(0.01)
        self.victim = executor_of(int(names[-1].split()[2]), executors(self.session))
        self.busy = bool(stages(self.session))
        os.kill(self.victim, signal.SIGKILL)

    def killed(self):
        """Whether an executor was there while the session was at work, and is gone."""
        self.join(120)
        limit = time.monotonic() + 30
        while self.victim in executors(self.session) and time.monotonic() < limit:
            time.sleep(0.1)
        return self.busy and self.victim not in executors(self.session)


def executor_of(process, executors):
    """The executor that started this process, or that started its parent, and so on."""
    while process not in executors:
        process = int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(process)], text=True))
    return process


def executors(session):
    """The processes of executors that this session's Java process started."""
    java = session.sparkContext._gateway.proc.pid
    found = []
    for line in subprocess.check_output(["ps", "-wweo", "pid,ppid,args"], text=True).splitlines()[
        1:
    ]:
        pid, parent, args = line.split(None, 2)
        if int(parent) == java and "CoarseGrainedExecutorBackend" in args:
            found.append(int(pid))
    return found


@pytest.mark.slow
@pytest.mark.spark
def test_the_command_line_gives_the_same_estimates(plans, reports, tmp_path):
    """Its own process on this machine; with a tally that was made before."""
    plan, text = tmp_path / "plan.json", plans["messages"]
    plan.write_text(text.dumps())
    files = sorted(reports["messages"].iterdir())
    assert command("tally", plan, files[0], "-o", tmp_path / "t.json").returncode == 0
    here = command("estimate", plan, *files, "--json")
    there = command(
        *("estimate", plan, tmp_path / "t.json", files[1], "--json"),
        *("--engine", "spark", "--master", "local[1]"),
    )
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout) == json.loads(here.stdout)


@pytest.mark.slow
@pytest.mark.spark
def test_a_master_that_is_none(plans, reports, tmp_path):
    (tmp_path / "plan.json").write_text(plans["bits"].dumps())
    arguments = ("estimate", tmp_path / "plan.json", reports["bits"], "--engine", "spark")
    done = command(*arguments, "--master", "nowhere")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "--master: got 'nowhere'; Spark does not start" in done.stderr
