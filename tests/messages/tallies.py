"""What is said of files of reports, of tallies, and of what counts them."""

import json
import os
import sys
from dataclasses import replace
from types import ModuleType
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import incrowd
from incrowd.files import replaced
from incrowd.plans.digests import digest_of, sealed
from incrowd.presentation.write import check_ending
from incrowd.reports import spark
from incrowd.reports.collection import DIGEST, NAME, write_reports
from incrowd.reports.locking import locked
from incrowd.reports.moments import histogram
from incrowd.reports.tally_files import as_text, load_tally, of_text
from tests.messages.shared import file, made, reports, reports_file
from tests.oracles.releases import stated_release
from tests.oracles.service_plans import plan_of, survey_of


def counted(kind="bits", **options):
    return incrowd.count(made(kind), reports(kind), **options)


def count(kind="bits", **changed):
    """Reports that say something else of themselves."""
    return lambda _: incrowd.count(made(kind), [replace(next(iter(reports(kind))), **changed)])


def together(*releases):
    """Reports of several releases."""

    def call(_):
        one = next(iter(reports("bits")))
        each = [replace(one, id=str(n), release=release) for n, release in enumerate(releases)]
        incrowd.count(made("bits"), each)

    return call


def rewritten(folder, change, group=None):
    """A file of reports, written again by something else."""
    path = reports_file(folder)
    table = pa.parquet.read_table(path)
    said = dict(pa.parquet.ParquetFile(path).metadata.metadata)
    said = {k.decode(): v.decode() for k, v in said.items() if k.startswith(NAME.encode())}
    table = (change(table, said) or table).replace_schema_metadata(None)
    with pa.parquet.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table, group or len(table))
        writer.add_key_value_metadata(said)
    return path


def sealed_again(**changed):
    """A file of reports with something that cannot be, and a digest that fits it."""

    def change(_, said):
        said.update({NAME + key: value for key, value in changed.items()})
        said[DIGEST] = digest_of({key: value for key, value in said.items() if key != DIGEST})

    return lambda folder: incrowd.load_reports(rewritten(folder, change))


def with_other_bytes(folder):
    """A file of which one byte of the reports was changed."""
    path = reports_file(folder)
    content, body = bytearray(path.read_bytes()), reports()[0].packed.tobytes()
    content[content.index(body[:64]) + 5] ^= 1
    for _ in incrowd.stream_reports(file(folder, "bits.parquet", bytes(content)), check=True):
        pass


def large_row_group(folder):
    with mock.patch("incrowd.reports.collection.GROUP_BYTES", 64):
        return incrowd.load_reports(reports_file_written_before(folder))


def reports_file_written_before(folder):
    with mock.patch("incrowd.reports.collection.GROUP_BYTES", 1 << 20):
        path = folder / "bits.parquet"
        write_reports(reports()[0], [reports()[0].packed], path)
        return path


def tally(change, kind="bits", **options):
    """A tally with impossible counts."""

    def call(_):
        return incrowd.estimate(made(kind), change(counted(kind, **options)))

    return call


def message(**changed):
    def change(tally):
        number, counts = next(iter(tally.messages.items()))
        return replace(tally, messages={number: replace(counts, **changed)})

    return change


def table(ids, change):
    def changed(tally):
        counts = tally.messages[0]
        tables = {**counts.tables, ids: change(counts.tables[ids].copy())}
        return replace(tally, messages={0: replace(counts, tables=tables)})

    return changed


def more_of_one_answer(counts):
    counts.flat[1] += 1
    return counts


def stated(counts):
    """Counts of a million people."""
    counts[0] = 10**6
    return counts


def tally_text(change):
    def call(_):
        data = json.loads(as_text(counted()))
        del data["digest"]
        change(data)
        return of_text(json.dumps(sealed(data)))

    return call


def engine(**names):
    """Modules of Spark that hold nothing but the given names."""
    found = {}
    for module in ("py4j", "py4j.protocol", "pyspark", "pyspark.errors", "pyspark.sql"):
        found[module] = ModuleType(module)
        vars(found[module]).update(names)
    return mock.patch.dict(sys.modules, found)


class Session:
    """A session that does not start, or runs already."""

    builder = mock.MagicMock()
    running = None

    @classmethod
    def getActiveSession(cls):
        return cls.running


NAMES = {"Py4JError": ConnectionError, "PySparkException": ArithmeticError}


def start(running=None, **environment):
    def call(_):
        Session.running = running
        Session.builder.appName().config().master().getOrCreate.side_effect = ArithmeticError("no")
        places = {"JAVA_HOME": "", **environment}
        java = mock.patch("shutil.which", lambda _: environment.get("JAVA_HOME"))
        with engine(SparkSession=Session, **NAMES), mock.patch.dict(os.environ, places), java:
            next(spark.started("local").gen)

    return call


def without_spark(_):
    with mock.patch.dict(sys.modules, {"py4j": None, "py4j.protocol": None, "pyspark": None}):
        next(spark.started("local").gen)


