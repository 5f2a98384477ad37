"""Publishing: what the studio writes is what the commands write, and nothing typed is lost."""

import errno
import html
import io
import re
import tomllib
import zipfile
from functools import cache
from threading import Thread
from unittest import mock

import pytest

import incrowd
from incrowd.collection.claims import bundle_guarantee, claims_of_plan
from incrowd.collection.hosting import prepare, with_settings
from incrowd.collection.inviter.init import MixersTerms
from incrowd.collection.mixer.init import ShufflerTerms
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import write_private
from incrowd.guarantees.collected import guarantee_of
from incrowd.plans import Plan
from incrowd.presentation.guarantee_text import against_sentence
from incrowd.studio import preparation, publication
from incrowd.studio.evidence import WAITS, plan_file, steps
from incrowd.studio.preparation import certify, perform, take_bundle, zipped
from incrowd.studio.publication import Publication, load_publication, parsed
from incrowd.studio.publishing import fields_of
from incrowd.studio.work import Job
from incrowd.survey import Survey
from tests.conftest import one_in, run
from tests.oracles import mixers

SURVEY = """name = "Smoking & <drinking>"  # a comment
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"
"""
FORM = {
    "step": "terms",
    "choice": "shuffler",
    "here-1": "collector",
    "organization-shuffler": "Computing Center",
    "address-shuffler": "https://mix.example",
    "organization-collector": "Institute",
    "address-collector": "https://count.example",
    "survey_page": "https://survey.example",
    "language": "en",
    "period": "March 2027",
    "opens": "2027-03-01T08:00",
    "closes": "2027-03-31T20:00",
    "disposes": "",
    "invitations": "1200",
    "introduction": 'Thank you.\r\nIt takes a "minute".',
}
PARAGRAPHS = FORM["introduction"].replace("\r\n", "\n")  # browsers send CR LF
TWO = FORM | {
    "choice": "mixers",
    "here-2": "collector",
    **{f"organization-{name}": f"The {name}" for name in ("inviter", "first", "second")},
    **{f"address-{name}": f"https://{name}.example" for name in ("inviter", "first", "second")},
}
PAGE = "/p/smoking/publish"
TERMS, EXCHANGE, RUN = (f"{PAGE}?step={step}" for step in ("terms", "exchange", "run"))


@pytest.fixture
def project(studio):
    project = studio.projects.create("smoking", SURVEY)
    return project


@cache
def certified():
    """The plan of the survey, as `certify` writes it."""
    return incrowd.plan(Survey.of(tomllib.loads(SURVEY))).dumps()


@pytest.fixture
def planned(project):
    project.plan_path.write_text(certified())
    return project


def version_in(page):
    return re.search('name="version" value="([0-9a-f]*)"', page.text)[1]


def choose(browser, **changes):
    form = FORM | changes
    return browser.post(f"{PAGE}/choices", data={"version": version_in(browser.get(TERMS))} | form)


def certified_for_precision(browser, studio, project):
    page = browser.post("/p/smoking/precision/certify")  # without script: it waits
    assert ">certified</span>" in page.text
    return studio.jobs.get((project.path, "certify")).result


def published(browser, studio, project):
    assert browser.post(f"{PAGE}/plan").status_code == 303
    job = studio.jobs.get((project.path, "plan"))
    assert job.ended.wait(60) and job.state == "done", job.error
    return job


def states(project):
    survey, chosen = project.survey(), load_publication(project)[0]
    listed = steps(project, survey, chosen, plan_file(project, survey))
    return {step.id: step.state for step in listed}


def do(browser, *names):
    for name in names:
        answer = browser.post(f"{PAGE}/do/{name}")
        assert answer.status_code == 303, answer.text


def colleague(project, folder):
    """What the colleague does with the files: the first start; returns the bundle's bytes."""
    with zipfile.ZipFile(io.BytesIO(zipped(project, "for-shuffler", "en"))) as archive:
        archive.extractall(folder)
    place = folder / "for-shuffler" / "shuffler"
    assert prepare(with_settings(place / "shuffler.toml")) == place / "bundle.json"
    return (place / "bundle.json").read_bytes()


def dying(after):
    """`write_private` that fails after so many files, as if the disk was full from then on."""
    written = []

    def write(path, content, **more):
        if len(written) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write_private(path, content, **more)

    return write


