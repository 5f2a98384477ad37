"""What the page says of answers that travel in pieces, and the examples of them that it shows."""

import socket
from contextlib import ExitStack

import pytest

import incrowd
from incrowd.collection.page.files import asked_in, page_files, shipped
from tests.oracles.node import has_browser
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written

pytestmark = pytest.mark.slow  # they start a browser, as quick tests of the survey page do

DRAWS = 40
CROWD = 300
SURVEY = {
    "name": "Answers in pieces",
    "crowd": CROWD,
    "privacy": {"epsilon": 1.0, "delta": 1e-5},
    "question": [
        {"id": "smokes", "type": "yesno", "text": {"en": "Do you smoke?", "de": "Rauchen Sie?"}},
        {
            "id": "health",
            "type": "choice",
            "options": ["good", "poor"],
            "optional": True,
            "text": "How is your health?",
        },
        {"id": "drives", "type": "yesno", "text": "Do you drive?"},
        {
            "id": "drinks",
            "type": "multi",
            "options": ["beer", "wine", "milk"],
            "at_most": 2,
            "text": "What do you drink?",
        },
        {"id": "visits", "type": "number", "edges": [0, 1, 3, 6], "text": "How many visits?"},
    ],
    "message": [
        {"questions": ["smokes", "health"], "cells": True},
        {"questions": ["drives"], "cells": True},
        {"questions": ["drinks", "smokes"], "cells": True},
        {"questions": ["visits"]},
    ],
}
NOTHING = {"nothing", "nothing of yours, by chance"}
TRUE = {0: ["Yes / good"], 2: [], 3: ["beer / Yes", "milk / Yes", "any answer / Yes"]}  # by row


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a person reads who smokes, is well, does not drive, and drinks beer and milk."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    return visit(tmp_path_factory.mktemp("pieces"))


def visit(folder, shots=None, draws=DRAWS, survey=SURVEY, **changes):
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(shuffler, incrowd.Survey.of(survey), folder, **changes)
        codes = running.enter_context(served(bundle, signer, folder, door, 1))
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        given = {"page": host, "digest": bundle.digest.hex(), "code": codes[0]}
        found = in_browser("pieces.mjs", given | {"draws": draws, "shots": shots})
    noise = [(message.noise and message.noise.q) or 0.0 for message in bundle.plan.messages]
    return found | {"hidden": [float(f"{CROWD * q:.2g}") for q in noise[:3]]}


def told(seen, row):
    """Of every draw the lines beside one question."""
    return [example[row] for example in seen["examples"]]


@pytest.mark.parametrize("row", TRUE)
def test_the_example_shows_true_pieces_and_invented_ones(seen, row):
    """A true piece is left out by chance, and so is nearly every other one; in 40 draws none is
    left out every time (false alarms below 1e-9 where noise is below a half)."""
    kept, invented = set(), set()
    for first, *rest in told(seen, row):
        kept |= {*first.split("; ")} - NOTHING
        for line in rest:
            if line.startswith("and made up: "):
                pieces = line.removeprefix("and made up: ").split(" and ")[0]
                invented |= {*pieces.split("; ")}
    assert kept == {*TRUE[row]}
    assert invented and not invented & kept


def test_how_many_invented_pieces_hide_each(seen):
    """Of the crowd, as many as the noise invents; a lone "no" sends nothing that has to hide."""
    for message, row in ((0, 0), (2, 3)):
        line = f"About {seen['hidden'][message]:g} made-up pieces will say the same"
        for first, *rest in told(seen, row):
            assert any(each.startswith(line) for each in rest) == (first not in NOTHING)
    assert all(first == "nothing" for first, *_ in told(seen, 2))
    assert any(rest == ["and made up: Yes"] for _, *rest in told(seen, 2))
    assert not any("made-up pieces" in line for lines in told(seen, 2) for line in lines)


def test_each_question_says_where_its_pieces_stand(seen):
    assert all(lines[-1] == "together with What do you drink?" for lines in told(seen, 0))
    assert all(lines == ["together with Do you smoke?"] for lines in told(seen, 1))
    assert not any("together" in line for lines in told(seen, 3) for line in lines)


def test_the_promise_says_what_really_hides_people(seen):
    pieces, rest = seen["claims"]
    assert f"mixed with the pieces of at least {CROWD} people" in pieces
    assert f"about {min(seen['hidden']):g} or more identical ones are made up" in pieces
    assert "Your other answers are changed at random" in rest
    assert any("would know which pieces came from you" in line for line in seen["cheat"])
    assert "pieces with your answers" in seen["example"]


def test_in_german_narrow_and_for_everybody(seen):
    assert "in Stücken" in seen["german"]["claims"][0]
    assert seen["german"]["example"][1] == ["zusammen mit Rauchen Sie?"]
    assert not seen["tooWide"]
    assert (seen["axe"], seen["axeGerman"], seen["complaints"]) == ([], [], [])


def test_where_nobody_mixes_nothing_is_said_to_hide(tmp_path):
    """One party shuffles and opens: the invented pieces of others hide nobody."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    seen = visit(tmp_path, draws=5, local_only=True)
    assert "mixed" not in " ".join(seen["claims"])
    assert "made-up pieces" not in str(seen["examples"])


def test_with_noise_from_the_services_nothing_is_made_up(tmp_path):
    """What a person sees is what she sends, and nothing can be drawn again."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    tables = [{"questions": each["questions"]} for each in SURVEY["message"]]
    privacy = SURVEY["privacy"] | {"noise": "services"}
    few = {"crowd": 60, "privacy": privacy, "message": [], "table": tables}
    seen = visit(tmp_path, draws=1, survey=SURVEY | few)
    [example] = seen["examples"]
    crossed = "Yes / beer; Yes / milk; Yes / any answer"
    assert example[0] == ["Yes / good", crossed] and example[2] == ["a dummy"]
    assert "made up" not in str(seen["examples"]) and "made-up" not in str(seen["examples"])
    assert not any(sign in str(seen) for sign in ("NaN", "undefined", "Infinity", "null"))
    assert not seen["tooWide"]
    assert (seen["axe"], seen["axeGerman"], seen["complaints"]) == ([], [], [])
