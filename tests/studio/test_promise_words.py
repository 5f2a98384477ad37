"""The studio shows the promise in the words in which the survey page says it."""

import html
import json
import math
import re
import shutil
import subprocess
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

import incrowd
from incrowd.collection import page
from incrowd.collection.page.files import PageContent, page_files, shipped
from incrowd.studio.language import in_language
from incrowd.studio.respondent_words import COUNTS, PromiseWords
from tests.conftest import services_plan
from tests.oracles.node import node

STATIC = Path(page.__file__).parent / "static"
SCRIPT = Path(__file__).parents[1] / "browser" / "promise_words.mjs"
CONFIG = re.compile(r'<script type="application/json" id="config">(.*?)</script>', re.DOTALL)
ADDRESS = "https://count.example"
LANGUAGES = "en", "de"
EPSILONS = 0.0, 0.01, 0.5, 1.0, 1.2345, 2.0, 4.0, 6.9, 7.5, 9.0, 12.0, 700.0
DELTAS = 0.0, 1e-12, 1e-9, 3.21e-7, 1e-6, 0.001, 0.01


def by_devices(analysis="shuffle", colluding=0, cells=True):
    raw = {"name": "promise", "crowd": 3000, "colluding": colluding}
    raw["privacy"] = {"epsilon": 1.0, "delta": 1e-6, "analysis": analysis}
    raw["question"] = [{"id": "a", "type": "yesno"}]
    return incrowd.plan(incrowd.Survey.of(raw | ({} if cells else {"copies": 2})))


PLANS = {
    "cells": by_devices,
    "a local guarantee": partial(by_devices, "local"),
    "noise of services": partial(services_plan, 3.0),
    "joint reports": partial(by_devices, cells=False),
    "colluding people": partial(by_devices, colluding=3),
    "services that learn as much as readers": services_plan,
    "cells of services beside a joint report": partial(services_plan, joint=True),
}
QUICK = 3  # the first ones


def variants(plan):
    guarantee = plan.guarantee
    for epsilon, some in zip(EPSILONS, cycle(DELTAS)):
        for delta in (1e-6, some) if guarantee.delta else (0.0,):
            changed = {"epsilon": epsilon, "delta": delta}
            if guarantee.analysis == "local":
                changed["local_epsilon"] = epsilon
            elif guarantee.local_epsilon < math.inf:
                changed["local_epsilon"] = 2 * epsilon
            elif guarantee.service_epsilon is not None:
                changed["service_epsilon"] = 2 * epsilon
            yield plan.model_copy(update={"guarantee": guarantee.model_copy(update=changed)})


def said_by_page(plans, folder, old="", new=""):
    """What the page says of each plan, in each language. old, new: a mistake in the page."""
    shutil.copytree(STATIC, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    module = folder / "promise.js"
    assert old in module.read_text()
    module.write_text(module.read_text().replace(old, new, 1))
    tables, cases = shipped(), []
    for plan in plans:
        content = PageContent(plan, ("https://mix.example",), plan.guarantee, "", "A", "en")
        text = page_files(content, tables)["index.html"].decode()
        bundle = {
            "plan": json.loads(plan.dumps())["plan"],
            "local_only": False,
            "colluding": plan.survey.colluding,
            "addresses": {"shuffler": "https://mix.example", "collector": ADDRESS},
        }
        config = json.loads(html.unescape(CONFIG.search(text)[1]))
        cases += [{"language": tag, "config": config, "bundle": bundle} for tag in LANGUAGES]
    (program,), _ = node()
    done = subprocess.run(
        [program, SCRIPT, folder],
        input=json.dumps({"tables": tables, "cases": cases}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differences(plans, pages):
    """What the studio says otherwise than the page."""
    every = [(plan, language) for plan in plans for language in LANGUAGES]
    for (plan, language), shown in zip(every, pages, strict=True):
        words = PromiseWords(plan, plan.guarantee, language)
        told = list(words.sentences())
        if plan.by_services:  # the page says it in a paragraph of its own
            told.remove(shown["claims"][0])
        if told != shown["promised"]:
            yield language, told, shown["promised"]
        cells = any(message.cells for message in plan.messages)
        both = words.if_both_work_together(cells).replace(in_language(COUNTS, language), ADDRESS)
        if both and both not in shown["cheating"]:
            yield language, both, shown["cheating"]


def of_kinds(*kinds):
    return [promised for kind in kinds for promised in variants(PLANS[kind]())]


NEEDS_NODE = pytest.mark.skipif(node() is None, reason="Node is not installed")


@NEEDS_NODE
@pytest.mark.parametrize(
    "kinds", [[*PLANS][:QUICK], pytest.param([*PLANS][QUICK:], marks=pytest.mark.slow)]
)
def test_studio_and_page_say_the_same(kinds, tmp_path):
    plans = of_kinds(*kinds)
    assert list(differences(plans, said_by_page(plans, tmp_path))) == []


@NEEDS_NODE
@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('delta === "0" ? "promise_pure"', 'delta ? "promise_pure"'),
        ("|| most === null", ""),  # a chance of null%
        (", decimals.length", ""),  # 1 for 1.00
    ],
)
def test_a_page_that_says_otherwise_is_seen(right, wrong, tmp_path):
    plans = of_kinds("cells")
    assert list(differences(plans, said_by_page(plans, tmp_path, right, wrong)))