class TestThePlan:
    def test_it_is_what_the_command_writes(self, project, tmp_path):
        digest = certify(lambda text: None, project.path)
        run("plan", project.survey_path, "-o", tmp_path / "plan.json")
        assert project.plan_path.read_bytes() == (tmp_path / "plan.json").read_bytes()
        assert Plan.load(project.plan_path).digest == digest

    def test_what_the_page_of_precision_certified_is_not_computed_again(
        self, browser, project, studio, tmp_path
    ):
        ready = certified_for_precision(browser, studio, project)
        job = published(browser, studio, project)
        assert job.arguments[1] is ready and job.progress == ""  # making a plan reports progress
        run("plan", project.survey_path, "-o", tmp_path / "plan.json")
        assert project.plan_path.read_bytes() == (tmp_path / "plan.json").read_bytes()
        comment = SURVEY.replace("# a comment", "")
        project.survey_path.write_text(comment)
        assert published(browser, studio, project).progress == ""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("was", "now"),
        one_in(
            2,
            [
                ("crowd = 1000", "crowd = 1001"),
                ("Do you smoke?", "Do you smoke now?"),
                ("Smoking &", "Smoking and"),
                ('type = "yesno"', 'type = "yesno"\nshares = { yes = 0.1 }'),
                ('type = "yesno"', 'type = "choice"\noptions_file = "options.txt"'),
            ],
        ),
    )
    def test_any_change_of_the_survey_needs_a_new_certificate(
        self, browser, project, studio, tmp_path, was, now
    ):
        certified_for_precision(browser, studio, project)
        (project.path / "options.txt").write_text("a\nb\nc\n")
        project.survey_path.write_text(SURVEY.replace(was, now))
        assert published(browser, studio, project).progress != ""
        run("plan", project.survey_path, "-o", tmp_path / "plan.json")
        assert project.plan_path.read_bytes() == (tmp_path / "plan.json").read_bytes()

    def test_a_changed_file_of_options_needs_a_new_certificate(self, browser, project, studio):
        options = project.path / "options.txt"
        options.write_text("a\nb\nc\n")
        listed = 'type = "choice"\noptions_file = "options.txt"'
        project.survey_path.write_text(SURVEY.replace('type = "yesno"', listed))
        certified_for_precision(browser, studio, project)
        options.write_text("a\nb\nd\n")
        assert published(browser, studio, project).progress != ""
        assert plan_file(project, project.survey()).state == "current"

    def test_a_change_in_the_last_moment_is_certified(self, project):
        """While the job starts: the plan that was ready is no longer that of the survey."""
        ready = incrowd.plan(project.survey())
        project.survey_path.write_text(SURVEY.replace("crowd = 1000", "crowd = 1001"))
        certify(lambda text: None, project.path, ready)
        assert Plan.load(project.plan_path).survey.crowd == 1001

    def test_it_is_current_until_the_survey_changes(self, browser, planned):
        assert plan_file(planned, planned.survey()).state == "current"
        certify = f"{PAGE}?step=certify"
        assert "matches the current survey" in browser.get(certify).text
        planned.survey_path.write_text(SURVEY.replace("crowd = 1000", "crowd = 1001"))
        assert plan_file(planned, planned.survey()).state == "stale"
        assert "plan.json is out of date" in browser.get(certify).text
        planned.survey_path.write_text(SURVEY.replace("# a comment", ""))
        assert plan_file(planned, planned.survey()).state == "current"

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 9000])
    def test_a_damaged_file_is_named(self, browser, planned, content):
        planned.plan_path.write_bytes(content)
        page = browser.get(PAGE)
        assert page.status_code == 200 and "plan.json cannot be read" in page.text

    def test_a_full_disk_keeps_the_old_plan(self, planned):
        before = planned.plan_path.read_bytes()
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch("incrowd.files.os.fsync", side_effect=full), pytest.raises(IncrowdError):
            certify(lambda text: None, planned.path)
        assert planned.plan_path.read_bytes() == before
        assert [path.name for path in planned.path.iterdir() if "plan" in path.name] == [
            "plan.json"
        ]

    def test_a_survey_with_mistakes_cannot_be_published(self, browser, project):
        project.survey_path.write_text('name = "x"')
        page = browser.get(PAGE)
        assert page.status_code == 200 and "cannot be published yet" in page.text
        assert browser.post(f"{PAGE}/plan").status_code == 422
        assert not project.plan_path.exists()


