"""Nothing that a browser sends changes a published survey, its plan, its terms, or its bundle."""

import io
import re
import zipfile

import pytest

from incrowd.errors import UsageError
from incrowd.studio import app
from incrowd.studio.packages import package_names
from incrowd.studio.preparation import certify, check_bundle, perform, take_bundle, zipped
from incrowd.studio.publication import (
    load_publication,
    parsed,
    save_publication,
)
from tests.oracles import locked_survey
from tests.oracles.mixers import bundle as bundle_of_two


def names(archive):
    """The files of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return set(opened.namelist())


KEPT = ("survey.toml", "plan.json", "publication.toml", "collection.toml", "drinks.txt")
STEPS = ("collector-key", "first-key", "second-key", "package", "bundle")
TYPED = {
    "invitations": "5000",
    "period": "x",
    "introduction": "no",
    "opens": "2029-01-01T00:00",
    "closes": "2029-03-01T00:00",
}


@pytest.fixture
def project(studio):
    return locked_survey.published_survey(studio.projects)


def kept(project):
    """What was published, and the keys."""
    files = {path.relative_to(project.path).as_posix(): path for path in project.path.rglob("*")}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if name in KEPT or path.name == "bundle.json" or path.suffix == ".key"
    }


@pytest.mark.slow
def test_no_request_changes_what_was_published(browser, studio, project):
    before, (_, version) = kept(project), load_publication(project)
    seen = project.document().version
    routes = [each for area in app.AREAS for each in area(studio)]
    paths = [each.path for each in routes if "POST" in each.methods]
    left_out = ("/delete", "/run/", "/what-if")  # they delete, start processes, compute for long
    paths = [path for path in paths if not any(part in path for part in left_out)]
    assert len(paths) > 40
    known = {"seen": seen, "version": version}
    for path in paths:
        named = path.replace("{name}", "smoking").replace("{service}", "shuffler")
        for step in STEPS if "{step}" in path else ("",):
            url = re.sub(r"\{[^}]*\}", seen, named.replace("{step}", step))
            for choice in ("", "shuffler", "mixers"):
                form = known | TYPED | {"choice": choice} if choice else known
                browser.post(url, data=form)
    assert (job := studio.jobs.get((project.path, "plan"))) and job.ended.wait(60)
    after = kept(project)
    assert set(KEPT) <= set(before)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("here", "collector"),
        ("mixers", 2),
        ("closes", "2027-04-01T00:00:00Z"),
        ("language", "de"),
        ("introduction", "Another one."),
        ("addresses", {"shuffler": "https://other.example"}),
        ("invitations", 0),
    ],
)
def test_choices_in_the_bundle_stay(project, name, value):
    publication, at = load_publication(project)
    with pytest.raises(UsageError, match=f"{name}: is published"):
        save_publication(project, publication.model_copy(update={name: value}), at)
    assert load_publication(project) == (publication, at)


def test_a_plan_is_not_replaced_but_can_be_made_again_if_it_is_lost(project):
    plan = project.plan_path.read_bytes()
    with pytest.raises(UsageError, match="is published"):
        certify(lambda _: None, project.path)
    assert project.plan_path.read_bytes() == plan
    project.plan_path.unlink()
    certify(lambda _: None, project.path)
    assert project.plan_path.exists()


@pytest.mark.parametrize("step", STEPS)
def test_no_second_bundle_follows_from_an_edited_file(project, step):
    """A second collection of the same answers would cost as much again."""
    publication, _ = load_publication(project)
    file = project.path / "publication.toml"
    file.write_text(publication.model_copy(update={"mixers": 2, "here": "inviter"}).dumps())
    before = kept(project)
    with pytest.raises(UsageError, match="is published"):
        perform(project, step, "en")
    with pytest.raises(UsageError, match="is published"):
        take_bundle(project, load_publication(project)[0], b"another bundle")
    assert kept(project) == before


def test_a_colleague_cannot_decide_who_is_one_party(studio, project):
    """A bundle of which one organization opens and mixes is refused, unless that was chosen."""
    publication, _ = load_publication(project)
    data = (project.path / "shuffler" / "bundle.json").read_bytes()
    check_bundle(project, publication, data)
    other = publication.model_copy(update={"here": "collector"})
    with pytest.raises(UsageError, match="local_only"):
        check_bundle(project, other, data)


def test_a_colleague_cannot_name_other_organizations(project):
    bundle = bundle_of_two()
    project.plan_path.write_text(bundle.plan.dumps())
    (project.path / "collector" / "collector_key.txt").write_text(bundle.key.encoded.hex())
    stated = {
        "mixers": 2,
        "here": "collector",
        "addresses": {"collector": bundle.collector_address, "first": bundle.upload_address},
        "organizations": bundle.runs.model_dump(),
        "invitations": 1000,
        **{name: getattr(bundle, name) for name in ("period", "opens", "closes")},
    }
    check_bundle(project, parsed(stated), bundle.encoded)
    for service in stated["organizations"]:
        named = stated["organizations"] | {service: "Somebody else"}
        with pytest.raises(UsageError, match=service):
            check_bundle(project, parsed(stated | {"organizations": named}), bundle.encoded)


def test_an_archive_has_no_keys_of_a_service_that_was_started_in_the_package(studio):
    """It is easy to start it there, to try it."""
    project = studio.projects.create("Smoking", locked_survey.SURVEY, {})
    (project.path / "drinks.txt").write_text("tea\ncoffee\n")
    locked_survey.package(project, here="collector")
    before = zipped(project, "for-shuffler", "en")
    folder = project.path / "for-shuffler" / "shuffler"
    key = b"secret" * 6
    for name in ("signing.key", "store.sqlite", "given/bundle.json", "../codes.csv"):
        (folder / name).write_bytes(key)
    (folder.parent / "Caddyfile").unlink()
    (folder.parent / "Caddyfile").symlink_to(folder / "signing.key")
    after = zipped(project, "for-shuffler", "en")
    assert names(before) - names(after) == {"for-shuffler/Caddyfile"}
    assert names(after) < names(before)
    stated = {f"for-shuffler/{each}" for each in package_names("shuffler")}
    assert names(before) <= stated, "and every file of the package is one of its names"
