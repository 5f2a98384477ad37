"""What the tests of several rooms build on."""

import atexit
import contextlib
import gc
import io
import os
import signal
import subprocess
import sys
import warnings
from functools import cache, wraps
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.cli.app import main
from incrowd.errors import IncrowdWarning
from incrowd.estimation.receipts import Received
from incrowd.guarantees import certified
from incrowd.planner.plan import make_plan
from incrowd.plans import CellsMessage, JointReport, Plan
from incrowd.plans.digests import digest_of
from incrowd.plans.ledger import Ledger
from incrowd.survey import Survey
from tests.oracles import budget
from tests.oracles.cases import examples as examples
from tests.oracles.cases import one_in as one_in
from tests.oracles.cases import slowly as slowly
from tests.oracles.cases import slowly_except as slowly_except
from tests.oracles.parsing import parse_here
from tests.oracles.shared import share, shared

# Of whoever runs the tests: how wide and colored outputs are.
OF_THE_TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE")


def once(make):
    """A function of a survey that makes each plan once in a run, with its warnings and what it
    says of its progress each time.

    Several hundred tests ask for a plan that another one had; making them again would take a
    twentieth of the time of all tests. Tests of planning make every plan.
    """
    kept = {}

    @wraps(make)
    def plan(*given, **named):
        progress = named.get("progress")
        progress = (lambda step: None) if progress is None else progress
        simple = named.keys() <= {"earlier", "progress"} and named.get("earlier", ()) == ()
        if not simple or [*map(type, given)] != [Survey] or not callable(progress):
            return make(*given, **named)
        survey, key = given[0], given[0].model_dump_json()
        if key not in kept or kept[key][0] != survey:
            kept[key] = shared(f"plan {key}", lambda: planned(survey))
            if kept[key][0] != survey:  # equal texts of unequal surveys
                kept[key] = planned(survey)
        _, result, issued, steps = kept[key]
        for step in steps:
            progress(step)
        for each in issued:
            warnings.warn(each, stacklevel=2)
        return result

    def planned(survey):
        steps = []
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            result = make(survey, progress=steps.append)
        return survey, result, [each.message for each in issued], steps

    return plan


incrowd.plan = once(incrowd.plan)
parse_here()


def pytest_configure(config):
    """What is particular to a terminal, a shell or a machine does not reach the tests.

    Signals that are ignored here, as nohup and the background of a shell want it, are not
    ignored in the processes that tests start: a handler is not inherited, to be ignored is.
    """
    for name in [*OF_THE_TERMINAL, *(each for each in os.environ if each.startswith("INCROWD_"))]:
        os.environ.pop(name, None)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"):
        if signal.getsignal(number := getattr(signal, name)) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    share(config)
    budget.measure(config)


# These start browsers, servers, or long plans: a worker that began one of them last would run on
# alone. Longest first.
HEAVY = (
    "tests/test_pairs.py",
    "tests/cli/test_what_holds.py",
    "tests/collection/test_lost_databases.py",
    "tests/test_messages.py",
    "tests/collection/page/test_page.py",
    "tests/accountant/test_proved.py",
    "tests/collection/mixer/test_postgres.py",
    "tests/encoding/test_isolated.py",
    "tests/studio/test_precision.py",
    "tests/encoding/test_formats.py",
    "tests/studio/test_results.py",
    "tests/encoding/test_ids.py",
    "tests/plans/test_ledger.py",
    "tests/test_docs.py",
    "tests/collection/page/test_mixers.py",
    "tests/planner/test_planner.py",
    "tests/accountant/test_calibration.py",
    "tests/clients/test_collection.py",
    "tests/test_install.py",
    "tests/test_guarantees.py",
    "tests/sampling/test_streaming.py",
    "tests/collection/mixer/test_simulation.py",
    "tests/collection/page/test_pieces.py",
    "tests/collection/mixer/second/test_releasing.py",
    "tests/collection/collector/test_dashboard_page.py",
    "tests/collection/test_open.py",
    "tests/accountant/test_shuffle.py",
    "tests/planner/test_cell_ways.py",
    "tests/test_files.py",
)


def pytest_collection():
    """Nothing that is collected becomes garbage, and looking for some takes a tenth of the time."""
    gc.disable()


