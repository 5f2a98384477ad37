"""The dashboard over HTTP: who is let in, what is told of people, and what is not told before."""

import hmac
import json
import re
from datetime import timedelta
from types import SimpleNamespace

import pytest

import incrowd
from incrowd.collection.collector import dashboard
from incrowd.collection.collector.keeper import GRACE
from incrowd.collection.collector.progress import CollectorProgress, main_part
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.settings import CollectorSettings, load_settings
from incrowd.errors import UsageError
from incrowd.estimation.estimate import estimate
from incrowd.guarantees.certified import guarantee_for
from incrowd.presentation.layouts import page
from tests.collection.collector.conftest import (
    INVITED,
    OPEN,
    PEOPLE,
    RECEIVER,
    all_sealed,
    plaintexts,
    release,
)
from tests.oracles import make_vectors, mixers_vectors
from tests.oracles.watching import (
    BEFORE,
    ESTIMATES,
    STATE,
    TOKEN,
    Shuffler,
    asking,
    opened,
    served,
    told_by,
)


class TestWhoIsLetIn:
    @pytest.mark.parametrize("path", [STATE, ESTIMATES])
    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": ""},
            {"Authorization": "Bearer "},
            {"Authorization": TOKEN},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": f"Bearer {TOKEN[:-1]}"},
            {"Authorization": f"Bearer {TOKEN}0"},
            {"Authorization": f"Bearer {TOKEN.upper()}"},
            {"Authorization": "Bearer \xe4"},
            {"Cookie": f"token={TOKEN}", "X-Token": TOKEN},
        ],
    )
    def test_a_wrong_token_or_none_is_401(self, keyed, path, headers):
        shuffler = Shuffler({"all": 2})
        sent = {name: value.encode("latin-1") for name, value in headers.items()}
        answer = served(keyed, asking(path, sent), shuffler=shuffler)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert answer.text == "no\n" and shuffler.asked == 0

    def test_a_token_in_the_address_opens_nothing(self, keyed):
        for path in (f"{STATE}?token={TOKEN}", f"{STATE}?access_token={TOKEN}"):
            assert served(keyed, asking(path, {})).status_code == 401

    def test_the_right_token_opens_it(self, keyed):
        assert served(keyed, asking(STATE)).json()["title"] == INVITED.wording.title

    def test_it_is_compared_in_constant_time(self, monkeypatch):
        """What is compared has one length whatever is given, and all of it is looked at."""
        seen = []

        def compare(wanted, said):
            seen.append((len(wanted), len(said)))
            return hmac.compare_digest(wanted, said)

        monkeypatch.setattr(dashboard, "hmac", SimpleNamespace(compare_digest=compare))
        given = ("", "Bearer", f"Bearer {TOKEN}", f"Bearer {TOKEN}" * 9)
        assert [dashboard.is_token(each, TOKEN) for each in given] == [False, False, True, False]
        assert set(seen) == {(32, 32)}

    def test_without_a_token_in_the_settings_there_is_none(self, keyed):
        for path in ("/dashboard", STATE, ESTIMATES):
            assert served(keyed, asking(path), token=None).status_code == 404

    def test_a_short_token_is_refused_and_not_shown(self, tmp_path, monkeypatch):
        for wrong in ("short-secret", "with a blank in its middle", "x" * 201):
            monkeypatch.setenv("INCROWD_COLLECTOR_TOKEN", wrong)
            with pytest.raises(UsageError, match="20 or more") as error:
                load_settings(CollectorSettings, tmp_path)
            assert wrong not in str(error.value)
        monkeypatch.setenv("INCROWD_COLLECTOR_TOKEN", TOKEN)
        settings = load_settings(CollectorSettings, tmp_path)
        assert settings.token == TOKEN and TOKEN not in repr(settings)

    def test_nothing_is_logged_of_who_asks(self, keyed, caplog):
        caplog.set_level("DEBUG")
        served(keyed, asking(STATE))
        served(keyed, asking(STATE, {"Authorization": "Bearer wrong-one"}))
        assert TOKEN not in caplog.text and "wrong-one" not in caplog.text


