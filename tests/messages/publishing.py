"""What is said in the studio of publishing, rehearsing and watching a collection."""

import shutil
import sys
from unittest import mock

import httpx

import incrowd
from incrowd.studio import rehearsal
from incrowd.studio.document import version
from incrowd.studio.evidence import check_bundle
from incrowd.studio.inviting import MOST_LIST_BYTES, whole_list
from incrowd.studio.own_services import handed_file, hosted_role, start_service, take_release
from incrowd.studio.preparation import (
    certify,
    check_protected,
    checked_plan,
    perform,
    take_bundle,
    zipped,
)
from incrowd.studio.projects import Project
from incrowd.studio.publication import Publication, parsed, save_publication, terms_text
from incrowd.studio.publishing import fields_of
from incrowd.studio.rehearsing import chosen
from incrowd.studio.watching import MOST_BYTES, checked, dashboard, fetched
from incrowd.survey.written import Privacy
from tests.messages.shared import file, made, question, survey
from tests.oracles import mixers
from tests.oracles.make_vectors import CONFIGURATION, INVITED

ADDRESS = "https://count.example"
CHOSEN = {
    "period": INVITED.period,
    "opens": INVITED.opens,
    "closes": INVITED.closes,
    "invitations": 100,
    "addresses": INVITED.addresses.model_dump(),
    "keys": {"collector": CONFIGURATION.encoded.hex()},
}
SERVICES = ("inviter", "first", "second", "collector")
TWO = CHOSEN | {
    "mixers": 2,
    "addresses": {each: f"https://{each}.example" for each in SERVICES},
    "organizations": {each: each for each in SERVICES},
}
ASKED = survey({"id": "a", "type": "yesno", "text": "A?"})
BY_SERVICES = ASKED.model_copy(
    update={"privacy": Privacy(epsilon=2.0, delta=1e-5, noise="services")}
)


def project_of(folder, plan=INVITED.plan):
    """A project with a survey, the plan of the vectors, and the collector's public key."""
    project = Project(folder)
    text = 'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
    file(folder, "survey.toml", text + '[[question]]\nid = "a"\ntype = "yesno"\n')
    project.plan_path.write_text(plan.dumps())
    (folder / "collector").mkdir()
    file(folder, "collector/collector_key.txt", CONFIGURATION.encoded.hex())
    return project


def bundle_for(bundle=INVITED, **changes):
    """The bundle of the vectors, for a project that chose something else."""
    return lambda folder: check_bundle(
        project_of(folder), Publication(**CHOSEN | changes), bundle.encoded
    )


def of_another_plan(folder):
    project = project_of(folder, made())
    check_bundle(project, Publication(**CHOSEN), INVITED.encoded)


def for_another_key(folder):
    project = project_of(folder)
    file(folder, "collector/collector_key.txt", "00")
    check_bundle(project, Publication(**CHOSEN), INVITED.encoded)


def taken(data):
    return lambda folder: take_bundle(project_of(folder), Publication(**CHOSEN), data)


def terms(of=ASKED, **changes):
    return lambda _: terms_text(Publication(**CHOSEN | changes), of, {})


def terms_of_two(of=ASKED, **changes):
    return lambda _: terms_text(Publication(**TWO | changes), of, {})


def with_privacy(**changed):
    """The terms of a survey with other privacy parameters."""
    return terms(ASKED.model_copy(update={"privacy": Privacy(**{"epsilon": 1.0} | changed)}))


def run_by_one(folder):
    """One organization runs everything, and cells leave practically nothing then."""
    asked = {"id": "a", "type": "choice", "options": list("abc"), "text": "A?"}
    plan = incrowd.plan(survey(asked, crowd=20_000, privacy={"epsilon": 1.0, "delta": 1e-6}))
    check_protected(Publication(**CHOSEN | {"here": "both"}), plan)


def rehearsed(people):
    return lambda folder: rehearsal.run(lambda _: None, project_of(folder).path, people, 1)


def responding(status, body=b""):
    """A dashboard that responds with something else than its state."""

    def respond(request):
        if not status:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(status, stream=httpx.ByteStream(body))

    return lambda _: fetched(ADDRESS, "token", httpx.MockTransport(respond))


def slow(folder):
    with mock.patch("incrowd.studio.watching.SECONDS", 0.0):
        responding(200, b"{}")(folder)


