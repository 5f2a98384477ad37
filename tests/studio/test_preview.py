"""The preview: the real survey page, which gets its bundle from the studio and sends nothing."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from incrowd.collection.page.files import HOSTS
from incrowd.collection.protocol.bundle import Bundle
from incrowd.studio.document import version
from incrowd.studio.operations import AddQuestion, SetValue
from incrowd.studio.preview import preview_of
from incrowd.studio.publication import parsed, save_publication
from tests.oracles.studio import ORIGIN

TEXT = """\
name = "Health"
crowd = 1000
rows_per_person = 2

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"
text = { en = "Do you smoke?", de = "Rauchen Sie?" }

[[question]]
id = "region"
type = "choice"
options = ["north", "south"]
open = true
values = { 1 = "north", 2 = "south" }

[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]

[[table]]
questions = ["smokes", "age"]
"""


@pytest.fixture
def project(studio):
    return studio.projects.create("Health", TEXT)


def opened(browser):
    """The preview of the newest version."""
    response = browser.get("/p/health/preview/")
    return browser.get(response.headers["location"]) if response.status_code == 303 else response


def config_of(page):
    return json.loads(re.search(r'id="config"[^>]*>(.*?)</script>', page, re.DOTALL)[1])


def test_it_is_the_survey_page_and_only_the_studio_can_frame_it(browser, project, stranger):
    response = opened(browser)
    assert response.status_code == 200
    policy = response.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in policy and f"connect-src {ORIGIN};" in policy
    assert "unsafe" not in policy and "form-action 'none'" in policy
    for name in re.findall(r'(?:src|href)="(?:\./)?([\w-]+\.(?:js|css))"', response.text):
        assert browser.get(f"/p/health/preview/{version(TEXT)}/{name}").status_code == 200
    for name in (*HOSTS, "..%2Fsurvey.toml", "nothing.js", "%2e%2e/survey.toml"):
        assert browser.get(f"/p/health/preview/{version(TEXT)}/{name}").status_code in (404, 422)


def test_its_bundle_needs_the_secret_and_no_cookie(browser, project, keys):
    config = config_of(opened(browser).text)
    (service,) = config["services"]
    assert service.startswith(f"{ORIGIN}/preview/{keys.preview}/health/")
    browser.cookies.clear()
    response = browser.get(f"{service}/bundle")
    bundle = Bundle.parse(response.content)
    assert bundle.digest.hex() == config["digest"]
    assert [each.id for each in bundle.plan.survey.questions] == ["smokes", "region", "age"]
    assert browser.get(f"{service}/bundle".replace(keys.preview, "x" * 43)).status_code == 403
    assert browser.get(f"/preview/{keys.preview}/../../").status_code in (403, 404)
    assert browser.get("/p/health/preview/").status_code == 403


def test_nothing_can_be_sent(browser, project):
    (service,) = config_of(opened(browser).text)["services"]
    browser.cookies.clear()
    assert browser.post(f"{service}/upload", content=b"x").status_code == 403
    assert browser.request("DELETE", f"{service}/upload", content=b"x").status_code == 403


def test_the_figures_are_those_that_the_survey_requests(browser, project):
    promise = config_of(opened(browser).text)["promise"]
    assert promise["factor"] == "2.72" and promise["crowd"] == 1000
    assert promise["local_factor"] == "practically-none" or float(promise["local_factor"]) > 2.72


def test_a_page_that_was_loaded_before_a_change_still_finds_its_bundle(browser, project):
    config = config_of(opened(browser).text)
    project.change(AddQuestion({"id": "new", "type": "yesno"}), expected=version(TEXT))
    response = browser.get(f"{config['services'][0]}/bundle")
    assert Bundle.parse(response.content).digest.hex() == config["digest"]
    assert config_of(opened(browser).text)["digest"] != config["digest"]


def test_requests_at_the_same_time_belong_to_one_bundle(project):
    with ThreadPoolExecutor(8) as pool:
        previews = [*pool.map(lambda _: preview_of(project, version(TEXT), ORIGIN), range(8))]
    assert len({each.bundle for each in previews}) == 1
    digest = Bundle.parse(previews[0].bundle).digest.hex()
    assert config_of(previews[0].files["index.html"].decode())["digest"] == digest


@pytest.mark.parametrize(
    "change", [SetValue(("crowd",), 1), SetValue(("question",), None), SetValue(("name",), 3)]
)
def test_a_mistaken_survey_has_no_preview(browser, project, change):
    project.change(change, expected=version(TEXT))
    response = opened(browser)
    assert response.status_code == 422 and "There is no preview yet." in response.text
    assert "frame-ancestors 'self'" in response.headers["content-security-policy"]


def test_an_unknown_version(browser, project, keys):
    response = browser.get(f"/preview/{keys.preview}/health/{'0' * 64}/bundle")
    assert response.status_code == 422 and "reload the page" in response.text


def test_the_introduction_is_above_the_questions(project):
    save_publication(project, parsed({"introduction": "Hello.\nTwo minutes."}), version(""))
    preview = preview_of(project, project.current_version(), f"{ORIGIN}/preview")
    assert Bundle.parse(preview.bundle).wording.introduction == "Hello.\nTwo minutes."
    (project.path / "publication.toml").write_text("mixers = 3")
    preview = preview_of(project, project.current_version(), f"{ORIGIN}/preview")
    assert Bundle.parse(preview.bundle).wording.introduction == ""