class TestThePage:
    def test_it_is_the_same_for_everybody_and_holds_nothing(self, keyed, sealed):
        before = served(keyed, asking("/dashboard", {}))
        opened(keyed, release(sealed))
        after = served(keyed, asking("/dashboard"))
        assert before.text == after.text and before.status_code == 200
        for secret in (TOKEN, INVITED.wording.title, "smokes", INVITED.digest.hex()):
            assert secret not in before.text

    def test_the_policy_names_its_own_script_and_style_and_nobody_else(self, keyed):
        answer = served(keyed, asking("/dashboard", {}))
        parts = answer.headers["content-security-policy"].split("; ")
        policy = dict(part.split(" ", 1) for part in parts)
        assert policy["default-src"] == "'none'" and policy["connect-src"] == "'self'"
        for kind in ("script", "style"):
            (text,) = re.findall(f"<{kind}[^>]*>(.*?)</{kind}>", answer.text, re.DOTALL)
            assert policy[f"{kind}-src"] == f"'{dashboard._hashed(text)}'"
        assert not re.search(r"https?://|unsafe|\bstyle=|\bon\w+=|src=|href=", answer.text)
        assert "unsafe" not in str(policy) and "http" not in str(policy)
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store" and "set-cookie" not in answer.headers


class TestPeople:
    def large(self):
        """A bundle whose reserve is 50, so that counts are multiples of it."""
        return INVITED.model_copy(update={"reserve": 50})

    def test_counts_are_rounded_down_whatever_the_shuffler_says(self, keyed):
        told = told_by(Shuffler({"all": 619}), lambda: BEFORE, self.large())
        told.look()
        assert told.people == {"all": 600}

    def test_the_shuffler_is_asked_once_an_hour(self):
        shuffler, now = Shuffler({"all": 40}), BEFORE
        told = told_by(shuffler, lambda: now)
        asked = []
        for minutes in (0, 1, 38, 1, 59, 1, 600):
            now += timedelta(minutes=minutes)
            shuffler.people = {"all": shuffler.people["all"] + 20}
            told.look()
            asked.append((shuffler.asked, told.people["all"], told.hour.hour))
        assert asked[:4] == [(1, 60, 1), (1, 60, 1), (1, 60, 1), (2, 120, 2)]
        assert asked[4:] == [(2, 120, 2), (3, 160, 3), (4, 180, 13)]

    @pytest.mark.parametrize(
        ("people", "status"),
        [
            (b"no JSON", 200),
            (b'{"people": 5}', 200),
            (b'{"people": {"all": -1}}', 200),
            (b'{"people": {"all": 1.5}}', 200),
            (b'{"people": {"all": true}}', 200),
            (b'{"people": {"other": 1}}', 200),
            (b"[]", 200),
            (b"\xff", 200),
            (b"", 503),
        ],
    )
    def test_what_is_no_count_is_asked_again_in_a_minute(self, people, status):
        shuffler, now = Shuffler(people, status), BEFORE
        told = told_by(shuffler, lambda: now)
        for seconds in (0, 59, 1, 60):
            now += timedelta(seconds=seconds)
            told.look()
            assert told.away and told.people == {} and told.hour is None
        assert shuffler.asked == 3
        shuffler.people, shuffler.status, now = {"all": 60}, 200, now + timedelta(minutes=1)
        told.look()
        assert not told.away and told.people == {"all": 60}

    def test_what_was_told_stays_when_the_shuffler_is_away(self):
        shuffler, now = Shuffler({"all": 60}), BEFORE
        told = told_by(shuffler, lambda: now)
        told.look()
        shuffler.status, now = 500, now + timedelta(hours=1)
        told.look()
        assert told.away and told.people == {"all": 60} and told.hour.hour == BEFORE.hour

    def test_what_is_missing_is_counted_for_every_stratum(self, keyed):
        shuffler = Shuffler({"north": 45, "south": 20, "island": 0})
        keyed.bundle.write_bytes(OPEN.encoded)
        facts = served(keyed, asking(STATE), bundle=OPEN, shuffler=shuffler).json()
        assert facts["least_people"] == 23
        found = [(row["people"], row["missing"]) for row in facts["strata"]]
        assert found == [(40, 0), (20, 3), (0, 23)]
        assert facts["guarantee"]["people"] == 40 and facts["more_strata"] == 0

    def test_of_many_strata_some_are_listed(self, keyed):
        many = make_vectors.bundle(strata=tuple(f"stratum {n}" for n in range(5000)))
        facts = served(keyed, asking(STATE), bundle=many).json()
        assert len(facts["strata"]) == 100 and facts["more_strata"] == 4900

    def test_the_guarantee_is_that_of_so_many_people(self, keyed):
        """Fewer people than planned: a weaker one. More: the planned one."""
        raw = {"name": "x", "crowd": 500, "privacy": {"epsilon": 1.0, "delta": 1e-4}}
        plan = incrowd.plan(incrowd.Survey.of(raw | {"question": [{"id": "a", "type": "yesno"}]}))
        wording = {"language": "en", "title": "x", "questions": {"a": "?"}}
        given = {"plan": plan, "wording": wording, "slots": (1,), "colluding": 0}
        for local_only in (False, True):
            bundle = make_vectors.bundle(**given, local_only=local_only)
            said = {}
            for people in (200, 500, 900):
                told = Shuffler({"all": people})
                facts = served(keyed, asking(STATE), bundle=bundle, shuffler=told).json()
                said[people] = facts["guarantee"]
                assert said[people]["people"] == people and "factor" in said[people]["sentence"]
            epsilons = {people: found["epsilon"] for people, found in said.items()}
            local = plan.guarantee.local_epsilon
            if local_only:
                assert all(each == pytest.approx(local) for each in epsilons.values())
            else:
                assert epsilons[200] == pytest.approx(guarantee_for(plan, 200).epsilon)
                assert 1.0 == epsilons[500] == epsilons[900] < epsilons[200] < local

    def test_before_the_shuffler_answers_nothing_is_promised(self, keyed):
        facts = served(keyed, asking(STATE), shuffler=Shuffler({}, 500)).json()
        assert facts["guarantee"] is None and facts["counter_away"] and facts["as_of"] is None
        assert facts["strata"][0]["people"] is None

    @pytest.mark.parametrize(
        ("bundle", "counting", "cheat"),
        [
            (INVITED, "shuffler", "The shuffler signed two different releases"),
            (mixers_vectors.bundle(), "first mixer", "A mixer signed two statements"),
        ],
        ids=["shuffler", "mixers"],
    )
    def test_who_counts_and_who_cheated_is_named(self, keyed, monkeypatch, bundle, counting, cheat):
        """With two mixers there is no shuffler, and either mixer can contradict itself."""
        facts = served(keyed, asking(STATE), bundle=bundle).json()
        assert facts["counted_by"] == counting and facts["cheating"] is None
        monkeypatch.setattr(CollectorProgress, "_contradicted", True)
        facts = served(keyed, asking(STATE), bundle=bundle).json()
        assert facts["cheating"].startswith(cheat)


