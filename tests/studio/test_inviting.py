"""Inviting in the studio: lists, files, texts, and what is never written or shown."""

import csv
import html
import io
import re
import zipfile

import pytest

from incrowd.collection.invitations import remaining
from incrowd.collection.mixer import setup
from incrowd.collection.settings import ShufflerSettings
from tests.oracles import qr
from tests.oracles.invited_project import SITE, SURVEY, published
from tests.oracles.make_vectors import INVITED, OPEN
from tests.oracles.studio import form_fields

PAGE = "/p/trial/publish/invitations"
LIST = "Name,Mail\n" + "".join(f"Jörg {n},{n}@people.example\n" for n in range(5))


@pytest.fixture
def project(studio):
    return studio.projects.create("Trial", SURVEY)


@pytest.fixture
def inviter(project):
    return published(project, INVITED)


def file(browser, name, text="", language="en"):
    return browser.post(f"{PAGE}/file", data={"file": name, "text": text, "language": language})


def take(browser, content=LIST, name="people.csv"):
    return browser.post(f"{PAGE}/people", files={"file": (name, content)})


def rows_of(response):
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def stored(project):
    """Everything in the folder of the project."""
    return b"".join(each.read_bytes() for each in project.path.rglob("*") if each.is_file())


class TestAList:
    def test_gets_invitations_and_its_names_are_never_written(self, browser, inviter):
        before = remaining(inviter.path / "codes.csv")
        assert take(browser).status_code == 303
        response = file(browser, "invitations.csv")
        assert "attachment" in response.headers["content-disposition"]
        rows = rows_of(response)
        assert [row["Name"] for row in rows] == [f"Jörg {n}" for n in range(5)]
        left = remaining(inviter.path / "codes.csv")
        given = {row["code"] for row in rows}
        assert given.isdisjoint(each["code"] for each in left)
        assert given | {each["code"] for each in left} == {each["code"] for each in before}
        unseen = stored(inviter)
        assert "Jörg".encode() not in unseen and b"people.example" not in unseen
        assert not any(code.encode() in unseen for code in given)
        page = browser.get(PAGE).text
        assert "5 people of your list have an invitation" in page and "Jörg" not in page
        assert not any(code in page for code in given)

    def test_every_file_gives_a_person_the_same_invitation(self, browser, inviter):
        take(browser)
        rows = rows_of(file(browser, "invitations.csv"))
        assert rows_of(file(browser, "invitations.csv")) == rows
        page = file(browser, "letters.html", "To {Name}: {code}").text
        assert all(f"To {row['Name']}: {row['code']}" in page for row in rows)
        pictures = [html.unescape(each) for each in re.findall(r'<img src="([^"]+)"', page)]
        assert [qr.read(qr.of_svg(each))[0] for each in pictures] == [row["link"] for row in rows]

    def test_a_second_list_gets_other_invitations(self, browser, inviter):
        take(browser)
        first = rows_of(file(browser, "invitations.csv"))
        assert take(browser, "Name,Mail\nAda,a@x.example\n").status_code == 303
        rows = rows_of(file(browser, "invitations.csv"))
        assert rows[:5] == first and rows[5]["Name"] == "Ada"
        assert len({row["code"] for row in rows}) == 6
        refused = take(browser, "Name\nA\nB\nC\n")
        assert refused.status_code == 422 and "2 invitations are left" in refused.text
        browser.post(f"{PAGE}/forget")
        assert "of your list have an invitation" not in browser.get(PAGE).text

    def test_more_invitations_are_added_to_those_that_are_left(self, browser, inviter):
        before = remaining(inviter.path / "codes.csv")
        assert browser.post(f"{PAGE}/more", data={"number": "3"}).status_code == 303
        after = remaining(inviter.path / "codes.csv")
        assert after[:8] == before and len({each["code"] for each in after}) == 11
        store = setup.open_store(ShufflerSettings(folder=inviter.path / "shuffler"))
        assert store.issued() == 11
        store.engine.dispose()
        for number in ("", "0", "x", "-1"):
            assert browser.post(f"{PAGE}/more", data={"number": number}).status_code == 422
        assert remaining(inviter.path / "codes.csv") == after

    def test_a_printed_page_of_all_invitations_does_not_stay(self, browser, inviter):
        codes = [each["code"] for each in remaining(inviter.path / "codes.csv")]
        (inviter.path / "codes.html").write_text(" ".join(codes))
        take(browser)
        assert not (inviter.path / "codes.html").exists()

    @pytest.mark.parametrize(
        ("content", "named"),
        [("", "is empty"), ("Name\nAda\nAda\n", "rows 2 and 3"), (b"\x00\x01\x02", "got")],
    )
    def test_that_cannot_be_used_changes_nothing(self, browser, inviter, content, named):
        before = (inviter.path / "codes.csv").read_bytes()
        refused = take(browser, content)
        assert refused.status_code == 422 and named in refused.text and "Ada" not in refused.text
        assert (inviter.path / "codes.csv").read_bytes() == before


