"""The card of interviews for review boards: figures by hand, in English and German."""

import json

import pytest

import incrowd
from incrowd.collection.cards import card_of
from incrowd.presentation.card import html, markdown
from tests.oracles.german_pages import english_in, texts_of_page

TEXT = {"en": "Did you pay a bribe?", "de": "Haben Sie Bestechungsgeld gezahlt?"}
DESIGNS = {
    "forced": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    "mangat": {"kind": "mangat", "p": "5/6"},
}


def card(tmp_path, *designs, language="en"):
    asked = "".join(
        f'[[question]]\nid = "q{number}"\ntype = "yesno"\n'
        f'text = {{ en = "{TEXT["en"]} {number}", de = "{TEXT["de"]} {number}" }}\n'
        + "design = { "
        + ", ".join(f"{key} = {json.dumps(value)}" for key, value in DESIGNS[each].items())
        + " }\n"
        for number, each in enumerate(designs)
    )
    path = tmp_path / "survey.toml"
    path.write_text(f'name = "Bribes"\ndevice = {{ kind = "die" }}\n{asked}')
    return card_of(path, language=language)


def test_the_card_of_a_symmetric_design_has_its_factor_and_guess(tmp_path):
    """By hand: 5/6 against 1/6 is a factor of 5, so that odds of 1 to 4 become 5 to 4."""
    made = card(tmp_path, "forced")
    assert made.heading == "Guarantee" and "factor of at most 5." in made.claim
    text = markdown(made)
    assert "| q0 | yes | 5 | 56% |" in text and "| everybody | 2 to 5 | Answer" in text
    assert "The die is fair." in text and "P\\[says y" in text
    assert made.symbols[0] == "Local differential privacy, ε = 1.60944"


def test_the_card_of_a_one_sided_design_has_both_numbers(tmp_path):
    made = card(tmp_path, "mangat", "forced")
    assert made.heading == "Limited guarantee" and not made.proved
    text = markdown(made)
    assert "| q0 | no | can be proved | certain |" in text and "| q0 | yes | 6 | 60% |" in text
    assert "none holds for q0" in made.claim and made.facts["guarantee"]["epsilon"] is None


def test_two_questions_multiply(tmp_path):
    assert "factor of at most 25." in card(tmp_path, "forced", "forced").claim


@pytest.mark.parametrize("design", DESIGNS)
def test_german_cards_are_german(tmp_path, design):
    page = html(card(tmp_path, design, language="de"))
    texts = [each for each in texts_of_page(page) if each not in ("Bribes", "q0")]
    assert [each for each in texts if english_in(each)] == []
    assert "Der Würfel ist nicht gezinkt." in page


def test_the_card_of_an_ordinary_survey_says_what_is_wrong(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('name = "x"\ncrowd = 100\n')
    with pytest.raises(incrowd.SurveyError, match="device"):
        card_of(path)
