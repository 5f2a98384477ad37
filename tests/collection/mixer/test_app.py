"""The shuffler over HTTP: what is answered, in which order it is checked, what is released."""

import asyncio
import hashlib
import json
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from incrowd.collection.mixer.app import StrataCounts
from incrowd.collection.mixer.store import tables
from incrowd.collection.mixer.store.database import opened
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import StratumState
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.upload import Upload
from tests.collection.mixer.conftest import INVITED, MERGED, OCTETS, Site, code, sealed, upload

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
    assert site.delete(upload(INVITED, 50, 0, 50)) == 204, "nobody learns whether it was there"
    site.post(one, other)
    assert site.delete(Upload(code(50), 0, one.sealed)) == 204
    assert site.delete(Upload(one.entry, 1, one.sealed)) == 204
    assert site.store.strata()[0].people == 2, "only the same bytes take it back"
    assert [site.delete(one), site.delete(one)] == [204, 204]
    assert site.store.strata()[0].people == 1
    anew = Upload(one.entry, 1, sealed(INVITED, "again")).encoded(INVITED)
    assert refused(site, anew) == "code-used", "a second draw is never accepted"
    site.now = site.now.replace(year=2027)
    assert kind(site.request("DELETE", "/upload", other.encoded(INVITED))) == "not-found"


def withdrawals(site):
    with site.store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(tables.withdrawn))


def test_another_invitation_neither_repeats_nor_withdraws_an_upload(site):
    """The reports of Ann, whoever knows them, under the used code of Bob: not Ann's upload."""
    ann, bob = people(2)
    assert site.post(ann, bob) == [201, 201]
    taken = Upload(bob.entry, 0, ann.sealed)
    assert kind(site.request("POST", "/upload", taken.encoded(INVITED))) == "code-used"
    assert site.delete(taken) == 204
    assert site.store.strata()[0].people == 2
    again = Upload(bob.entry, 0, sealed(INVITED, "Bob once more"))
    assert refused(site, again.encoded(INVITED)) == "code-used", "the code is not free"
    turned = Upload(ann.entry, 0, ann.sealed[::-1])
    assert refused(site, turned.encoded(INVITED)) == "code-used", "other bytes, another upload"
    assert site.delete(turned) == 204 and site.post(ann, bob) == [200, 200]


def test_an_upload_that_is_made_of_two_others_is_neither(merging):
    """Where there are no invitations as well: a part of two people's reports withdraws nothing."""
    ann, bob = upload(MERGED, "Ann"), upload(MERGED, "Bob")
    assert merging.post(ann, bob) == [201, 201]
    mixed = Upload(ann.entry, 0, (ann.sealed[0], *bob.sealed[1:]))
    assert kind(merging.request("POST", "/upload", mixed.encoded(MERGED))) == "sealed"
    assert merging.delete(mixed) == 204
    assert merging.store.strata()[0].people == 2
    assert merging.store.reports_in([0]) == 2 * MERGED.places


@pytest.mark.parametrize("made", [INVITED, MERGED], ids=["invited", "open"])
def test_what_was_withdrawn_is_not_stored_when_it_arrives_late(tmp_path, made):
    site = Site(tmp_path, made, invitations=9 if made.codes else 0)
    first, never, second = (upload(made, n, 0, 1 if made.codes else None) for n in range(3))
    late = [("POST", "/upload", first.encoded(made), OCTETS)] * 2
    assert [site.post(first), site.delete(first)] == [[201], 204]
    assert [kind(answer) for answer in site.together(late)] == ["withdrawn"] * 2
    if made.codes:
        assert refused(site, second.encoded(made)) == "code-used", "withdrawing is final"
        never = upload(made, 1, 0, 2)
    else:
        assert site.post(second) == [201], "somebody else's"
        assert kind(site.together(late)[0]) == "withdrawn"
        assert site.delete(second) == 204
    assert site.delete(never) == 204
    site.start()
    assert kind(site.request("POST", "/upload", never.encoded(made))) == "withdrawn"
    assert site.store.strata()[0].people == 0
    site.close()


def test_an_upload_that_is_withdrawn_before_it_arrives_uses_its_invitation(site):
    """Otherwise a second draw could follow one that somebody has recorded on its way."""
    first, second = upload(INVITED, 1, 0, 7), upload(INVITED, 2, 0, 7)
    assert site.delete(first) == 204
    assert refused(site, second.encoded(INVITED)) == "code-used"
    assert kind(site.request("POST", "/upload", first.encoded(INVITED))) == "withdrawn"


