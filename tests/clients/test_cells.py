"""Cells in the client in TypeScript and in the library: both draw the law that the plan states."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from incrowd.encoding.records import EncodedAnswers
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_message, rounded
from tests.conftest import one_in
from tests.oracles import wire
from tests.oracles.cell_vectors import CELLS, CELLS_PLAN
from tests.oracles.javascript import Javascript
from tests.oracles.recorded import fixed

RARE = 1e-6  # a p-value below rejects a law: the rate of false alarms of each test
TABLE, SEVERAL = 0, 1  # messages: 8 exclusive cells; options of a `multi`, crossed, and "any"
PARITIES = 9  # of three questions
SIZES = [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
PERSON = 0
FLIPPED = "set.delete(flip) || set.add(flip)"
WRONG = {
    "one's own piece is always sent": ("reports.ts", FLIPPED, "set.add(flip)"),
    "an eighth of the noise": ("reports.ts", "(size, noise!, draw)", "(size, noise! >> 3, draw)"),
    "the first answers run fastest": ("cells.ts", "axes.reduce(", "axes.reduceRight("),
}


def likely(message):
    """The chance of each cell to be sent, by the other reader."""
    known = {each["id"]: each for each in CELLS_PLAN.content["survey"]["question"]}
    asked = CELLS_PLAN.content["messages"][message]
    questions = [known[id] for id in asked["questions"]]
    q = asked["noise_numerator"] / 2**32
    parities = asked.get("parities", False)
    held, count = (
        wire.cells(questions, CELLS[PERSON], parities),
        wire.cell_count(questions, parities),
    )
    return np.array([1 - q if cell in held else q for cell in range(count)])


def of_node(javascript, message, people):
    """How often each cell was sent, and each set of cells."""
    answers = dict(CELLS[PERSON]) | {"smokes": True, "drugs": ["alcohol", "other"], "party": []}
    given = {"plan": CELLS_PLAN.content, "message": message, "answers": answers, "people": people}
    found = json.loads(javascript("cells.mjs", given, timeout=280))
    cells = [found["cells"].get(str(cell), 0) for cell in range(len(likely(message)))]
    return np.array(cells), np.array(found["sets"])


def of_python(message, people):
    """How often each cell was sent."""
    table = pa.table({id: [answer] * people for id, answer in CELLS[PERSON].items()})
    stream = Keystream(fixed("the law of cells"), bytes(16))
    crowd = rounded(EncodedAnswers.of(CELLS_PLAN.survey, table), stream)
    reports = randomize_message(CELLS_PLAN, CELLS_PLAN.messages[message], crowd, stream)
    return np.bincount(reports[:, 0], minlength=len(likely(message)))


def of_cells(counts, message, people):
    """The p-value of counts that are independent binomials, by the normal law of each."""
    chances = likely(message)
    squares = (counts - people * chances) ** 2 / (people * chances * (1 - chances))
    return stats.chi2.sf(squares.sum(), len(chances))


def of_sets(counts, message, people):
    """The p-value of how often each set was sent; those of fewer than 5 expected are one."""
    held = np.array(list(product((0, 1), repeat=len(likely(message)))))[:, ::-1]
    chances = np.where(held, likely(message), 1 - likely(message)).prod(axis=1)
    rare = people * chances < 5
    pooled = [np.append(each[~rare], each[rare].sum()) for each in (counts, people * chances)]
    return stats.chisquare(*pooled).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("people", SIZES)
@pytest.mark.parametrize("message", [TABLE, SEVERAL, PARITIES])
def test_both_clients_draw_the_law(javascript, message, people):
    node, sets = of_node(javascript, message, people)
    python = of_python(message, people)
    assert of_cells(node, message, people) > RARE
    assert of_cells(python, message, people) > RARE
    chances = likely(message)
    both = (node - python) ** 2 / (2 * people * chances * (1 - chances))
    assert stats.chi2.sf(both.sum(), len(chances)) > RARE
    if message == TABLE:
        assert of_sets(sets, message, people) > RARE


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, WRONG))
def test_another_law_is_rejected(tmp_path, javascript, name):
    wrong = Javascript(tmp_path / "wrong", [WRONG[name]])
    cells, sets = of_node(wrong, TABLE, 10_000)
    assert of_cells(cells, TABLE, 10_000) < RARE and of_sets(sets, TABLE, 10_000) < RARE


def test_sets_whose_pieces_are_not_independent_are_rejected():
    """Each cell within 5 standard errors of its chance (false alarms 4.6e-6), but all pieces of a
    person from one draw: only sets tell."""
    people, chances = 100_000, likely(TABLE)
    uniform = np.random.default_rng(1).random(people)
    sent = uniform[:, None] < chances
    sets = np.bincount(sent @ 2 ** np.arange(len(chances)), minlength=2 ** len(chances))
    errors = np.sqrt(chances * (1 - chances) / people)
    assert (np.abs(sent.mean(axis=0) - chances) < 5 * errors).all()
    assert of_sets(sets, TABLE, people) < RARE