class TestTheChoices:
    def test_they_are_kept_as_toml_and_shown_again(self, browser, planned):
        assert choose(browser).status_code == 303
        stated = tomllib.loads((planned.path / "publication.toml").read_text())
        assert stated["addresses"]["shuffler"] == "https://mix.example"
        assert stated["introduction"] == PARAGRAPHS
        assert stated["opens"] == "2027-03-01T08:00:00Z" and stated["mixers"] == 1
        page = html.unescape(browser.get(TERMS).text)
        for name in ("period", "introduction", "invitations"):
            assert FORM[name].replace("\r\n", "\n") in page

    @pytest.mark.parametrize(
        ("field", "wrong", "named"),
        [
            ("address-shuffler", "http://mix.example", "https://"),
            ("address-shuffler", "mix example", "address"),
            ("survey_page", "javascript:alert(1)", "https://"),
            ("opens", "tomorrow", "time"),
            ("invitations", "many", "whole number"),
            ("invitations", "99999999", "10,000,000"),
        ],
    )
    def test_a_mistake_keeps_what_was_typed(self, browser, planned, field, wrong, named):
        answer = choose(browser, **{field: wrong})
        assert answer.status_code == 422 and named in html.unescape(answer.text)
        assert wrong in answer.text and FORM["period"] in answer.text
        assert not (planned.path / "publication.toml").exists()

    def test_two_windows_do_not_overwrite_each_other(self, browser, planned):
        first = version_in(browser.get(TERMS))
        assert choose(browser, period="April").status_code == 303
        answer = browser.post(f"{PAGE}/choices", data=FORM | {"version": first, "period": "May"})
        assert answer.status_code == 409 and 'value="May"' in answer.text
        assert load_publication(planned)[0].period == "April"
        again = FORM | {"version": version_in(answer), "period": "May"}
        assert browser.post(f"{PAGE}/choices", data=again).status_code == 303
        assert load_publication(planned)[0].period == "May"

    def test_a_full_disk_is_said_and_nothing_is_lost(self, browser, planned):
        choose(browser)
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch("incrowd.files.os.fsync", side_effect=full):
            answer = choose(browser, period="April")
        assert answer.status_code == 422 and "No space left" in answer.text
        assert 'value="April"' in answer.text
        assert load_publication(planned)[0].period == "March 2027"

    def test_a_file_with_mistakes_is_named(self, browser, planned):
        (planned.path / "publication.toml").write_text("mixers = 3\n[addresses]\nnobody = 'x'")
        page = browser.get(PAGE)
        assert page.status_code == 200 and "publication.toml cannot be read" in page.text

    def test_every_choice_says_what_it_promises(self, browser, planned):
        plan = Plan.load(planned.plan_path)
        page = html.unescape(browser.get(f"{PAGE}?step=who").text)
        for claims in (
            claims_of_plan(plan),
            claims_of_plan(plan, 2),
            claims_of_plan(plan, one_party=True),
        ):
            assert str(against_sentence(guarantee_of(plan, claims=[claims]))) in page

    def test_the_promise_of_a_choice_is_that_of_the_bundle(self, planned):
        chosen = parsed({"mixers": 1, "here": "both"})
        assert publication.promise_of(Plan.load(planned.plan_path), chosen).reduced_by == (
            "one-party",
        )
        plan = mixers.bundle().plan
        names = {"inviter": "A", "first": "B", "second": "C", "collector": "D"}
        for changed in ({}, {"first": "D"}, {"first": "d", "second": "D "}):
            runs = names | changed
            made = mixers.bundle(runs=runs)
            chosen = Publication(mixers=2, organizations=runs)
            expected = bundle_guarantee(made)
            assert publication.promise_of(plan, chosen) == expected


