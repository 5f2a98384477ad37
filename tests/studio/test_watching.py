"""Watching: the dashboard's facts from a folder or from afar, and no network but what was begun."""

import asyncio
import html
import json
import re
from datetime import timedelta
from unittest import mock

import httpx
import pytest

from incrowd.collection.collector.keeper import keep_bundle
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.device.connection import Connection
from incrowd.collection.protocol.bundle import as_time
from incrowd.errors import IncrowdError
from incrowd.studio import watching
from incrowd.studio.document import version
from incrowd.studio.publication import Publication, save_publication
from incrowd.studio.watching import Facts, Followed, checked, dashboard, fetched, read
from tests.oracles import watching as oracle
from tests.oracles.make_vectors import INVITED, RECEIVER
from tests.oracles.releases import all_sealed, plaintexts, release

BEFORE = as_time(INVITED.opens) + timedelta(hours=1)
ADDRESS, TOKEN = "https://count.example", oracle.TOKEN
PAGE = "/p/trial/watch"
ASKED = '[[question]]\nid = "smokes"\ntype = "yesno"\n'
SURVEY = 'name = "Trial"\ncrowd = 1000\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n'


@pytest.fixture
def project(studio):
    return studio.projects.create("Trial", SURVEY)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing is requested unless a test says who responds."""

    def never(*_, **__):
        raise AssertionError("a request that nobody started")

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", never)
    monkeypatch.setattr(watching, "system", lambda: BEFORE)


@pytest.fixture
def collector(project, tmp_path):
    """The collector's folder of the project, with the key and the bundle of the vectors."""
    places = CollectorPlaces(project.path / "collector")
    places.root.mkdir()
    places.private.write_bytes(RECEIVER.secret)
    file = tmp_path / "bundle.json"
    file.write_bytes(INVITED.encoded)
    keep_bundle(places, file)
    return places


@pytest.fixture(scope="session")
def sealed():
    return all_sealed(plaintexts())


def remote(collector, **more):
    """What a real dashboard responds."""
    return oracle.served(collector, oracle.asking(oracle.STATE), **more).content


def responding(body, status=200, **more):
    def respond(request):
        assert str(request.url) == f"{ADDRESS}/dashboard/state"
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        return httpx.Response(status, stream=httpx.ByteStream(body), **more)

    return httpx.MockTransport(respond)