class TestFiles:
    def test_without_names_are_for_the_invitations_that_are_left(self, browser, inviter):
        codes = [each["code"] for each in remaining(inviter.path / "codes.csv")]
        assert [row["code"] for row in rows_of(file(browser, "invitations.csv"))] == codes
        page = file(browser, "strips.html", language="de").text
        assert 'lang="de"' in page and all(code in page for code in codes)
        with zipfile.ZipFile(io.BytesIO(file(browser, "letters.docx").content)) as word:
            text = word.read("word/document.xml").decode()
        assert all(code in text for code in codes) and "Uni (invites" in text
        assert remaining(inviter.path / "codes.csv")[0]["code"] == codes[0], "nothing was used up"

    def test_a_text_with_an_unknown_name_is_refused_and_stays(self, browser, inviter):
        refused = file(browser, "letters.docx", "Dear {nmae}")
        assert refused.status_code == 422 and "{nmae}" in refused.text
        assert "Dear {nmae}</textarea>" in browser.get(f"{PAGE}?language=en").text
        assert "Guten Tag" in browser.get(f"{PAGE}?language=de").text

    def test_a_text_that_nobody_changed_greets_the_people_of_the_list(self, browser, inviter):
        fields = form_fields(browser.get(f"{PAGE}?language=en").text, "files")
        assert fields["text"] == fields["usual"] and fields["text"].count("Hello,") == 1
        browser.post(f"{PAGE}/file", data=fields | {"file": "letters.html"})
        take(browser)
        assert "Hello {Name}," in browser.get(f"{PAGE}?language=en").text
        assert "Hello Jörg 3," in file(browser, "letters.html").text

    def test_are_destroyed_and_the_step_stays_done(self, browser, inviter):
        codes = [each["code"] for each in remaining(inviter.path / "codes.csv")]
        take(browser)
        assert browser.post(f"{PAGE}/destroy").status_code == 303
        unseen = stored(inviter)
        assert not any(code.encode() in unseen for code in codes)
        assert (inviter.path / "codes.csv").exists()
        assert file(browser, "invitations.csv").status_code == 422
        assert "No invitations are left in the folder" in browser.get(PAGE).text

    def test_an_unknown_file_is_refused(self, browser, inviter):
        assert file(browser, "codes.csv").status_code == 422


class TestWhoInvites:
    def test_before_there_is_a_bundle(self, browser, project):
        assert "when the bundle is there" in browser.get(PAGE).text

    def test_a_collector_gets_texts_and_commands_and_no_invitations(self, browser, project):
        published(project, INVITED, here="collector")
        page = browser.get(PAGE).text
        assert "you should never see them" in page and "incrowd invitations --people" in page
        assert "Give each person an invitation" not in page
        assert take(browser).status_code == 422
        assert file(browser, "invitations.csv").status_code == 422
        assert file(browser, "mail-merge.docx").content[:2] == b"PK"

    def test_a_survey_for_everybody_has_a_poster(self, browser, project):
        published(project, OPEN, invitations=0)
        page = browser.get(PAGE).text
        assert "Poster to print" in page and "List of people" not in page
        poster = file(browser, "poster.html").text
        (picture,) = re.findall(r'<img src="([^"]+)"', poster)
        assert qr.read(qr.of_svg(html.unescape(picture)))[0] == f"{SITE}#{OPEN.digest.hex()}"


def test_the_reminder_is_for_everybody_and_has_no_invitation(browser, inviter):
    page = browser.get(PAGE).text
    section = html.unescape(page[page.index('id="reminder"') :])
    assert "nobody may know who has" in section and "mailto:?subject=Reminder" in section
    for language, greeting in (("en", "Hello,"), ("de", "Guten Tag,")):
        area = re.search(
            rf'<textarea id="reminder-{language}"[^>]*>(.*?)</textarea>', section, re.S
        )
        assert greeting in area[1] and SITE in area[1] and "#" not in area[1]