def failing(_):
    """A computation that a worker does not finish."""
    frame = mock.MagicMock()
    frame.mapInArrow().toArrow.side_effect = ArithmeticError("Job aborted\n  at x")
    with engine(**NAMES):
        spark._collected(frame, None)


def losing_a_part(folder):
    session = mock.MagicMock()
    session.sparkContext.defaultParallelism = 2
    with mock.patch.object(spark, "_collected", lambda *_: []):
        spark.count_files(made(), session, [reports_file(folder)], [])


def busy(folder):
    path = file(folder, "ledger.json")
    with locked(path), locked(path, patience=0):
        pass


def published(**changed):
    """Counts of a data owner that say something else of themselves."""

    def call(_):
        answers = pa.table({"smokes": ["yes"] * 12, "team": ["a"] * 12})
        (counts,) = incrowd.randomize(PUBLISHED, answers, simulation_seed=1)
        return incrowd.count(PUBLISHED, replace(counts, **changed))

    return call


PUBLISHED = plan_of(survey_of())
CASES = {
    "counts without their noise": published(draws=0),
    "counts of fewer cells": published(packed=np.zeros((2, 8), np.uint8)),
    "an unknown kind of counts": lambda _: incrowd.count(made(), reports(), kind="triples"),
    "no file of reports": lambda folder: incrowd.load_reports(folder / "none.parquet"),
    "reports that are none": lambda folder: incrowd.load_reports(file(folder, "r.parquet", "abc")),
    "a file of another table": lambda folder: incrowd.load_reports(
        rewritten(folder, lambda table, _: table.rename_columns(["id"]))
    ),
    "a folder without reports": lambda folder: incrowd.load_reports(folder),
    "reports that say something else": lambda folder: incrowd.load_reports(
        rewritten(folder, lambda _, said: said.update({NAME + "people": "5"}))
    ),
    "reports with other bytes": with_other_bytes,
    "reports in a large row group": large_row_group,
    "reports of another format": sealed_again(format="incrowd reports 9"),
    "reports of other persons": sealed_again(persons="pets"),
    "reports of fewer than no people": sealed_again(people="-1"),
    "no reports to write": lambda folder: incrowd.save_reports([], folder / "r.parquet"),
    "a folder that holds reports": lambda folder: incrowd.save_reports(
        reports(), reports_file(folder).parent
    ),
    "a folder that is a file": lambda folder: incrowd.save_reports(
        reports("messages"), file(folder, "file")
    ),
    "a file in no folder": lambda folder: incrowd.save_reports(
        reports(), folder / "no" / "r.parquet"
    ),
    "a file that is a folder": lambda folder: replaced(folder).__enter__(),
    "a file with another ending": lambda folder: check_ending(folder / "page.pdf"),
    "a lock in no folder": lambda folder: locked(folder / "none" / "ledger").__enter__(),
    "a file that another command writes": busy,
    "reports of another plan": count(plan="0" * 64),
    "reports of another message": count(message=7),
    "reports of other bits": count(bits=3),
    "cells of unknown people": count("cells", people=None),
    "a tally of another plan": tally(lambda tally: replace(tally, plan="0" * 64)),
    "a tally of another message": tally(
        lambda tally: replace(tally, messages={7: tally.messages[0]})
    ),
    "a tally of fewer than no reports": tally(message(rejected=-1)),
    "a tally without its tables": tally(message(tables={})),
    "a tally of another shape": tally(table(("b",), lambda counts: counts[:2])),
    "a tally of other numbers": tally(message(accepted=17)),
    "a tally whose tables differ": tally(
        table(("a",), more_of_one_answer), tables=[["a"], ["a", "b"]]
    ),
    "a tally of too many people": tally(
        lambda tally: table(("b",), stated)(message(declared=10**6)(tally)), "cells"
    ),
    "a tally of other tables": lambda _: counted() + counted(tables=[["a"]]),
    "a part that comes twice": lambda _: counted() + counted(),
    "two releases of a stratum": together(stated_release("one"), stated_release("two")),
    "two versions of a release": together(
        stated_release("one", people=5), stated_release("one", people=6)
    ),
    "no file of a tally": lambda folder: load_tally(folder / "none.json"),
    "a tally that is no text": lambda folder: load_tally(file(folder, "t.json", b"\xff")),
    "a tally of something else": lambda _: of_text("{}"),
    "a tally of another format": tally_text(lambda data: data.update(format="incrowd tally 9")),
    "a tally of no counts": tally_text(
        lambda data: data["messages"]["0"]["tables"][0].update(counts=[0.5])
    ),
    "a tally with another digest": lambda _: of_text(
        as_text(counted()).replace('"digest": "', '"digest": "0')
    ),
    "a histogram of many bits": lambda _: histogram(np.zeros((1, 3), np.uint8), [slice(0, 21)]),
    "no Spark": without_spark,
    "no Java": start(),
    "another Spark session": start(running=True, JAVA_HOME="/java"),
    "Spark that does not start": start(JAVA_HOME="/java"),
    "a computation of Spark that fails": failing,
    "a part that Spark loses": losing_a_part,
}