@pytest.mark.parametrize(
    ("now", "status", "hours"),
    [(BEFORE, 200, 2), (BEFORE, 500, 1 + 21 / 60), (BEFORE - timedelta(days=1), 200, 0)],
)
def test_it_is_said_when_people_are_counted_again(keyed, now, status, hours):
    """At the next full hour; in a minute if nobody answered; never before it opens."""
    facts = served(keyed, asking(STATE), now=now, shuffler=Shuffler({"all": 0}, status)).json()
    expected = as_time(INVITED.opens) + timedelta(hours=hours)
    assert facts["next_count"] == (f"{expected:%Y-%m-%dT%H:%M:%SZ}" if hours else None)


class TestPhases:
    @pytest.mark.parametrize(
        ("now", "phase"),
        [
            (as_time(INVITED.opens) - timedelta(seconds=1), "not-open"),
            (as_time(INVITED.opens), "collecting"),
            (as_time(INVITED.closes), "closed"),
            (as_time(INVITED.disposes), "closed"),
            (as_time(INVITED.disposes) + GRACE, "disposed"),
        ],
    )
    def test_the_time_says_how_far_it_is(self, keyed, now, phase):
        keyed.private.unlink()  # nothing is opened here
        assert served(keyed, asking(STATE), now=now).json()["phase"] == phase


