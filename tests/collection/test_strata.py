"""Open strata over the network: picked by the device, mixed apart, small ones never released."""

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.catalog.sentences import translated
from incrowd.collection import rehearsal
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.device.device import strata_of
from incrowd.collection.device.promising import promised, terms
from incrowd.collection.mixer.init import make_bundle
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError, ReportsError, UsageError
from incrowd.reports.collection import write_reports
from tests.oracles.terms import stated

FACULTIES = ("law", "arts", "music")
SIZES = (80, 78, 5)


@cache
def plan(rule="delete", sizes=FACULTIES):
    raw = {"name": "F", "crowd": 55, "small_strata": rule, "colluding": 1}
    raw |= {"privacy": {"epsilon": 6.0, "delta": 1e-3}}
    faculty = {"id": "faculty", "type": "choice", "options": list(sizes), "open": True}
    return incrowd.plan(
        incrowd.Survey.of(raw | {"question": [{"id": "sick", "type": "yesno"}, faculty]})
    )


def answers(sizes=SIZES):
    faculty = np.repeat(FACULTIES, sizes)
    order = np.random.default_rng(2).permutation(len(faculty))
    return pa.table({"faculty": faculty[order], "sick": np.where(order % 3 == 0, "yes", "no")})


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def ran(tmp_path_factory, request):
    """Three strata, one of them too small, with one shuffler or two mixers on loopback."""
    made, known = plan(), answers()
    people = EncodedAnswers.of(made.survey, known)
    folder = tmp_path_factory.mktemp("live")
    return (
        made,
        known,
        rehearsal.rehearse(made, people, folder, advance=lambda _: None, mixers=request.param),
        folder,
    )


@pytest.mark.slow
def test_every_large_stratum_is_a_release_and_the_small_one_is_gone(ran):
    _made, _, found, _ = ran
    assert [receipt.strata for receipt in found.receipts] == [["law"], ["arts"]]
    assert [receipt.people for receipt in found.receipts] == list(SIZES[:2])
    assert found.crowd.people == sum(SIZES) and found.key_destroyed and not found.codes_found
    assert not any("music" in receipt.strata for receipt in found.receipts)


@pytest.mark.slow
def test_releases_are_estimated_and_verified_together(ran):
    made, known, _found, folder = ran
    opened = folder / "collector" / "opened"
    reports = incrowd.load_reports(opened)
    assert {each.strata for each in reports} == {("law",), ("arts",)}
    receipts = receipts_of(made, [opened], files=True)
    assert sorted(receipt.strata for receipt in receipts) == [("arts",), ("law",)]
    checked = incrowd.verify(made, incrowd.stream_reports(opened, check=True))
    assert checked.plan_holds and not checked.impossible and not checked.missing
    assert checked.guarantee.reduced_by == ("one-party",) and not checked.holds  # a rehearsal
    estimates = incrowd.estimate(made, reports, received=receipts)
    assert [stratum.people for stratum in estimates.strata] == list(SIZES[:2])
    assert estimates.left_out == ("music",) and estimates.guarantee.local_epsilon > 0
    for stratum in estimates.strata:
        sick = np.array(known["sick"])[np.array(known["faculty"]) == stratum.name] == "yes"
        assert (
            abs(stratum.tables[0].estimate[1] - sick.mean())
            < 5 * stratum.tables[0].standard_error[1]
        )


def test_a_stratum_under_another_name_is_found(ran):
    """Somebody writes the file again with another name in it, and with a digest that fits."""
    made, _, found, _ = ran
    [file] = found.opened[1].glob("*.parquet")
    (before,) = incrowd.load_reports(file)
    kept = file.read_bytes()
    try:
        write_reports(replace(before, strata=("music",)), [before.packed], file)
        (renamed,) = incrowd.load_reports(file)
        assert (renamed.strata, renamed.id) == (("music",), before.id)
        with pytest.raises(ReportsError, match="the file was changed after"):
            receipts_of(made, [found.opened[1]], files=True)
    finally:
        file.write_bytes(kept)


def test_what_is_sent_openly_is_said(ran):
    _, _, found, _ = ran
    said = dict(terms(found.bundle, promised(found.bundle)))
    mixer = "shuffler" if found.bundle.mixers == 1 else "first mixer"
    assert said["Sent openly"].startswith(f"your answer to faculty, to the {mixer}")
    assert "does not cover faculty" in promised(found.bundle).sentence
    seen = dict(rehearsal.what_each_saw(found))
    assert "their strata" in seen[f"The {mixer}"] and "each release" in seen["The collector"]


def test_what_each_saw_can_be_translated(ran):
    _, _, found, _ = ran
    for line in rehearsal.what_each_saw(found):
        assert all(translated(text, "de") != text for text in line), line


def test_too_few_in_every_stratum_are_not_waited_for(tmp_path):
    made = plan()
    people = EncodedAnswers.of(made.survey, answers((20, 20, 20)))
    with pytest.raises(ReportsError, match="20 people in the largest stratum"):
        rehearsal.rehearse(made, people, tmp_path, advance=lambda _: None)


def test_a_device_is_where_its_answers_say():
    bundle = make_bundle(plan(), stated()).bundle
    people = EncodedAnswers.of(bundle.plan.survey, answers((1, 1, 1)))
    named = [bundle.strata[number] for number in strata_of(bundle, people, None)]
    assert named == answers((1, 1, 1))["faculty"].to_pylist()
    one = people.take(np.array([0]))
    assert strata_of(bundle, one, named[0]) == strata_of(bundle, one, None)
    with pytest.raises(UsageError, match="the answers to open questions give"):
        strata_of(bundle, one, "history")


@pytest.mark.slow
def test_a_bundle_has_the_strata_and_the_rule_of_its_survey():
    made = plan("merge")
    bundle = make_bundle(made, stated()).bundle
    assert bundle.strata == ("law", "arts", "music") and bundle.small_strata == "merge"
    for wrong in ({"strata": ("law", "arts")}, {"small_strata": "delete"}):
        with pytest.raises(ProtocolError, match=f"bundle.{next(iter(wrong))}"):
            make_bundle(made, stated(**wrong))