class TestTheSteps:
    def test_a_page_at_the_service_needs_no_web_host(self, browser, planned):
        assert "for any web server" in browser.get(f"{PAGE}?step=page").text
        choose(browser, page="service", survey_page="")
        page = browser.get(f"{PAGE}?step=page").text
        assert "Nothing has to be copied" in page and "for any web server" not in page

    def test_a_page_at_the_service_follows_its_address(self, browser, planned):
        choose(browser, **{"page": "service", "survey_page": "", "address-shuffler": ""})
        page = browser.get(f"{PAGE}?step=page").text
        assert "Nothing has to be copied" in page
        choose(browser, **{"survey_page": "", "address-shuffler": "https://new.example"})
        chosen, _ = load_publication(planned)
        assert chosen.survey_page == "https://new.example"

    def test_names_are_asked_where_the_choice_is_made(self, browser, planned):
        choose(browser)
        page = browser.get(f"{PAGE}?step=who").text
        for name, organization in (("shuffler", "Computing Center"), ("collector", "Institute")):
            assert re.search(f'name="organization-{name}"[^>]*value="{organization}"', page)
        assert 'name="organization-shuffler"' not in browser.get(TERMS).text

    @pytest.mark.parametrize("names", [True, False])
    def test_a_sheet_has_no_invalid_address_and_the_chosen_time_zone(self, browser, planned, names):
        none = {"organization-shuffler": "", "organization-collector": ""}
        choose(browser, reach="hand", zone="Asia/Kolkata", **({} if names else none))
        do(browser, "package")
        sheet = (planned.path / "for-shuffler" / "sheet.html").read_text()
        assert ".invalid" not in sheet and "handed over as a file" in sheet
        assert ("Institute, we" in sheet) == names
        assert "April 1, 2027, 1:30 a.m. (UTC+5:30)" in sheet  # 20:00 on March 31 in UTC

    def test_a_sheet_begins_with_the_task(self, browser, planned):
        choose(browser)
        do(browser, "package")
        sheet = (planned.path / "for-shuffler" / "sheet.html").read_text()
        order = ("Your task, in short", "What you must not do", "The addresses of", "<pre")
        places = [sheet.index(each) for each in order]
        assert places == sorted(places)

    def test_what_waits_says_what_happens_next(self, browser, planned):
        choose(browser)
        do(browser, "package")
        page = browser.get(EXCHANGE).text
        assert "May I hand over the addresses" in page
        waiting = page[page.index('id="step-bundle"') :]
        assert "What happens now" in waiting and "send it to whoever invites" in waiting
        choose(browser, choice="both")
        assert "May I hand over the addresses" not in browser.get(EXCHANGE).text

    def test_each_item_that_can_wait_has_words(self, planned):
        survey = planned.survey()
        for form in (FORM, TWO):
            for here in ("collector", "shuffler" if form is FORM else "inviter"):
                chosen = parsed(fields_of(form | {"here-1": here, "here-2": here}))
                listed = steps(planned, survey, chosen, plan_file(planned, survey))
                others = {each.id for each in listed if each.who and not each.here}
                assert others <= WAITS.keys()

    def test_an_unknown_time_zone_is_that_of_this_machine(self):
        for zone in ("", "Nowhere/Town", "../../etc/passwd"):
            assert Publication(zone=zone).time_zone is None

    def test_one_shuffler_from_the_key_to_the_page(self, browser, planned, tmp_path):
        assert states(planned)["choices"] == "next" and states(planned)["package"] == "later"
        choose(browser)
        assert states(planned)["package"] == "next"
        do(browser, "package")  # it makes the key as well
        assert states(planned)["bundle"] == "waits" and states(planned)["page"] == "later"
        sheet = (planned.path / "for-shuffler" / "sheet.html").read_text()
        assert "incrowd host shuffler/shuffler.toml" in sheet
        assert "<drinking>" not in sheet and "--survey-page https://survey.example" in sheet

        data = colleague(planned, tmp_path)
        files = {"file": ("bundle.json", data)}
        assert browser.post(f"{PAGE}/bundle", files=files).status_code == 303
        bundle = Bundle.parse((planned.path / "collector" / "bundle.json").read_bytes())
        assert bundle.encoded == data and bundle.wording.introduction == PARAGRAPHS
        assert bundle.disposes == "2027-04-30T20:00:00Z" and bundle.codes
        do(browser, "page", "card")
        assert states(planned) == {
            **dict.fromkeys(("plan", "collector-key", "choices", "package", "bundle"), "done"),
            **{"page": "done", "card": "done", "invitations": "waits"},
            **{"run-shuffler": "waits", "run-collector": "next"},
        }
        bundle_file = planned.path / "collector" / "bundle.json"
        run("page", bundle_file, "-o", tmp_path / "public")
        for file in (tmp_path / "public").iterdir():
            assert (planned.path / "public" / file.name).read_bytes() == file.read_bytes()
        run("card", bundle_file, "-o", tmp_path / "card.html")
        assert (planned.path / "card.html").read_bytes() == (tmp_path / "card.html").read_bytes()
        page = browser.get(PAGE).text
        assert f"https://survey.example#{bundle.digest.hex()}" in page

    def test_the_terms_say_that_one_party_runs_both(self, browser, planned):
        choose(browser, choice="both")
        do(browser, "collector-key", "package", "bundle", "invitations")
        assert ShufflerTerms.load(planned.path / "collection.toml").local_only
        bundle = Bundle.parse((planned.path / "collector" / "bundle.json").read_bytes())
        assert bundle.one_party and bundle_guarantee(bundle).reduced_by == ("one-party",)
        codes = (planned.path / "codes.csv").read_text().splitlines()
        assert len(codes) == 1201 and "https://survey.example#" in codes[1]
        do(browser, "invitations")  # a second press
        assert (planned.path / "codes.csv").read_text().splitlines() == codes
        assert "Only the local guarantee remains, and every page says so" in browser.get(PAGE).text

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"address-collector": "https://mix.example:444"}, "its own host"),
            (
                {
                    "address-collector": "http://localhost:9001",
                    "address-shuffler": "http://localhost:9002",
                },
                "Everything in one organization",
            ),
            ({"invitations": "1019"}, "should be at least 1,020"),
            ({"closes": "2027-02-01T08:00"}, "should be after"),
            ({"disposes": "2027-03-02T08:00"}, "time of closing"),
            ({"invitations": ""}, "colluding"),
            ({"closes": ""}, "closes"),
            (TWO | {"disposes": "2027-04-01T08:00"}, "a day after closing"),
            (TWO | {"organization-inviter": "institute"}, "invent the crowd"),
            (TWO | {"invitations": "0"}, "everyone needs an invitation"),
            (TWO | {"address-first": ""}, "addresses.first"),
        ],
    )
    def test_contradictions_are_named_before_anything_is_written(
        self, browser, planned, changes, named
    ):
        choose(browser, **changes)
        do(browser, "collector-key")
        assert states(planned)["choices"] == "next"
        assert named in html.unescape(browser.get(TERMS).text)  # the step says what is missing
        answer = browser.post(f"{PAGE}/do/package")
        assert answer.status_code == 422 and named in html.unescape(answer.text)
        assert not (planned.path / "collection.toml").exists()

    def test_a_question_without_a_text_is_named(self, planned):
        planned.survey_path.write_text(SURVEY.replace('text = "Do you smoke?"', ""))
        problems = publication.problems_of(Publication(), planned.survey())
        assert "question smokes" in [problem.field for problem in problems]

    def test_a_stale_plan_is_not_handed_out(self, browser, planned):
        choose(browser)
        do(browser, "collector-key")
        planned.survey_path.write_text(SURVEY.replace("crowd = 1000", "crowd = 1100"))
        answer = browser.post(f"{PAGE}/do/package")
        assert answer.status_code == 422 and "certify the survey first" in answer.text

    def test_a_bundle_of_others_is_refused(self, browser, planned, tmp_path):
        choose(browser)
        do(browser, "collector-key", "package")
        data = colleague(planned, tmp_path)
        for wrong in (b"", b"{}", data[:-1], b" " * ((1 << 24) + 1)):
            answer = browser.post(f"{PAGE}/bundle", files={"file": ("b", wrong)})
            assert answer.status_code == 422 and "bundle" in answer.text
        for right, other in ((b"March", b"April"), (b"2027-03-01", b"2027-03-02")):
            files = {"file": ("b", data.replace(right, other))}
            answer = browser.post(f"{PAGE}/bundle", files=files)
            assert answer.status_code == 422 and "as you chose" in answer.text
        for name in ("private.key", "collector_key.txt"):  # the key of another collection
            (planned.path / "collector" / name).unlink()
        do(browser, "collector-key")
        answer = browser.post(f"{PAGE}/bundle", files={"file": ("b", data)})
        assert answer.status_code == 422 and "key_configuration" in answer.text
        assert not (planned.path / "collector" / "bundle.json").exists()
        planned.survey_path.write_text(SURVEY.replace("crowd = 1000", "crowd = 1100"))
        certify(lambda text: None, planned.path)
        answer = browser.post(f"{PAGE}/bundle", files={"file": ("b", data)})
        assert answer.status_code == 422 and "the plan of this survey" in answer.text

    def test_a_bundle_that_lies_in_the_folder_can_be_taken(self, browser, planned, tmp_path):
        choose(browser)
        do(browser, "collector-key", "package")
        (planned.path / "bundle.json").write_bytes(colleague(planned, tmp_path))
        assert "Use bundle.json from the folder" in browser.get(EXCHANGE).text
        assert browser.post(f"{PAGE}/bundle", data={"dropped": "1"}).status_code == 303
        assert states(planned)["bundle"] == "done"

    def test_two_windows_make_one_key(self, planned):
        threads = [Thread(target=perform, args=(planned, "collector-key", "en")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(path.name for path in (planned.path / "collector").iterdir()) == [
            "collector_key.txt",
            "private.key",
        ]

    def test_a_kill_between_two_files_can_be_repeated(self, browser, planned):
        choose(browser, choice="both")
        for step, module in (
            ("collector-key", "incrowd.collection.collector.places.write_private"),
            ("bundle", "incrowd.collection.mixer.setup.write_private"),
        ):
            if step == "bundle":
                do(browser, "package")
            for number in range(3):
                with mock.patch(module, side_effect=dying(number)):
                    assert browser.post(f"{PAGE}/do/{step}").status_code in (303, 422)
            do(browser, step)
        assert states(planned)["bundle"] == "done"
        bundle = Bundle.parse((planned.path / "collector" / "bundle.json").read_bytes())
        key = (planned.path / "collector" / "collector_key.txt").read_text().strip()
        assert bundle.key.encoded.hex() == key

    def test_unknown_steps_and_files_are_named(self, browser, planned):
        assert "unknown" in browser.post(f"{PAGE}/do/unknown").text
        for name in ("for-shuffler", "collector", ".studio"):
            assert browser.get(f"{PAGE}/files/{name}.zip").status_code == 422

    def test_the_archive_has_what_the_colleague_needs(self, browser, planned):
        choose(browser)
        do(browser, "collector-key", "package")
        answer = browser.get(f"{PAGE}/files/for-shuffler.zip")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert sorted(archive.namelist()) == [
                "for-shuffler/Caddyfile",
                "for-shuffler/Containerfile",
                "for-shuffler/compose.yaml",
                "for-shuffler/incrowd@.service",
                "for-shuffler/sheet.html",
                "for-shuffler/shuffler/given/README.txt",
                "for-shuffler/shuffler/given/collection.toml",
                "for-shuffler/shuffler/given/plan.json",
                "for-shuffler/shuffler/shuffler.toml",
            ]
            contents = b"".join(map(archive.read, archive.namelist()))
        for secret in (planned.path / "collector").glob("*.key"):
            assert secret.read_bytes() not in contents
            assert secret.read_bytes().hex().encode() not in contents

    def test_the_page_is_german_for_a_german_browser(self, browser, planned):
        choose(browser)
        page = browser.get(PAGE, headers={"Accept-Language": "de"}).text
        assert "Austausch der Dateien" in page and "Als Nächstes" in page


class TestTwoMixers:
    def test_each_service_makes_its_keys_and_the_inviter_the_bundle(self, browser, studio, planned):
        choose(browser, **TWO)
        do(browser, "collector-key", "package")
        names = sorted(path.name for path in planned.path.iterdir() if path.is_dir())
        assert names[1:5] == ["collector", "for-first-mixer", "for-inviter", "for-second-mixer"]
        terms = (planned.path / "for-inviter/inviter/given/collection.toml").read_text()
        assert "from the first mixer" in terms
        key = (planned.path / "collector" / "collector_key.txt").read_text().strip()

        choose(browser, **TWO | {"here-2": "first"})
        do(browser, "first-key")
        choose(browser, **TWO | {"here-2": "second"})
        do(browser, "second-key")
        page = html.unescape(browser.get(EXCHANGE).text)
        second = tomllib.loads((planned.path / "second-mixer/second_mixer_keys.toml").read_text())
        assert second["key"] in page
        first = run("first-mixer", "init", planned.path / "other", "--json")
        sent = {
            "key-collector": key,
            "key-first": re.search('"key": "([0-9a-f]+)"', first.stdout)[1],
            "key-second": second["key"],
            "key-second_configuration": second["key_configuration"],
        }
        choose(browser, **TWO | {"here-2": "inviter"} | sent)
        do(browser, "package")
        terms = MixersTerms.load(planned.path / "collection.toml")
        assert terms.first.key == sent["key-first"] and terms.runs.second == "The second"
        tokens = iter(mixers.token_keys())
        with mock.patch("incrowd.collection.inviter.init.new_token_key", lambda: next(tokens)):
            do(browser, "bundle")
        bundle = Bundle.parse((planned.path / "inviter" / "bundle.json").read_bytes())
        assert bundle.mixers == 2 and bundle.key.encoded.hex() == key
        assert len((planned.path / "inviter" / "codes.csv").read_text().splitlines()) == 1201

        for here, folder in (("collector", "collector"), ("second", "second-mixer")):
            chosen = load_publication(planned)[0].model_copy(update={"here": here})  # theirs
            (planned.path / "publication.toml").write_text(chosen.dumps())
            take_bundle(planned, chosen, bundle.encoded)
            assert (planned.path / folder / "bundle.json").read_bytes() == bundle.encoded
        chosen = chosen.model_copy(update={"here": "first"})
        (planned.path / "publication.toml").write_text(chosen.dumps())
        with pytest.raises(UsageError, match=r"bundle\.first\.key"):  # the key of another folder
            take_bundle(planned, chosen, bundle.encoded)


def test_actions_and_steps_have_the_same_names(planned):
    survey = planned.survey()
    listed = {
        step.id
        for number, here in ((1, "both"), (2, "collector"))
        for step in steps(
            planned,
            survey,
            Publication(mixers=number, here=here, invitations=9),
            plan_file(planned, survey),
        )
        if step.action or step.who in (("first",), ("second",))
    }
    missed = preparation.ACTIONS.keys() - listed
    assert missed == set()


def test_certifying_replaces_a_part_of_the_page(browser, planned):
    """The choices that a person typed, and has not saved, stay."""
    answer = browser.post(f"{PAGE}/plan", headers={"HX-Request": "true"})
    assert answer.status_code == 200 and "<html" not in answer.text
    assert 'id="plan"' in answer.text and 'name="period"' not in answer.text
    assert browser.post(f"{PAGE}/plan").status_code == 303  # without script


def test_why_a_survey_cannot_be_planned_is_shown(browser, studio, project):
    job = Job(state="failed", error=UsageError.of("epsilon", "shared.no-path", type="<people>"))
    with mock.patch.object(studio.jobs, "get", return_value=job):
        for page in (f"{PAGE}/plan", f"{PAGE}/rehearsal/state"):
            assert "of type &lt;people&gt;" in browser.get(page).text


def test_a_plan_that_is_not_a_guarantee_is_neither_written_nor_published(browser, project):
    """Whether the studio is asked for it, or the command `plan` wrote it."""
    analysis = 'delta = 1e-3\nanalysis = "outlier"'
    project.survey_path.write_text(SURVEY.replace("delta = 1e-6", analysis))
    with pytest.raises(UsageError, match="not a guarantee"):
        certify(lambda _: None, project.path)
    assert not project.plan_path.exists()
    project.plan_path.write_text(incrowd.plan(project.survey()).dumps())
    choose(browser)
    page = browser.get(f"{PAGE}?step=who").text
    assert "Promise: " not in page and "changes the probability" not in page
    with pytest.raises(UsageError, match="not a guarantee"):
        perform(project, "package", "en")
    preview = browser.get(browser.get("/p/smoking/preview/").headers["location"])
    assert preview.status_code == 422 and "not a guarantee" in preview.text