def pytest_collection_modifyitems(items):
    """The heavy files come first."""
    place = {name: number for number, name in enumerate(HEAVY)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(HEAVY)))


def pytest_collection_finish():
    """Thousands of collected tests are scanned again and again otherwise: 6% of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


# Libraries check at the end of a process that their objects are gone: some were frozen. pytest
# looks for garbage once more before that, which takes seconds if nothing is frozen anymore.
atexit.register(gc.unfreeze)


def run(*arguments, cwd=None):
    """The command line, called in this process: imports are a command's largest cost.

    Returns what `subprocess.run` would: exit code, text of both outputs. What a process of its own
    does (start, signals, locks) is tested by starting one.
    """
    words = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["incrowd", *words]),
        mock.patch.dict(os.environ),
        warnings.catch_warnings(action="default", category=IncrowdWarning),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


# Of a release as it should be.
RECEIPT = Received(
    release="0" * 64,
    bundle="b",
    strata=("all",),
    people=2000,
    issued=None,
    reports=2000,
    rejected={},
    opened_people=2000,
    crowded=(),
    places=1,
    tail=0.0,
    colluding=0,
    local_only=False,
)

# A survey with one question of each kind.
GOOD = {
    "name": "A",
    "crowd": 100,
    "privacy": {"epsilon": 2.0, "analysis": "local"},
    "question": [
        {"id": "a", "type": "yesno"},
        {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
        {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
        {"id": "d", "type": "number", "edges": [0, 1, 3.5]},
    ],
    "table": [{"questions": ["a", "b"]}],
}


# Surveys by how their reports are made.
KINDS = {
    "bits": {
        "question": [
            {"id": "a", "type": "yesno"},
            {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
            {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
            {"id": "d", "type": "number", "edges": [0, 1, 3.5]},
        ],
        "copies": 3,
    },
    "messages": {
        "question": [
            {"id": "a", "type": "yesno", "optional": True},
            {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
        ],
        "message": [{"questions": ["a"], "copies": 2}, {"questions": ["b"]}],
    },
    "cells": {
        "question": [{"id": "b", "type": "choice", "options": ["x", "y", "z"]}],
        "message": [{"questions": ["b"], "cells": True}],
    },
    "k-ary": {
        "question": [
            {
                "id": "b",
                "type": "choice",
                "options": ["x", "y", "z"],
                "randomizer": {"kind": "k-ary", "keep": 0.7},
            },
            {"id": "a", "type": "yesno", "randomizer": {"kind": "warner", "spinner": 0.8}},
        ],
    },
    "text": {
        "question": [
            {"id": "t", "type": "text", "block": 16, "cohorts": 4},
            {"id": "a", "type": "yesno"},
        ],
        "message": [{"questions": ["t"]}, {"questions": ["a"]}],
    },
}


def survey_of(kind):
    """Surveys with a generous promise, so that few reports tell a lot; the analysis is quick."""
    privacy = {"epsilon": 8.0, "delta": 1e-3, "analysis": "blanket"}
    return incrowd.Survey.of({"name": kind, "crowd": 1000, "privacy": privacy} | KINDS[kind])


# Of 2^32, a little more than the planner finds: to certify it is quicker than to find it.
NUMERATORS = {
    "bits": [1_120_000_000],
    "messages": [251_000_000, 136_000_000],
    "cells": [14_800_000],
    "k-ary": [],
    "text": [44_700_000, 168_300_000],
}


@cache
def plan_of(kind):
    """What the planner sends for a local promise, with less noise: enough for this one."""
    survey = survey_of(kind)
    local = survey.privacy.model_copy(update={"analysis": "local"})
    sent = make_plan(survey.model_copy(update={"privacy": local})).messages
    if NUMERATORS[kind]:
        sent = tuple(
            message.model_copy(update={"noise_numerator": numerator})
            for message, numerator in zip(sent, NUMERATORS[kind], strict=True)
        )
    return Plan(survey=survey, messages=sent, guarantee=certified.planned(survey, sent))


def people(rows=3000):
    """Answers in order: whoever comes first says yes, x, u and 0."""
    late = np.arange(rows) >= rows // 2
    said = {"a": np.where(late, "no", "yes"), "b": np.where(late, "z", "x")}
    said |= {"c": np.where(late, "v;w", "u"), "d": np.where(late, "9", "0")}
    return pa.table(said | {"t": np.where(late, "oslo", "paris")})


# What the tests of cards have in common.

RAPPOR = {"kind": "rappor", "f": 0.7, "one_if_zero": 0.25, "one_if_one": 0.75, "memoized": True}


def local_plan(*questions, name="Trust nobody", **rest):
    """A plan that is quick to make."""
    raw = {"name": name, "crowd": 5000, "privacy": {"epsilon": 2.0, "analysis": "local"}}
    return make_plan(Survey.of(raw | grouped(questions) | rest))


def yes_no_question(id, **rest):
    return {"id": id, "type": "yesno"} | rest


@cache
def second_round() -> Plan:
    """A blanket plan with a round before it, permanent responses and colluding people."""
    return shared("second round", _second_round)


def _second_round():
    privacy = {"epsilon": 3.0, "delta": 1e-5}
    first = {"name": "Round <one>", "crowd": 900, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    earlier = Ledger().with_plan(
        make_plan(Survey.of(first | {"question": [yes_no_question("a")]})), 900
    )
    raw = {"name": "Round two", "crowd": 1000, "colluding": 50, "privacy": privacy}
    questions = [yes_no_question("drug", randomizer=RAPPOR)]
    return make_plan(Survey.of(raw | {"question": questions}), earlier.asked)


def with_less_noise(plan: Plan) -> Plan:
    """The same promise with less noise."""
    message = plan.messages[0]
    less = message.model_copy(update={"noise_numerator": message.noise_numerator // 2})
    return Plan.loads(plan.model_copy(update={"messages": (less,)}).dumps())


# Surveys of two questions with devices of their own, as files.

ASKED = 6000
DRINKS = ("x", "y", "z")


def survey_toml(*questions, privacy="epsilon = 60.0\nanalysis = 'local'", crowd=ASKED, rest=""):
    """A survey file; the promise is loose, as the devices alone say how much noise there is."""
    shown = "\n".join(f"[[question]]\n{question}" for question in questions)
    return f"name = 'devices'\ncrowd = {crowd}\n{rest}\n[privacy]\n{privacy}\n{shown}\n"


def yes_no_toml(said, id="smokes"):
    return f"id = '{id}'\ntype = 'yesno'\nrandomizer = {{{said}}}"


def choice_toml(said, id="drinks"):
    return f"id = '{id}'\ntype = 'choice'\noptions = {list(DRINKS)}\nrandomizer = {{{said}}}"


def load_survey(folder, text):
    path = folder / "survey.toml"
    path.write_text(text)
    return incrowd.Survey.load(path)


def drinking(rows=ASKED, seed=1):
    """Two questions that go together."""
    generator = np.random.default_rng(seed)
    smokes = generator.random(rows) < 0.3
    drinks = np.where(smokes, "z", generator.choice(DRINKS, rows, p=[0.6, 0.3, 0.1]))
    return pa.table({"id": np.arange(rows).astype(str), "smokes": smokes, "drinks": drinks})


MEMOIZED = 'kind = "rappor", f = 0.8, memoized = true'


def grouped(questions):
    """The keys `question` and `message` of a survey.

    Each question with "cells": True, which is not a key of a survey, is sent as cells in a message
    of its own. The others share a joint report; those that are memoized another one.
    """
    asked = [{k: v for k, v in question.items() if k != "cells"} for question in questions]
    cells = [question["id"] for question in questions if question.get("cells")]
    if not cells:
        return {"question": asked}
    joint = {False: [], True: []}
    for question in asked:
        if question["id"] not in cells and not question.get("open"):
            device = question.get("randomizer") or {}
            joint["memoized" in question or device.get("memoized", False)].append(question["id"])
    messages = [{"questions": ids} for ids in joint.values() if ids]
    messages += [{"questions": [id], "cells": True} for id in cells]
    return {"question": asked, "message": messages}


def choice_survey(options, crowd=2000, epsilon=2.0, delta=1e-4, **question):
    """A survey of one question; cells=True: which is sent as cells."""
    asked = [{"id": "home", "type": "choice", "options": options} | question]
    privacy = {"epsilon": epsilon, "delta": delta}
    return incrowd.Survey.of({"name": "homes", "crowd": crowd, "privacy": privacy} | grouped(asked))


def cells_survey(options, *rest, **more):
    """A survey of one question, which is sent as cells."""
    return choice_survey(options, *rest, cells=True, **more)


# A question in a department, to whose table services add the noise.

BULLIED = {"id": "bullied", "type": "yesno", "text": "Were you bullied at work?"}
DEPARTMENT = {"id": "department", "type": "choice", "options": ["north", "south", "west"]}
DEPARTMENT |= {"text": "Where do you work?"}


@cache
def services_plan(service_epsilon=None, joint=False):
    """A plan of one table, to which services add the noise. joint: a question travels beside it,
    with noise by the devices, so that the plan counts on a crowd."""
    asked = (BULLIED, DEPARTMENT)
    privacy = {"epsilon": 2.0, "delta": 1e-5, "noise": "services"}
    privacy |= {"service_epsilon": service_epsilon} if service_epsilon else {}
    raw = {"name": "Bullying", "crowd": 60, "privacy": privacy}
    more = (yes_no_question("content", text="Are you content?"),) if joint else ()
    survey = Survey.of(raw | {"question": [*asked, *more]})
    law = AdditiveNoise.laplace(0.9, most=60)
    messages = (CellsMessage(questions=survey.questions[:2], added=law),)
    if joint:
        messages += (
            JointReport(questions=survey.questions[2:], noise_numerator=DENOMINATOR * 9 // 20),
        )
    guarantee = certified.planned(survey, messages)
    return Plan(survey=survey, messages=messages, guarantee=guarantee)


@pytest.fixture(scope="session")
def plans():
    """A plan of every kind."""
    return {kind: plan_of(kind) for kind in KINDS}


def pack(bits):
    return np.packbits(np.asarray(bits, np.uint8), axis=1, bitorder="little")


# Plans of a few people, their reports, and files of them that somebody edits.

PEOPLE = 300
PLAIN = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
]
HOME = [{"id": "home", "type": "choice", "options": list("abcdefghijkl"), "cells": True}]

ANSWERS = {
    "a": [True, False] * (PEOPLE // 2),
    "b": ["x", "y", "z"] * (PEOPLE // 3),
    "home": list("abcdefghijkl") * (PEOPLE // 12),
    "word": ["tea", "milk"] * (PEOPLE // 2),
    "m": [["x"], ["y", "z"], []] * (PEOPLE // 3),
    "k": ["x", "y", "z"] * (PEOPLE // 3),
    "n": [0.5, 2.0, None] * (PEOPLE // 3),
}


def planned(questions, wanted=(), crowd=PEOPLE, **more):
    privacy = {"epsilon": 3.0, "delta": 1e-3}
    raw = {"name": "x", "crowd": crowd, "privacy": privacy, **grouped(questions)}
    return incrowd.plan(
        incrowd.Survey.of(raw | {"table": [{"questions": t} for t in wanted]} | more)
    )


def reports_of(plan):
    ids = [question.id for question in plan.survey.questions]
    return incrowd.randomize(plan, pa.table({id: ANSWERS[id] for id in ids}), simulation_seed=5)


@pytest.fixture(scope="module")
def plain_plan():
    return planned(PLAIN, [["a", "b"]], tables="any")


@pytest.fixture(scope="module")
def cells_plan():
    return planned(HOME)


def rewritten(path, drop=(), rows=None, seal=False, **changes):
    """The file with other metadata, as any Parquet tool can write it. seal: with a digest of it."""
    table, all_of_it = pa.parquet.read_table(path), pa.parquet.read_metadata(path).metadata
    about = {k.decode(): v.decode() for k, v in all_of_it.items() if k != b"ARROW:schema"}
    about |= {f"incrowd.{name}": value for name, value in changes.items()}
    about = {k: v for k, v in about.items() if k.removeprefix("incrowd.") not in drop}
    if seal:
        del about["incrowd.digest"]
        about["incrowd.digest"] = digest_of(
            {key: value for key, value in about.items() if key.startswith("incrowd.")}
        )
    table = table if rows is None else table.slice(0, rows)
    pa.parquet.write_table(table.replace_schema_metadata(about), path, compression="none")


@pytest.fixture
def saved_reports(cells_plan, tmp_path):
    incrowd.save_reports(reports_of(cells_plan), tmp_path / "r.parquet")
    (tmp_path / "plan.json").write_text(cells_plan.dumps())
    return tmp_path / "r.parquet"
