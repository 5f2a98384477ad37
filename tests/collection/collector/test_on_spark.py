"""Opening on Spark: what one machine opens; a single task without Spark."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import incrowd
from incrowd.collection.collector import on_spark
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.on_spark import RowRange, SealedRelease
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import release_kind
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ReportsError
from incrowd.estimation.estimate import count, count_on_spark
from incrowd.reports.collection import load_collection
from incrowd.reports.spark import started
from incrowd.reports.tally_files import as_text
from tests.collection.collector.conftest import (
    INVITED,
    PEOPLE,
    PLAN,
    RECEIVER,
    Session,
    release,
)
from tests.oracles import mixers

MESSAGES = range(len(INVITED.plan.messages))


@pytest.fixture
def mixed(sealed):
    """One is damaged, and one stands there twice."""
    broken = sealed[3][:-1] + bytes([sealed[3][-1] ^ 1])
    return [*sealed[:3], broken, *sealed[4:-1], sealed[0]]


@pytest.fixture
def told(keyed, mixed, tmp_path):
    path = tmp_path / "0.release"
    path.write_bytes(release(mixed))
    _, start = Signed.parse(Header, path.read_bytes())
    return SealedRelease(str(path), start, INVITED.encoded, str(keyed.private), 0)


def opened(told, folder, **engine):
    path, bundle = Path(told.release), Bundle.parse(told.bundle)
    signed, start = Signed.parse(release_kind(bundle), path.read_bytes())
    private = RECEIVER if told.bundle == INVITED.encoded else mixers.COLLECTOR_KEY
    return open_release(path, start, signed, bundle, private, folder, workers=1, **engine)


@pytest.fixture
def told_of_two_mixers(tmp_path):
    """A stratum that is not the first; one report has no token, and one stands there twice."""
    bundle = mixers.bundle(strata=("north", "south"), second=mixers.SECOND_CLASSICAL)
    sent = [mixers.upload(bundle, mixers.person(bundle, n), stratum=1) for n in range(PEOPLE)]
    signed, _ = mixers.batch(bundle, sent)
    rows = mixers.opened(bundle, sent, 1, mixers.SECOND_CLASSICAL)
    rows[3] = replace(rows[3], token=bytes(256))
    rows[-1] = next(each for each in rows if each.message == rows[-1].message)
    header, body = mixers.release(bundle, rows, signed, stratum=1)
    path, key = tmp_path / "1.release", tmp_path / "collector.key"
    path.write_bytes(header.encoded + body)
    key.write_bytes(mixers.COLLECTOR_KEY.secret)
    return SealedRelease(str(path), len(header.encoded), bundle.encoded, str(key), 1)


def reports(folder):
    """The reports of each message, sorted: their order is new each time."""
    files = [folder / f"message-{message + 1}.parquet" for message in MESSAGES]
    return [sorted(map(bytes, load_collection(file).packed)) for file in files]


def facts(receipt):
    """All but the random names, and the digests of files that hold these."""
    return receipt.model_dump(exclude={"messages"}), [each.reports for each in receipt.messages]


def same(told, one, other, tmp_path):
    found = [facts(each) for each in (one, other)]
    return found[0] == found[1] and reports(tmp_path / "here") == reports(tmp_path / "there")


@pytest.fixture
def in_arrow(monkeypatch):
    """Without Spark and Java: only what a frame does is needed."""
    monkeypatch.setattr(
        on_spark,
        "in_arrow",
        lambda frame, work, result, _: frame.mapInArrow(work, result).toArrow(),
    )
    monkeypatch.setattr(on_spark, "ROWS_EACH", 7)
    monkeypatch.setattr(on_spark, "protect", lambda: None)


def test_ranges_cover_a_release_once_and_leave_out_what_is_repeated(monkeypatch):
    monkeypatch.setattr(on_spark, "ROWS_EACH", 4)
    cut = list(on_spark._cut([range(10)], np.array([0, 3, 4, 9])))
    assert cut == [RowRange(0, 0, 4, (0, 3)), RowRange(0, 4, 8, (0,)), RowRange(0, 8, 10, (1,))]


def test_no_range_has_rows_of_two_lanes(monkeypatch):
    monkeypatch.setattr(on_spark, "ROWS_EACH", 4)
    cut = list(on_spark._cut([range(5), range(5, 7)], np.array([4, 6])))
    assert cut == [RowRange(0, 0, 4, ()), RowRange(0, 4, 5, (0,)), RowRange(1, 5, 7, (1,))]


@pytest.mark.slow
def test_tasks_give_the_collections_and_the_receipt_of_one_machine(told, in_arrow, tmp_path):
    done = []
    session = Session()
    engine = on_spark.engine(session, told, done.append)
    there = opened(told, tmp_path / "there", engine=engine)
    here = opened(told, tmp_path / "here")
    assert same(told, here, there, tmp_path)
    assert there.rejected["repeated"] == there.rejected["unopened"] == 1
    assert session.waves > 1 and sum(done) == there.reports


@pytest.mark.slow
def test_tasks_open_a_release_of_two_mixers(told_of_two_mixers, in_arrow, tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "ROWS_EACH", 100)
    told = told_of_two_mixers
    there = opened(told, tmp_path / "there", engine=on_spark.engine(Session(), told, abs))
    here = opened(told, tmp_path / "here")
    assert same(told, here, there, tmp_path)
    assert there.rejected["token"] == there.rejected["repeated"] == 1
    assert there.opened_people == PEOPLE - 1
    wrong = on_spark.engine(Session(), replace(told, stratum=0), abs)
    receipt = opened(told, tmp_path / "wrong", engine=wrong)
    assert receipt.rejected["token"] == receipt.reports - 1, "a token is for its stratum"


def test_a_part_that_does_not_come_is_missed(told, in_arrow, tmp_path):
    with pytest.raises(ReportsError, match=r"3 of 4 parts arrived"):
        opened(told, tmp_path / "there", engine=on_spark.engine(Session(1), told, abs))
    assert not (tmp_path / "there").exists()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_opens_what_one_machine_opens(told, tmp_path, monkeypatch):
    """On two cores; tasks of forty rows, so that there are several waves."""
    monkeypatch.setattr(on_spark, "ROWS_EACH", 40)
    with started("local[2]") as session:
        engine = on_spark.engine(session, told, lambda _: None)
        there = opened(told, tmp_path / "there", engine=engine)
        with pytest.raises(ReportsError, match=r"could not be opened: .*key"):
            lost = replace(told, key=str(tmp_path / "none"))
            opened(told, tmp_path / "no", engine=on_spark.engine(session, lost, lambda _: None))
    assert same(told, opened(told, tmp_path / "here"), there, tmp_path)
    assert not (tmp_path / "no").exists()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_opens_a_release_of_two_mixers(told_of_two_mixers, tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "ROWS_EACH", 100)
    told = told_of_two_mixers
    with started("local[2]") as session:
        engine = on_spark.engine(session, told, lambda _: None)
        there = opened(told, tmp_path / "there", engine=engine)
    assert same(told, opened(told, tmp_path / "here"), there, tmp_path)
    folder = tmp_path / "there"
    files = [folder / f"message-{n + 1}.parquet" for n in MESSAGES]
    counted = count_on_spark(PLAN, files, master="local[2]")
    assert as_text(counted) == as_text(count(PLAN, incrowd.load_reports(folder)))


@pytest.mark.spark
def test_the_command_opens_on_spark(told, tmp_path):
    (tmp_path / "bundle.json").write_bytes(INVITED.encoded)
    words = (
        *("open", told.release, "--bundle", tmp_path / "bundle.json", "--key", told.key),
        *("-o", tmp_path / "there", "--engine", "spark", "--master", "local[1]", "--json"),
    )
    child = [sys.executable, "-c", "from incrowd.cli import main; main()", *map(str, words)]
    done = subprocess.run(child, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["key_destroyed"] and not os.path.exists(told.key)
    opened(told, tmp_path / "here")
    assert reports(tmp_path / "here") == reports(tmp_path / "there")
