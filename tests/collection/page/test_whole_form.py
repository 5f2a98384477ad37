"""An XLSForm of 25 questions: drafted, answered by keyboard on a telephone, collected, and read."""

from __future__ import annotations

import socket
import tomllib
from contextlib import ExitStack

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.rehearsal import crowd_of
from incrowd.collection.taking import read_start
from incrowd.encoding.records import EncodedAnswers
from tests.oracles.node import has_browser
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written
from tests.oracles.whole_form import ITEMS, NO_WORK, exported
from tests.oracles.whole_form import written as form_at

pytestmark = pytest.mark.slow

PEOPLE = 60
# The places of the answers in the form, or what is typed. She works, and smokes enough to be asked
# everything.
TYPED = {
    "How old are you?": "40",
    "What is your sex?": 0,
    "Where do you live?": 0,
    "How many people live with you?": "2",
    "Do you work?": 0,
    "How many hours a week?": "37.5",
    "How do you get there?": 3,
    "Do you work at night?": 1,
    "Do you have breaks?": 1,
    "Do you smoke?": 0,
    "How many cigarettes a day?": "20",
    "Did you try to stop?": 1,
    "What do you drink?": [0, 1],
    "Do you drink during the week?": 0,
    "Do you do sports?": 1,
    "Do you eat fruit?": 2,
    **dict.fromkeys(ITEMS, 1),
    "Do you sleep well?": 0,
    "Did you look for help?": 0,
    "Did you find help?": 1,
}


@pytest.fixture
def survey(tmp_path):
    draft = incrowd.draft(form_at(tmp_path / "form.xlsx"))
    raw = tomllib.loads(draft.toml)
    raw |= {"crowd": crowd_of(PEOPLE), "privacy": {"epsilon": 600.0, "analysis": "local"}}
    return incrowd.Survey.of(raw)


def others() -> pa.Table:
    """All others: a third without work, a third who do not smoke, and a third who smoke little."""
    kinds = [
        {"works": "n", **NO_WORK},
        {"smokes": "n", "cigarettes": "", "quit": ""},
        {"cigarettes": "10", "quit": ""},
    ]
    people = [kinds[number % 3] | {"found_help": "n"} for number in range(PEOPLE - 1)]
    return pa.Table.from_pandas(exported(people))


def test_from_a_form_to_what_its_answers_say(survey, tmp_path):
    """With hardly any noise, the estimates are the numbers of the people."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(shuffler, survey, tmp_path, wanted=PEOPLE, local_only=True)
        codes = running.enter_context(served(bundle, signer, tmp_path, door, PEOPLE))
        encoded = EncodedAnswers.of(survey, others())
        send_each(bundle, encoded, Connection(), codes=[code_field(each) for each in codes[1:]])
        files = page_files(asked_in(tmp_path / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(tmp_path / "public", files)))
        code = codes[0].replace("-", "")
        given = {"link": f"{host}#{bundle.digest.hex()}.{code}", "answers": TYPED}
        seen = in_browser("whole_form.mjs", given)
    assert seen["parts"] == ["About you", "Your work", "Your habits", "Your mood", "review"]
    assert (seen["axe"], seen["tooWide"], seen["complaints"]) == ([], [], [])
    assert seen["reviewed"] == 25
    assert seen["thanks"] == "Thank you for your answers!"
    habits, mood = seen["trees"][2:]
    assert 'spinbutton "How many cigarettes a day?"' in habits and "Did you try to stop?" in habits
    assert all(f'radiogroup "{item}"' in mood for item in ITEMS)
    estimates = read(bundle, tmp_path)
    asked = {id: (each.answers[0], each.estimate) for id, each in estimates.asked.items()}
    answers, shares = asked["quit"]
    assert dict(zip(answers, shares.round(4), strict=True)) == {"yes": 0.0, "no": 1.0}
    answers, shares = asked["cigarettes"]
    many = [float(answer.split()[0]) >= 11 for answer in answers]  # "quit" is asked of these
    without_work, none, few = (sum(n % 3 == kind for n in range(PEOPLE - 1)) for kind in range(3))
    assert shares[many].sum() == pytest.approx(1 - few / (PEOPLE - none), abs=0.01)
    not_asked = {"nights": without_work, "cigarettes": none, "quit": none + few}
    for id, number in not_asked.items():
        assert estimates[id].estimate[-1] == pytest.approx(number / PEOPLE, abs=0.01)


def read(bundle, folder):
    """Open the release as a collector does, and estimate from it."""
    signed, start = read_start(folder / "0.release", Header)
    private = load_private(CollectorPlaces(folder / "collector").private, bundle)
    opened = folder / "opened"
    open_release(folder / "0.release", start, signed, bundle, private, opened, workers=1)
    return incrowd.estimate(bundle.plan, incrowd.load_reports(opened))
