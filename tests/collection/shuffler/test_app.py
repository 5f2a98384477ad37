"""The shuffler over HTTP: what is answered, in which order it is checked, what is released."""

import asyncio
import hashlib
import json
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from incrowd.collection.shuffler.counting import Counted
from incrowd.collection.store.store import Stratum
from incrowd.collection.wire import problem
from incrowd.collection.wire.upload import Upload
from tests.collection.shuffler.conftest import (
    INVITED,
    MERGED,
    OCTETS,
    Site,
    code,
    sealed,
    upload,
)

CROWD = 25


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, invitations=100)
    yield made
    made.close()


@pytest.fixture
def merging(tmp_path):
    made = Site(tmp_path, MERGED)
    yield made
    made.close()


def people(count, stratum=0, first=0):
    return [upload(INVITED, n, stratum, n) for n in range(first, first + count)]


def kind(answer):
    found, _ = problem.parse_document(answer.content, answer.status_code)
    assert answer.headers["content-type"] == problem.MEDIA_TYPE
    return found.name


def test_the_bundle_is_given_to_the_last_byte(site):
    assert hashlib.sha256(site.request("GET", "/bundle").content).digest() == INVITED.digest


def test_an_upload_is_stored_once_and_said_so_again(site):
    one = upload(INVITED, 1, 0, 1)
    assert site.post(one, one) == [201, 200]
    assert site.post(one) == [200]
    assert site.store.strata()[0].people == 1


def refused(site, data, headers=OCTETS):
    return kind(site.request("POST", "/upload", data, headers))


def test_each_check_comes_before_the_next(site):
    """Every upload has one fault more than the last; the first is the one that is said."""
    one = people(1)[0]
    right = one.encoded(INVITED)
    assert site.post(one) == [201]
    size = INVITED.sealed_length
    unknown = right[:32] + code(1000) + right[48:]
    used = Upload(code(0), 0, sealed(INVITED, "other")).encoded(INVITED)
    stranger = Upload(code(1000), 0, sealed(INVITED, "other")).encoded(INVITED)
    assert refused(site, stranger) == "code-unknown"
    assert refused(site, used) == "code-used"
    assert refused(site, unknown) == "code-unknown"
    site.now = site.now.replace(year=2027)
    assert refused(site, used) == refused(site, right) == refused(site, stranger) == "closed"
    site.now = site.now.replace(year=2025)
    assert refused(site, right) == "not-open"
    twice = right[:-size] + right[50 : 50 + size]
    assert refused(site, twice) == "sealed"
    other_stratum = twice[:48] + b"\0\2" + twice[50:]
    assert refused(site, other_stratum) == "stratum"
    assert refused(site, bytes(32) + other_stratum[32:]) == "bundle"
    assert refused(site, b"") == refused(site, right + b"\0") == "length"
    assert refused(site, right, {"Content-Type": "text/plain"}) == "media-type"


def test_another_length_is_refused_before_it_is_read(site):
    async def never():
        raise AssertionError("the body is read")
        yield b""

    assert refused(site, never(), OCTETS | {"Content-Length": "1"}) == "length"
    assert refused(site, never()) == "length", "no length is announced"


def test_who_sends_slowly_is_cut_off(tmp_path):
    site = Site(tmp_path, invitations=1, body_seconds=0.05)

    async def slow():
        yield b"a"
        await asyncio.sleep(5)

    length = str(len(people(1)[0].encoded(INVITED)))
    assert refused(site, slow(), OCTETS | {"Content-Length": length}) == "slow"
    site.close()


def test_reports_of_somebody_else_are_not_taken_twice(site):
    mine, other = people(2)
    stolen = Upload(code(2), 0, (*sealed(INVITED, "x")[1:], mine.sealed[1]))
    assert site.post(mine, stolen, other) == [201, 422, 201]
    assert site.post(stolen) == [422]
    assert site.post(Upload(code(2), 0, mine.sealed)) == [422]
    assert site.post(Upload(code(2), 1, mine.sealed)) == [422]
    assert site.post(people(3)[2]) == [201], "a refused upload leaves the code free"


def test_an_upload_can_be_taken_back_until_closing(site):
    one, other = people(2)
    assert site.delete(one) == 204, "nobody learns whether it was there"
    site.post(one, other)
    assert site.delete(Upload(code(50), 0, one.sealed)) == 204
    assert site.delete(Upload(one.code, 1, one.sealed)) == 204
    assert site.store.strata()[0].people == 2, "only the same bytes take it back"
    assert [site.delete(one), site.delete(one)] == [204, 204]
    assert site.store.strata()[0].people == 1
    assert site.post(Upload(one.code, 1, sealed(INVITED, "again"))) == [201], "the code is free"
    site.now = site.now.replace(year=2027)
    assert kind(site.request("DELETE", "/upload", other.encoded(INVITED))) == "not-found"


