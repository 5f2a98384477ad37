"""People of a list are invited in Chromium, and their printed letters are scanned."""

import csv

import pytest

from incrowd.studio.projects import Projects
from tests.oracles.invited_project import SITE, SURVEY, published
from tests.oracles.make_vectors import INVITED
from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
LEAST_CM = 2.5


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What was seen in the browser, and the rows of the file for mail programs."""
    folder = tmp_path_factory.mktemp("inviting")
    (folder / "surveys").mkdir()
    published(Projects(folder / "surveys").create("Trial", SURVEY), INVITED)
    people = folder / "people.csv"
    people.write_text("Name;Mail\nJörg;j@x.example\nAda;a@x.example\nBo;b@x.example\n", "utf-8")
    with running_studio(folder / "surveys") as address:
        given = {"address": address, "list": str(people), "folder": str(folder)}
        seen = in_browser("studio_inviting.mjs", **given)
    with (folder / "invitations.csv").open(encoding="utf-8-sig", newline="") as file:
        return seen, list(csv.DictReader(file))


def test_letters_are_scanned_from_the_printed_page(printed):
    seen, rows = printed
    assert [row["Name"] for row in rows] == ["Jörg", "Ada", "Bo"]
    for kind, pages in (("letters", 3), ("strips", 1)):
        assert [code["text"] for code in seen[kind]["codes"]] == [row["link"] for row in rows]
        assert min(code["cm"] for code in seen[kind]["codes"]) >= LEAST_CM
        assert seen[kind]["pages"] == pages


def test_the_page_is_usable_and_copies_the_reminder(printed):
    seen, _ = printed
    assert seen["complaints"] == [] and seen["width"] == 360
    assert seen["violations"] == {"before": [], "narrow": []}
    assert seen["copied"].startswith("Guten Tag,") and SITE in seen["copied"]
