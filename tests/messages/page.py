"""What is said of a survey page: of what it asks, where its answers go, and its texts."""

import json

import incrowd
from incrowd.collection.page.files import PageContent, asked_in, page_files, read_strings, shipped
from tests.messages.shared import command, file, made, plan_file
from tests.oracles.make_vectors import INVITED

ELSEWHERE = "https://elsewhere.example"


def page_of(*words):
    return lambda folder: command("page", str(plan_file(folder)), "-o", str(folder / "p"), *words)


def of_bundle(folder):
    return asked_in(file(folder, "bundle.json", INVITED.encoded), ELSEWHERE)


def strings(text, name="fr.json"):
    return lambda folder: read_strings(file(folder, name, text))


def outlier():
    """A plan whose result nobody can be promised."""
    question = {"id": "a", "type": "yesno"}
    privacy = {"epsilon": 1.0, "delta": 1e-3, "analysis": "outlier"}
    survey = {"name": "s", "crowd": 1000, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(survey))


CASES = {
    "page: no shuffler": page_of(),
    "page: another shuffler than the bundle's": of_bundle,
    "page: a host that no policy can name": lambda _: page_files(
        PageContent(made(), ("https://mix.example;x",), made().guarantee), shipped()
    ),
    "page: not a guarantee": lambda _: page_files(
        PageContent(outlier(), ("https://mix.example",), outlier().guarantee), shipped()
    ),
    "page: no file of texts": lambda folder: read_strings(folder / "fr.json"),
    "page: texts that are no JSON": strings("{"),
    "page: a text is missing": strings("{}"),
    "page: a text is none": strings(json.dumps(shipped()["en"] | {"send": 1})),
    "page: a language that is none": strings(json.dumps(shipped()["en"]), "plain french.json"),
    "invitations: a page at no address": lambda folder: command(
        "invitations", "3", "-o", str(folder / "c.csv"), "--survey-page", "mix.example"
    ),
}