def test_a_release_holds_everybody_once_and_then_nothing_is_left(site):
    given = people(CROWD)
    assert set(site.post(*given)) == {201}
    site.look()
    assert site.collector.heard == []
    site.look_at("closes")
    [(strata, (signed, reports))] = site.collector.releases().items()
    assert strata == (0,)
    assert sorted(reports) == sorted(each for one in given for each in one.sealed)
    header = signed.header
    assert (header.people, header.issued, header.used) == (CROWD, 100, CROWD)
    assert [s.state for s in site.store.strata()] == ["acknowledged", "open"]
    site.look_at("disposes")
    assert [s.state for s in site.store.strata()] == ["acknowledged", "deleted"]
    assert not site.settings.secret_file.exists()
    assert len(site.collector.heard) == 1
    site.start()
    assert site.post(given[0]) == [410]
    assert list(site.settings.releases.iterdir()) == []


def test_the_wanted_number_releases_before_the_time(site):
    site.post(*people(30), *people(5, 1, 50))
    site.look()
    assert list(site.collector.releases()) == [(0,)]
    assert site.post(*people(1, 0, 40), *people(1, 1, 41)) == [410, 201]


def test_small_strata_are_merged_if_they_are_enough_together(merging):
    merging.post(*(upload(MERGED, n, n % 2) for n in range(CROWD)))
    merging.look_at("closes")
    [(strata, (signed, _))] = merging.collector.releases().items()
    assert strata == (0, 1) and signed.header.people == CROWD
    assert not merging.settings.secret_file.exists()


def test_too_few_are_never_released(merging):
    merging.post(*(upload(MERGED, n, n % 2) for n in range(22)))
    merging.look_at("closes")
    merging.look_at("disposes")
    assert merging.collector.heard == []
    assert {s.state for s in merging.store.strata()} == {"deleted"}


def test_a_code_in_an_open_survey_is_unknown(merging):
    assert merging.post(upload(MERGED, 1, 0, 1)) == [403]


def test_counts_are_rounded_and_stand_still_for_an_hour(merging):
    merging.post(upload(MERGED, 1))
    first = merging.request("GET", "/count").json()
    merging.post(upload(MERGED, 2))
    assert merging.request("GET", "/count").json() == first == {"people": {"north": 1, "south": 0}}
    assert 'incrowd_people{stratum="0"} 1' in merging.request("GET", "/metrics").text
    merging.look(hours=1)
    assert merging.request("GET", "/count").json()["people"]["north"] == 2


@pytest.mark.parametrize(("crowd", "shown"), [(100, 250), (101, 250), (1000, 250), (3000, 240)])
def test_counts_are_multiples_of_a_hundredth_of_the_crowd(merging, crowd, shown):
    survey = SimpleNamespace(plan=SimpleNamespace(survey=SimpleNamespace(crowd=crowd)))
    store = SimpleNamespace(bundle=survey, strata=lambda: (Stratum(0, "open", None, 250),))
    assert Counted(store, lambda: merging.now).people() == {0: shown}


def test_other_addresses_and_methods_are_problems_too(site):
    assert kind(site.request("GET", "/nothing")) == "no-resource"
    assert kind(site.request("PUT", "/upload")) == "method"
    assert site.request("GET", "/health").status_code == 200
    assert site.request("GET", "/ready").status_code == 200


def test_a_fault_tells_nothing_of_the_request(site, monkeypatch, caplog):
    def broken(_):
        raise RuntimeError("secret")

    monkeypatch.setattr(site.store, "accept", broken)
    answer = site.request("POST", "/upload", people(1)[0].encoded(INVITED))
    assert kind(answer) == "fault"
    assert "secret" not in caplog.text + answer.text and "RuntimeError" in caplog.text


def test_too_many_at_once_are_asked_to_come_again(tmp_path):
    site = Site(tmp_path, invitations=3, memory=1)  # room for one
    sent = [("POST", "/upload", each.encoded(INVITED), OCTETS) for each in people(3)]
    answers = site.together(sent)
    assert sorted(answer.status_code for answer in answers) == [201, 503, 503]
    assert {a.headers["retry-after"] for a in answers if a.status_code == 503} == {"5"}
    assert site.post(people(2)[1]) == [201]
    site.close()


def test_the_answer_is_the_problem_registered_for_it(site):
    answer = site.request("POST", "/upload", b"")
    assert json.loads(answer.content)["type"] == "urn:incrowd:problem:length"


def test_it_is_not_ready_without_its_database(site, monkeypatch, caplog):
    """503, which a proxy or a machine that looks after it understands; and no row in the log."""
    assert site.request("GET", "/ready").status_code == 200

    def away():
        raise OperationalError("SELECT 'secret'", None, OSError("connection refused"))

    monkeypatch.setattr(site.store.engine, "connect", away)
    answer = site.request("GET", "/ready")
    assert (answer.status_code, answer.text) == (503, "no\n")
    assert "look whether it runs" in caplog.text and "secret" not in caplog.text
