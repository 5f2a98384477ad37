"""Characters that hide or imitate: refused or warned of, whatever font or terminal shows them."""

import json
import sys
import unicodedata
import warnings

import pytest
from typer.testing import CliRunner

import incrowd
from incrowd.characters import HIDDEN, hidden, look_alikes, visible
from incrowd.cli.app import app
from incrowd.errors import IncrowdWarning, SurveyError
from tests.oracles import make_vectors

RAW = {"name": "Habits", "crowd": 100, "privacy": {"epsilon": 2.0, "analysis": "local"}}
TOWN = {"id": "town", "type": "choice", "options": ["north", "south"]}
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
# Of the format characters those that are seen, that join letters, or that Unicode added of late.
SEEN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
SEEN |= set("\u200c\u200d") | set(map(chr, range(0x13430, 0x13440)))
WITHOUT_WIDTH = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # of other categories
RESERVED = "\u2065" + "".join(map(chr, [*range(0xFFF0, 0xFFF9), 0xE0000, *range(0xE0002, 0xE0020)]))


def survey(**question):
    return incrowd.Survey.of(RAW | {"question": [TOWN | question]})


def test_every_character_of_unicode_that_controls_or_hides_is_refused():
    """By the properties of Unicode, which the code does not look at."""
    every = [chr(point) for point in range(sys.maxunicode + 1)]
    right = {c for c in every if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - SEEN
    right |= {c for c in every if unicodedata.bidirectional(c) in DIRECTIONS}
    right |= set(WITHOUT_WIDTH) | set(RESERVED)
    assert set(HIDDEN.findall("".join(every))) == right


@pytest.mark.parametrize(
    "character", ["\x1b", "\a", "\r", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028"]
)
@pytest.mark.parametrize(
    ("field", "made"),
    [
        ("name", lambda text: RAW | {"name": text, "question": [TOWN]}),
        ("question[1].id", lambda text: RAW | {"question": [TOWN | {"id": text}]}),
        (
            "question[1].options[2]",
            lambda text: RAW | {"question": [TOWN | {"options": ["a", text]}]},
        ),
        ("question[1].text", lambda text: RAW | {"question": [TOWN | {"text": text}]}),
        ("question[1].help.en", lambda text: RAW | {"question": [TOWN | {"help": {"en": text}}]}),
        (
            "question[1].labels.north",
            lambda text: RAW | {"question": [TOWN | {"labels": {"north": text}}]},
        ),
    ],
)
def test_a_survey_holds_none_and_the_message_shows_none(field, made, character):
    with pytest.raises(SurveyError) as refused:
        incrowd.Survey.of(made(f"a{character}b"))
    message = str(refused.value)
    assert f"{field}: contains U+{ord(character):04X}" in message
    assert not any(hidden(line) for line in message.split("\n"))


def test_paragraphs_are_for_wordings_and_help_alone():
    found = survey(text="One.\n\nTwo?", help="Three.\nFour.")
    assert found.text_of("town") == "One.\n\nTwo?"
    for wrong in ({"options": ["a\nb", "c"]}, {"labels": {"north": "a\nb"}}, {"text": "a\tb"}):
        with pytest.raises(SurveyError, match=r"contains U\+000[9A]"):
            survey(**wrong)


def test_codes_of_a_file_may_be_anything():
    assert survey(values={"n\u200b": "north", "s": "south"}).codes_of("town").values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("north", "North"),
        ("Town A", "Town \u0410"),
        ("scope", "\u0455\u0441\u043e\u0440\u0435"),
        ("Al", "AI"),
        ("10", "1O"),
        ("file", "\ufb01le"),
        ("a b", "a\u00a0 b"),
        ("no", "n\u200do"),
        ("18-25", "18\u201325"),
        ("don't", "don\u2019t"),
    ],
)
def test_options_that_look_alike_are_warned_of(one, other):
    assert list(look_alikes([one, "else", other])) == [(one, other)]
    with pytest.warns(IncrowdWarning, match=r"look alike and differ in (U\+|nothing)"):
        incrowd.plan(survey(options=[one, other]))


@pytest.mark.parametrize(
    "names",
    [
        ["north", "south", "east"],
        ["0", "1", "2", "10", "11", "100", "101"],
        ["Zürich", "Zurich", "résumé", "resume"],
        ["I", "II", "III", "IV"],
        ["\u0434\u0430", "\u043d\u0435\u0442"],
        ["0 to <1", "1 to <3", "3 or more"],
    ],
)
def test_others_are_not(names):
    assert list(look_alikes(names)) == []


def test_an_ordinary_survey_plans_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        incrowd.plan(survey())


def test_what_is_printed_is_escaped_and_stays_json():
    text = json.dumps({"a": "b\x1b\x9b\u202e\U000e0041"}, ensure_ascii=False)
    assert not hidden(visible(text)) and json.loads(visible(text)) == json.loads(text)
    assert visible("one\ntwo") == "one\ntwo"


def test_no_command_prints_a_hidden_character_of_what_it_was_given(tmp_path):
    """Not even one that refuses the file because of it; nor as JSON."""
    file = tmp_path / "survey.toml"
    file.write_text(
        'name = "A\\u001b[2J"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
        '[[question]]\nid = "a\\u202e"\ntype = "choise"\noptions = ["\\u009b2J", "b"]\n'
        '[[table]]\nquestions = ["\\u0007"]\n'
    )
    for more in ([], ["--json"]):
        done = CliRunner().invoke(app, ["plan", str(file), *more], standalone_mode=False)
        text = str(done.exception) + done.output
        assert "U+001B" in text and not any(hidden(line) for line in text.split("\n"))


def test_the_vectors_hold_wrong_bundles_in_plain_sight():
    """So that nobody who reads the file is deceived by what it is about."""
    text = (make_vectors.VECTORS / "bundles.json").read_text()
    assert "\\u202e" in text and not any(hidden(line) for line in text.split("\n"))
