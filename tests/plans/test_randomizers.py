"""Randomizers of the questions' own that cannot be used, and what is said of them."""

import pytest

import incrowd
from incrowd.errors import PrivacyError, SurveyError
from tests.conftest import choice_toml, load_survey, survey_toml, yes_no_toml

WRONG = {
    "a spinner without a number": (yes_no_toml('kind = "warner"'), "spinner, or epsilon"),
    "a number of another kind": (
        yes_no_toml('kind = "warner", noise = 0.2'),
        "spinner, or epsilon",
    ),
    "two numbers for one": (
        yes_no_toml('kind = "warner", spinner = 0.7, epsilon = 1.0'),
        "spinner, or",
    ),
    "half an instantaneous stage": (
        yes_no_toml('kind = "rappor", f = 0.4, one_if_one = 0.7'),
        "one_if_zero and one_if_one",
    ),
    "an unknown kind": (yes_no_toml('kind = "dice"'), "kind"),
    "an unknown number": (yes_no_toml('kind = "warner", spiner = 0.7'), "did you mean spinner"),
    "noise of one half": (yes_no_toml('kind = "bit flip", noise = 0.5'), "less than 0.5"),
    "k-ary on yes/no": (yes_no_toml('kind = "k-ary", keep = 0.7'), "exactly one answer"),
    "k-ary on multi": (
        "id = 'm'\ntype = 'multi'\nat_most = 1\noptions = ['u', 'v']\n"
        "randomizer = {kind = 'k-ary', keep = 0.7}",
        "exactly one answer",
    ),
    "k-ary on text": (
        "id = 't'\ntype = 'text'\nrandomizer = {kind = 'k-ary', keep = 0.7}",
        "can only have the randomizer 'bit flip'",
    ),
    "a spinner on text": (
        "id = 't'\ntype = 'text'\nrandomizer = {kind = 'warner', spinner = 0.7}",
        "can only have the randomizer 'bit flip'",
    ),
    "memory without a permanent response": (
        yes_no_toml('kind = "warner", spinner = 0.7, memoized = true'),
        "only the kind 'rappor'",
    ),
}


@pytest.mark.parametrize(("question", "told"), WRONG.values(), ids=WRONG)
def test_wrong_devices_are_told_apart_in_the_survey(question, told, tmp_path):
    with pytest.raises(SurveyError) as error:
        load_survey(tmp_path, survey_toml(question))
    assert len(error.value.problems) == 1
    assert "question[1]" in str(error.value) and told in str(error.value)


UNUSABLE = {
    "reports that say nothing": ('kind = "bit", one_if_zero = 0.4, one_if_one = 0.4', "inverted"),
    "a spinner that says nothing": ('kind = "warner", spinner = 0.5', "inverted"),
    "a second stage that says nothing": (
        'kind = "rappor", f = 0.2, one_if_zero = 0.5, one_if_one = 0.5',
        "inverted",
    ),
    "a report that only one answer gives": (
        'kind = "bit", one_if_zero = 0.0, one_if_one = 0.5',
        "some report would reveal an answer",
    ),
}


@pytest.mark.parametrize(("said", "told"), UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_devices_without_information_or_privacy_are_refused(said, told, analysis, tmp_path):
    privacy = f"epsilon = 3.0\nanalysis = '{analysis}'"
    survey = load_survey(
        tmp_path, survey_toml(yes_no_toml(said), "id = 'old'\ntype = 'yesno'", privacy=privacy)
    )
    with pytest.raises(PrivacyError, match=told) as error:
        incrowd.plan(survey)
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("keep", [0.2, 1 / 3])
def test_k_ary_responses_without_information_are_refused(keep, tmp_path):
    with pytest.raises(PrivacyError, match=r"question drinks, randomizer\.(keep|channel)"):
        incrowd.plan(
            load_survey(tmp_path, survey_toml(choice_toml(f'kind = "k-ary", keep = {keep!r}')))
        )


@pytest.mark.parametrize("others", [[], ["id = 'old'\ntype = 'yesno'"]])
@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_a_device_that_breaks_the_promise_by_itself_is_refused(others, analysis, tmp_path):
    """Whatever noise the other questions get; the message says how far it is off."""
    loud = yes_no_toml('kind = "warner", spinner = 0.95')
    privacy = f"epsilon = 0.1\ndelta = 1e-6\nanalysis = '{analysis}'"
    survey = load_survey(tmp_path, survey_toml(loud, *others, privacy=privacy, crowd=100))
    with pytest.raises(PrivacyError) as error:
        incrowd.plan(survey)
    assert len(error.value.problems) == 1
    assert any(word in str(error.value) for word in ("at best", "at least"))


def test_an_outlier_analysis_is_about_bit_flips(tmp_path):
    privacy = "epsilon = 1.0\nanalysis = 'outlier'"
    said = 'kind = "bit", one_if_zero = 0.1, one_if_one = 0.7'
    with pytest.raises(PrivacyError, match="bit flips"):
        incrowd.plan(load_survey(tmp_path, survey_toml(yes_no_toml(said), privacy=privacy)))
