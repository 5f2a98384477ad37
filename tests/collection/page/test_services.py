"""What a survey page is told if services add the noise: figures, and who runs both services."""

import html
import json
import re

import pytest

from incrowd.collection.claims import claims_of_plan
from incrowd.collection.page.files import PageContent, page_files, shipped
from incrowd.guarantees.collected import guarantee_of
from tests.conftest import services_plan

CONFIG = re.compile(r'<script type="application/json" id="config">(.*?)</script>', re.DOTALL)


def told(plan, **changes):
    """The promise in the configuration of the page."""
    promise = guarantee_of(plan, claims=[claims_of_plan(plan, **changes)])
    content = PageContent(plan, ("https://mix.example",), promise, "", "Bullying", "en")
    page = page_files(content, shipped())["index.html"].decode()
    text = html.unescape(CONFIG.search(page).group(1))
    return json.loads(text, parse_constant=pytest.fail)["promise"]


def test_a_page_is_told_the_factor_and_that_no_crowd_is_needed():
    """e^2 is 7.389..."""
    promise = told(services_plan())
    assert promise["services"] and promise["factor"] == "7.39" and promise["delta"] == "1e-05"
    assert promise["crowd"] is promise["local_factor"] is promise["service_factor"] is None


def test_a_service_may_learn_more_than_readers():
    """e^3 is 20.08..."""
    promise = told(services_plan(3.0))
    assert promise["factor"] == "7.39" and promise["service_factor"] == "20.1"


def test_readers_are_protected_from_one_party_but_not_beside_a_joint_report():
    promise = told(services_plan(), one_party=True)
    assert promise["factor"] == "7.39" and promise["service_factor"] is None
    joint = told(services_plan(joint=True), one_party=True)
    assert joint["services"] and joint["factor"] is joint["service_factor"] is None


def test_a_joint_report_beside_the_cells_needs_a_crowd():
    assert told(services_plan(joint=True))["crowd"] == 60


@pytest.mark.parametrize("tag", ["en", "de"])
def test_texts_about_services_name_no_crowd_and_no_factor_of_a_coalition(tag):
    """Nothing is left towards both services, and any number of people may answer."""
    texts = shipped()[tag]
    for key in ("added", "added_alone", "promise_rests_services", "cheat_both_added"):
        assert "{crowd}" not in texts[key] and "{factor}" not in texts[key]