class TestAFolder:
    def test_without_a_collection_the_page_says_what_will_be_seen(self, browser, project):
        page = browser.get(PAGE).text
        assert "Nothing is being collected yet" in page and f"{PAGE}/state?seen=" in page

    def test_a_collection_that_is_open(self, browser, collector):
        facts = read(collector.root, Followed(), counting=False)
        assert facts.phase == "collecting" and facts.people is None
        assert facts.least_people == INVITED.least_people
        page = browser.get(PAGE).text
        assert "Collecting" in page and "not counted" in page
        assert "Request the number of people who have sent" in page

    @pytest.mark.slow
    def test_a_release_that_was_opened_leads_to_the_results(self, browser, collector, sealed):
        shown = oracle.opened(collector, release(sealed)).facts
        facts = read(collector.root, Followed(), counting=False)
        assert facts.phase == shown["phase"] == "opened"
        assert facts.opened_people == shown["opened_people"] > 0
        page = browser.get(PAGE).text
        assert 'href="/p/trial/results"' in page and "released" in page

    def test_the_count_is_requested_only_when_the_person_begins(
        self, browser, collector, monkeypatch
    ):
        urls = []

        def ask(self, method, url, content=b"", most=0):
            urls.append(url)
            body = json.dumps({"people": {name: 40 for name in INVITED.strata}}).encode()
            return mock.Mock(status=200, body=body)

        monkeypatch.setattr(Connection, "ask", ask)
        browser.get(PAGE)
        assert urls == []
        assert browser.post(f"{PAGE}/count", data={"count": "yes"}).status_code == 303
        page = browser.get(PAGE).text
        browser.get(f"{PAGE}/state?seen=")
        assert urls == [f"{INVITED.upload_address}/count"]  # once an hour
        assert f"at least {INVITED.rounded(40):,} people, " in page
        browser.post(f"{PAGE}/count", data={"count": "no"})
        assert "Request the number of people who have sent" in browser.get(PAGE).text
        assert len(urls) == 1

    def test_a_proof_of_cheating_is_in_the_language_of_the_page(
        self, browser, collector, monkeypatch
    ):
        of = read(collector.root, Followed(), counting=False)
        cheated = of.model_copy(update={"cheating": "The shuffler cheated."})
        monkeypatch.setattr(watching, "read", lambda *_, **__: cheated)
        page = browser.get(PAGE, headers={"Accept-Language": "de"}).text
        assert "Das beweist, dass er betrogen hat" in page and "The shuffler" not in page

    def test_strata_are_called_what_people_read(self, browser, project, collector, monkeypatch):
        """Also in the words of the page's language; a name of another survey stays."""
        site = '[[question]]\nid = "site"\ntype = "choice"\nopen = true\noptions = ["n", "s"]\n'
        site += 'labels = { n = { en = "North", de = "Nord" }, s = { en = "South", de = "Süd" } }\n'
        project.survey_path.write_text(f"{SURVEY}{site}{ASKED}", "utf-8")
        of = read(collector.root, Followed(), counting=False)
        rows = [of.strata[0].model_copy(update={"name": name}) for name in ("n", "elsewhere")]
        facts = of.model_copy(update={"strata": rows})
        monkeypatch.setattr(watching, "read", lambda *_, **__: facts)
        for language, words in (("en", "North"), ("de", "Nord")):
            page = browser.get(PAGE, headers={"Accept-Language": language}).text
            names = re.findall('<th scope="row">([^<]*)</th>', page)
            assert names == [words, "elsewhere"]

    def test_a_survey_without_open_questions_has_one_stratum(self, browser, project, collector):
        project.survey_path.write_text(f"{SURVEY}{ASKED}")
        assert '<th scope="row">all</th>' in browser.get(PAGE).text

    @pytest.mark.slow
    def test_what_did_not_change_is_not_sent_again(self, browser, collector, sealed):
        seen = re.search(r"seen=([0-9a-f]+)", browser.get(PAGE).text)[1]
        assert browser.get(f"{PAGE}/state?seen={seen}").status_code == 204
        oracle.opened(collector, release(sealed))
        assert browser.get(f"{PAGE}/state?seen={seen}").status_code == 200

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 9000])
    def test_a_damaged_bundle_is_named(self, browser, collector, content):
        collector.bundle.write_bytes(content)
        page = browser.get(PAGE)
        assert page.status_code == 200 and "bundle" in page.text
        assert "The status cannot be read now" in page.text

    @pytest.mark.slow
    def test_a_damaged_receipt_is_named(self, browser, collector, sealed):
        folder = oracle.opened(collector, release(sealed)).folder
        (folder / "receipt.json").write_text("{")
        page = browser.get(PAGE)
        assert page.status_code == 200 and "receipt" in page.text

    def test_the_rehearsal_is_marked_as_invented(self, browser, project, collector):
        (project.path / "rehearsal").mkdir()
        collector.root.rename(project.path / "rehearsal" / "collector")
        page = browser.get(PAGE).text
        assert "these numbers say nothing about anyone" in page
        assert "Nothing is being collected yet" in page and "Ask how many" not in page


def counting(monkeypatch, people):
    """The service responds with a number of people in each stratum."""
    body = json.dumps({"people": dict.fromkeys(INVITED.strata, people)}).encode()
    monkeypatch.setattr(Connection, "ask", lambda *_, **__: mock.Mock(status=200, body=body))