def test_withdrawals_take_one_row_for_each_invitation(site):
    """Whoever has an invitation, or makes one up, cannot fill the disk by withdrawing."""
    for number in range(20):
        assert site.delete(upload(INVITED, number, 0, 7)) == 204
        assert site.delete(upload(INVITED, number, 0, 1000 + number)) == 204
    assert withdrawals(site) == 1


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
    merging.post(*(upload(MERGED, n) for n in range(20)))
    first = merging.request("GET", "/count").json()
    merging.post(*(upload(MERGED, n) for n in range(20, 40)))
    assert merging.request("GET", "/count").json() == first == {"people": {"north": 20, "south": 0}}
    assert 'incrowd_people{stratum="0"} 20' in merging.request("GET", "/metrics").text
    merging.look(hours=1)
    assert merging.request("GET", "/count").json()["people"]["north"] == 40


def test_no_count_tells_of_one_person_however_small_the_crowd(merging):
    """A crowd of 3 has a reserve of 20: who comes between two hours changes no number."""
    assert MERGED.plan.survey.crowd < 200 and MERGED.reserve == 20
    told = set()
    for number in range(19):
        merging.post(upload(MERGED, number))
        merging.look(hours=1)
        told.add(merging.request("GET", "/count").text + merging.request("GET", "/metrics").text)
    assert len(told) == 1


@pytest.mark.parametrize(("reserve", "shown"), [(20, 240), (30, 240), (50, 250), (300, 0)])
def test_counts_are_multiples_of_the_reserve(merging, reserve, shown):
    bundle = MERGED.model_copy(update={"reserve": reserve})
    store = SimpleNamespace(bundle=bundle, strata=lambda: (StratumState(0, "open", None, 250),))
    assert StrataCounts(store, lambda: merging.now).people() == {0: shown}


@pytest.mark.parametrize("name", ["application/octet-stream", "Application/OCTET-Stream"])
def test_a_media_type_has_no_letter_case(merging, name):
    data = upload(MERGED, 1).encoded(MERGED)
    assert merging.request("POST", "/upload", data, {"Content-Type": name}).status_code == 201


@pytest.mark.parametrize("coding", ["gzip", "identity", "br, gzip"])
def test_what_is_compressed_is_not_taken(merging, coding):
    """Whatever was meant by these bytes, it is not these bytes (RFC 9110, section 8.4)."""
    data = upload(MERGED, 1).encoded(MERGED)
    headers = OCTETS | {"Content-Encoding": coding}
    assert kind(merging.request("POST", "/upload", data, headers)) == "media-type"


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
    assert "check that it is running" in caplog.text and "secret" not in caplog.text


def read_only(url):
    return f"sqlite:///file:{url.removeprefix('sqlite:///')}?mode=ro&uri=true"


def test_with_a_database_that_can_only_be_read_nothing_is_taken_and_nothing_lost(site, caplog):
    """A disk that became read-only: devices are told to come again, whoever looks after it too."""
    one, other, *rest = people(CROWD)
    assert set(site.post(one, *rest)) == {201}
    writable, site.store.engine = site.store.engine, opened(read_only(site.settings.url))
    for method in ("POST", "DELETE"):
        answer = site.request(method, "/upload", other.encoded(INVITED))
        assert kind(answer) == "fault" and "retry-after" in answer.headers
    assert site.request("GET", "/count").status_code == 200
    assert site.request("GET", "/ready").status_code == 503
    site.now = as_time(INVITED.closes)
    with pytest.raises(StoreError, match="READONLY"):
        site.keeper.look()
    assert site.settings.secret_file.exists() and not site.collector.heard
    site.store.engine.dispose()
    site.store.engine, site.now = writable, as_time(INVITED.opens)
    assert site.post(one, other) == [200, 201] and site.request("GET", "/ready").status_code == 200
    assert other.sealed[0].hex() not in caplog.text


def test_a_clock_that_was_set_back_does_not_keep_a_release_waiting(site):
    """It was right at closing, a year ahead while the collector was away, and right again."""
    site.post(*people(CROWD))
    site.collector.away = True
    site.look_at("closes")
    site.look(days=365)
    site.collector.away = False
    site.look(days=-365)
    assert len(site.collector.heard) == 1


def test_a_clock_that_jumps_back_opens_nothing_again(site):
    """What is released stays released, and takes nobody: the second release would be a proof."""
    given = people(CROWD + 1)
    site.post(*given[:CROWD])
    site.look_at("closes")
    site.look_at("opens")
    assert site.post(given[0], given[-1]) == [410, 410] and site.delete(given[0]) == 410
    site.start()
    site.look(days=60)
    assert site.post(given[-1]) == [410]
    assert len({data for data in site.collector.heard}) == 1