class TestTheGate:
    @pytest.mark.slow
    def test_the_estimates_are_those_of_the_page(self, keyed, sealed):
        found = opened(keyed, release(sealed))
        assert found.facts["phase"] == "opened" and found.facts["estimates"]
        assert found.facts["opened_people"] == PEOPLE
        plan = INVITED.plan
        received = receipts_of(plan, [found.folder])
        made = estimate(plan, incrowd.load_reports(found.folder), received=received)
        assert found.page.text == main_part(page(made)) and "<h1" not in found.page.text
        assert "<svg" in found.page.text, "and the policy forbids the styles of elements"
        assert not re.search(r"\bstyle=", found.page.text)
        assert "<script" not in found.page.text and " style=" not in found.page.text
        epsilon = found.facts["guarantee"]["epsilon"]
        assert epsilon == pytest.approx(made.guarantee.epsilon)

    def few(self, numbers):
        """Two people, where the plan counts on three, and much that cannot be opened."""
        real = all_sealed([each for n in numbers for each in make_vectors.inside(n)])
        garbage = range((PEOPLE - len(numbers)) * INVITED.places)
        return real + [number.to_bytes(len(real[0])) for number in garbage]

    def test_below_the_crowd_nothing_of_the_answers_is_told(self, places, tmp_path):
        """The same whatever was answered; what is opened differs, and the receipts would tell."""
        said, receipts = set(), set()
        for at, numbers in enumerate([(0, 0), (1, 2), (2, 2)]):
            own = type(places)(tmp_path / str(at))
            own.root.mkdir()
            own.private.write_bytes(RECEIVER.secret)
            own.bundle.write_bytes(INVITED.encoded)
            found = opened(own, release(self.few(numbers)))
            assert found.page.status_code == 404 and found.facts["estimates"] is None
            assert found.facts["phase"] == "opened" and found.facts["opened_people"] == 2
            said.add(found.state.text)
            receipt = json.loads((found.folder / "receipt.json").read_text())
            receipts.add(*receipt["dummies"])
        assert len(said) == 1 and len(receipts) > 1

    def test_while_people_send_there_are_no_estimates(self, keyed):
        assert served(keyed, asking(ESTIMATES)).status_code == 404

    @pytest.mark.slow
    def test_rejected_reports_are_counted_by_kind(self, keyed, sealed):
        garbage = [bytes(len(sealed[0]))] * INVITED.places
        found = opened(keyed, release([*sealed, *garbage]))
        rejected = found.facts["rejected"]
        assert rejected["another-key"] == 1 and rejected["repeated"] == INVITED.places - 1
        assert found.facts["sealed_reports"] == len(sealed) + INVITED.places

    @pytest.mark.slow
    def test_files_that_were_changed_are_a_fault_and_no_traceback(self, keyed, sealed, caplog):
        found = opened(keyed, release(sealed))
        (found.folder / "message-1.parquet").write_bytes(b"x")
        answer = served(keyed, asking(ESTIMATES))
        assert answer.status_code == 500 and answer.json()["type"].endswith("fault")
        assert "the dashboard cannot show" in caplog.text and "Traceback" not in caplog.text

    @pytest.mark.slow
    def test_what_is_sent_does_not_grow_with_the_people(self, places, tmp_path):
        sizes, rows = [], set()
        for people in (4 * PEOPLE, 6 * PEOPLE):
            own = type(places)(tmp_path / str(people))
            own.root.mkdir()
            own.private.write_bytes(RECEIVER.secret)
            own.bundle.write_bytes(INVITED.encoded)
            found = opened(own, release(all_sealed(plaintexts(people))))
            sizes.append((len(found.state.content), len(found.page.content)))
            rows.add(found.page.text.count("<tr"))
        (state, shown), (more_state, more_shown) = sizes
        assert abs(more_state - state) < 40 and len(rows) == 1  # digits of numbers
        assert more_shown < 1.5 * shown  # lines of the charts' axes