class TestTheThreshold:
    def test_of_a_person_who_runs_the_shuffler(self, browser, project, monkeypatch):
        """She sees the count that her service publishes, rounded down, and nothing of releases."""
        now = [BEFORE]
        monkeypatch.setattr(watching, "system", lambda: now[0])
        save_publication(project, Publication(here="shuffler"), version(""))
        (project.path / "shuffler").mkdir()
        (project.path / "shuffler" / "bundle.json").write_bytes(INVITED.encoded)
        page = browser.get(PAGE).text
        assert "How many there are is not known here" in page
        counting(monkeypatch, INVITED.least_people - 1)
        browser.post(f"{PAGE}/count", data={"count": "yes"})
        page = browser.get(PAGE).text
        people = INVITED.rounded(INVITED.least_people - 1)
        assert people < INVITED.least_people - 1
        stated = f"At least {people:,} answers; a release needs {INVITED.least_people:,}"
        part = page[page.index('class="threshold"') : page.index('class="numbers"')]
        assert stated in part and not re.search(rf"\b{INVITED.least_people - 1}\b", part)
        assert f'max="{INVITED.least_people}" value="{people}"' in page
        assert "With fewer, nothing is released" in page and "There are enough" not in page
        now[0] = as_time(INVITED.closes)
        page = browser.get(PAGE).text
        assert "the services now pass on what was sent" in page and "days left" not in page

    def test_enough(self, browser, collector, monkeypatch):
        counting(monkeypatch, 10 * INVITED.least_people)
        browser.post(f"{PAGE}/count", data={"count": "yes"})
        assert "There are enough" in browser.get(PAGE).text

    @pytest.mark.parametrize(
        ("before", "text"),
        [
            (timedelta(days=12, hours=3), "12 days left"),
            (timedelta(days=1, hours=23), "1 day left"),
            (timedelta(hours=5, minutes=59), "5 hours left"),
            (timedelta(minutes=30), "Closes very soon"),
            (timedelta(0), "None"),
        ],
    )
    def test_the_time_left_is_rounded_down(self, before, text):
        now = as_time(INVITED.closes) - before
        assert str(watching.time_left(INVITED.closes, now)) == text
        assert watching.time_left("no time", now) is None

    def test_a_reminder_is_offered_until_it_closes(self, browser, project, collector, monkeypatch):
        assert "A reminder for everybody" in browser.get(PAGE).text
        monkeypatch.setattr(watching, "system", lambda: as_time(INVITED.closes))
        assert "A reminder for everybody" not in browser.get(PAGE).text