HOSTS = {"shuffler": ADDRESS, "collector": f"{ADDRESS}:444"}
SAME = TWO["organizations"] | {"inviter": "collector"}


def ending_at_once(folder):
    project = project_of(folder)
    service = Publication(mixers=1, here="shuffler")
    with mock.patch.object(sys, "executable", shutil.which("false")):
        start_service(project, service, "shuffler")


def published(folder):
    """A project in which another service has a bundle."""
    project = project_of(folder)
    (folder / "shuffler").mkdir()
    file(folder, "shuffler/bundle.json", "{}")
    return project


def other_choices(folder):
    project = published(folder)
    save_publication(project, Publication(language="de"), version(""))


def another_file(folder):
    (folder / "shuffler" / "handover").mkdir(parents=True)
    file(folder, "shuffler/handover/1.release", "")
    handed_file(Project(folder), "shuffler", "2.release")


CASES = {
    "a service that ends at once": ending_at_once,
    "a list of people that is too long": lambda _: whole_list(bytes(MOST_LIST_BYTES + 1), None),
    "a file that was not handed over": another_file,
    "a service of others": lambda _: hosted_role(Publication(), "shuffler"),
    "a release before the bundle": lambda folder: take_release(project_of(folder), folder / "x"),
    "bundle: of two mixers": bundle_for(mixers.bundle()),
    "bundle: of another plan": of_another_plan,
    "bundle: for another key": for_another_key,
    "bundle: another period than was chosen": bundle_for(period="April"),
    "bundle: none": taken(b""),
    "bundle: too large": taken(b" " * ((1 << 24) + 1)),
    "published: certified again": lambda folder: certify(lambda _: None, published(folder).path),
    "published: other choices": other_choices,
    "published: a second bundle": lambda folder: perform(published(folder), "bundle", "en"),
    "step: unknown": lambda folder: perform(project_of(folder), "x", "en"),
    "plan: stale": lambda folder: checked_plan(project_of(folder), Publication()),
    "archive: unknown": lambda folder: zipped(project_of(folder), "collector", "en"),
    "choices: too many invitations": lambda _: parsed({"invitations": 10**8}),
    "choices: changed elsewhere": lambda folder: save_publication(
        project_of(folder), Publication(), "x"
    ),
    "choices: no number": lambda _: fields_of({"invitations": "many"}),
    "terms: a large epsilon": with_privacy(epsilon=20.0, delta=1e-6),
    "terms: a large delta": with_privacy(delta=0.01),
    "terms: one organization and cells": run_by_one,
    "terms: no period": terms(period=""),
    "terms: closes too early": terms(closes=INVITED.opens),
    "terms: one host": terms(addresses=HOSTS),
    "terms: disposed too early": terms(disposes=INVITED.opens),
    "terms: no invitations and nobody colluding": terms(invitations=0),
    "terms: a question without a text": terms(question()),
    "terms of two mixers: no invitations": terms_of_two(invitations=0),
    "terms of two mixers: inviter and collector are one": terms_of_two(organizations=SAME),
    "terms of two mixers: merged strata": terms_of_two(
        ASKED.model_copy(update={"small_strata": "merge"})
    ),
    "terms: merged strata and noise from services": terms(
        BY_SERVICES.model_copy(update={"small_strata": "merge"})
    ),
    "terms of two mixers: noise from services": terms_of_two(BY_SERVICES),
    "rehearsal: two mixers and noise from services": lambda _: chosen(
        {"people": "60", "mixers": "2"}, BY_SERVICES
    ),
    "rehearsal: too many people": rehearsed(10**6),
    "rehearsal: no number of people": lambda _: chosen({"people": "many"}, ASKED),
    "rehearsal: merged strata": lambda _: chosen(
        {"people": "60", "mixers": "2"}, ASKED.model_copy(update={"small_strata": "merge"})
    ),
    "dashboard: no token": lambda _: dashboard(ADDRESS, ""),
    "dashboard: no address": lambda _: dashboard("count.example", "token"),
    "dashboard: another token": responding(401),
    "dashboard: another page": responding(404),
    "dashboard: no response": responding(0),
    "dashboard: no JSON": responding(200, b"<html>"),
    "dashboard: other facts": lambda _: checked({}),
    "dashboard: too large": responding(200, b" " * (MOST_BYTES + 1)),
    "dashboard: too slow": slow,
}