class TestADashboardElsewhere:
    @pytest.mark.parametrize(
        ("address", "token"),
        [
            (ADDRESS, TOKEN),
            (f" {ADDRESS}/dashboard ", f" {TOKEN} "),
            (f"{ADDRESS}/dashboard/#{TOKEN}", ""),
            (f"{ADDRESS}/dashboard#{TOKEN}", ""),
        ],
    )
    def test_what_a_person_pastes(self, address, token):
        assert dashboard(address, token) == (ADDRESS, TOKEN)

    @pytest.mark.parametrize(
        ("address", "token"),
        [
            ("", TOKEN),
            ("count.example", TOKEN),
            ("http://count.example", TOKEN),
            ("file:///etc/passwd", TOKEN),
            ("https://user@count.example", TOKEN),
            ("https://count.example/?a=b", TOKEN),
            (ADDRESS, ""),
            (ADDRESS, "a\nHost: evil.example"),
            (ADDRESS, "ä"),
        ],
    )
    def test_what_cannot_be_used_is_named_and_stays(self, browser, project, address, token):
        with pytest.raises(IncrowdError):
            dashboard(address, token)
        answer = browser.post(f"{PAGE}/follow", data={"address": address, "token": token})
        assert answer.status_code == 422 and "connection to the dashboard failed" in answer.text
        assert f'value="{html.escape(address)}"' in answer.text

    def test_the_facts_are_those_of_the_dashboard(self, collector, sealed):
        body = oracle.opened(collector, release(sealed)).state.content
        facts = fetched(ADDRESS, TOKEN, responding(body))
        assert facts == read(collector.root, Followed(), counting=False).model_copy(
            update={name: getattr(facts, name) for name in ("as_of", "next_count", "strata")}
        )

    @pytest.mark.parametrize(
        ("body", "status", "named"),
        [
            (b"no\n", 401, "refused the token"),
            (b"", 404, "404"),
            (b"", 302, "302"),
            (b"", 503, "503"),
            (b"<html>", 200, "not JSON"),
            (b"[" * 100_000, 200, "not JSON"),
            (b"[]", 200, "unusable"),
            (b"{}", 200, "unusable title"),
            (b" " * (watching.MOST_BYTES + 1), 200, "too large"),
        ],
    )
    def test_other_responses_are_explained(self, body, status, named):
        headers = {"location": "http://127.0.0.1/"}
        with pytest.raises(IncrowdError, match=named):
            fetched(ADDRESS, TOKEN, responding(body, status, headers=headers))

    @pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.ConnectTimeout])
    def test_no_response_is_explained(self, error):
        def fail(request):
            raise error("x", request=request)

        with pytest.raises(IncrowdError, match="did not respond"):
            fetched(ADDRESS, TOKEN, httpx.MockTransport(fail))

    def test_a_response_that_never_ends_is_left(self):
        class Slowly(httpx.AsyncByteStream):
            async def __aiter__(self):
                while True:
                    yield b" "
                    await asyncio.sleep(0)

        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Slowly()))
        with (
            mock.patch("incrowd.studio.watching.SECONDS", 0.05),
            pytest.raises(IncrowdError, match="too slow"),
        ):
            fetched(ADDRESS, TOKEN, transport)

    @pytest.mark.parametrize(
        "change",
        [
            {"phase": "elsewhere"},
            {"crowd": -1},
            {"crowd": "1"},
            {"strata": [{}]},
            {"title": ["x"]},
            {"title": "x" * 30_000},
            {"rejected": {"kind": 1.5}},
        ],
    )
    def test_facts_of_other_types_are_refused(self, collector, change):
        facts = json.loads(remote(collector))
        assert isinstance(checked(facts), Facts)
        with pytest.raises(IncrowdError, match="unusable"):
            checked(facts | change)

    def test_it_is_followed_until_the_person_stops(self, browser, collector, studio, monkeypatch):
        facts = checked(json.loads(remote(collector)) | {"title": "<script>alert(1)</script>"})
        monkeypatch.setattr(watching, "fetched", lambda address, token: facts)
        answer = browser.post(f"{PAGE}/follow", data={"address": ADDRESS, "token": TOKEN})
        assert answer.status_code == 303
        page = browser.get(PAGE).text
        assert f"Collection at {ADDRESS}" in page and TOKEN not in page
        assert "<script>alert" not in page and "&lt;script&gt;alert" in page
        files = [file for file in studio.projects.folder.rglob("*") if file.is_file()]
        assert not [file for file in files if TOKEN.encode() in file.read_bytes()]
        browser.post(f"{PAGE}/unfollow")
        assert f"Collection at {ADDRESS}" not in browser.get(PAGE).text

    def test_an_error_later_is_shown_in_its_place(self, browser, collector, monkeypatch):
        facts = checked(json.loads(remote(collector)))
        monkeypatch.setattr(watching, "fetched", lambda *_: facts)
        browser.post(f"{PAGE}/follow", data={"address": ADDRESS, "token": TOKEN})
        monkeypatch.setattr(
            watching, "fetched", lambda *_: fetched(ADDRESS, TOKEN, responding(b"", 503))
        )
        page = browser.get(PAGE)
        assert page.status_code == 200 and "it responded with 503" in page.text
