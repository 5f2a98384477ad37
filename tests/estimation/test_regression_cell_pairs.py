"""Linear models from cells of pairs: against the table of all questions, the noise of each count,
enumerated people, and simulated collections."""

from itertools import combinations

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.cells import CellCounts, CellsReading
from incrowd.estimation.regression.cell_pairs import CellPairs, cell_pairs_of_stratum
from incrowd.estimation.regression.evidence import JointTable
from incrowd.estimation.regression.fitting import fit
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Model, design
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.regression.variables import against_others, sloped, whole
from incrowd.plans import CellsMessage
from incrowd.survey import Choice, YesNo

ILL, SMOKES, OLD = YesNo(id="ill"), YesNo(id="smokes"), YesNo(id="old")
AGE = Choice(id="age", options=("young", "middle", "aged"))
TOWN = YesNo(id="town")  # asked in clear
PREDICTORS = (whole(AGE), whole(SMOKES))
LINEAR = Model("linear", whole(ILL), (0.0, 1.0), PREDICTORS)
ANSWER = Model("linear", against_others(AGE, "aged"), (0.0, 1.0), (whole(ILL), whole(SMOKES)))
SLOPE = Model("linear", whole(ILL), (-1.0, 2.0), (sloped(AGE, (1.0, 2.0, 4.0)), whole(SMOKES)))
CLEAR = Model(
    "linear",
    whole(ILL),
    (0.0, 1.0),
    (*PREDICTORS, whole(TOWN)),
    ((whole(TOWN), whole(SMOKES)),),
    frozenset({"town"}),
)
IN_TOWN = {"town": "yes"}
FLIP = BitFlip.at_least(0.05)


def message(*questions, noise=FLIP):
    return CellsMessage(questions=questions, noise_numerator=noise.numerator)


def collected(messages, law, people, seed):
    """The cells of people drawn from a law whose axes are the questions of the first message, or of
    all messages in the order in which they first appear."""
    generator = np.random.default_rng(seed)
    asked = list(dict.fromkeys(id for each in messages for id in each.ids))
    drawn = generator.multinomial(people, law.ravel()).reshape(law.shape)
    parts = []
    for each in messages:
        apart = tuple(place for place, id in enumerate(asked) if id not in each.ids)
        there = [id for id in asked if id in each.ids]
        table = drawn.sum(axis=apart).transpose([there.index(id) for id in each.ids]).ravel()
        p, q = each.noise.p, each.noise.q
        reports = generator.binomial(table, p) + generator.binomial(people - table, q)
        parts.append(CellCounts(each, people, reports))
    return CellsReading(tuple(parts), 1.0)


def pairs(*questions, noise=FLIP):
    return [message(*pair, noise=noise) for pair in combinations(questions, 2)]


def law(seed=5):
    return np.random.default_rng(seed).dirichlet(np.full(12, 3.0)).reshape(2, 3, 2)


@pytest.mark.parametrize("model", [LINEAR, ANSWER, SLOPE, CLEAR], ids=lambda m: m.explained)
def test_where_one_message_holds_all_questions_pairs_say_what_the_table_says(model):
    """Coefficients, the covariance of the noise, and that of the information, to the last digits:
    two computations, one of moments of pairs, the other of all cells."""
    reading = collected([message(ILL, AGE, SMOKES), message(AGE, SMOKES)], law(), 3000, 1)
    town = IN_TOWN if model.open else {}
    pair = cell_pairs_of_stratum(model, town, reading, sampled=False)
    table = level_table(model.randomized, [reading], noise_only=True)
    whole_table = JointTable(table, design(model, town), "linear")
    beta = np.linspace(-0.3, 0.5, len(model.terms))
    along = np.eye(len(beta)) + 0.1
    assert pair.score(beta) == pytest.approx(whole_table.score(beta), abs=1e-12)
    assert pair.information(beta) == pytest.approx(whole_table.information(beta), abs=1e-12)
    assert pair.covariance(beta) == pytest.approx(whole_table.covariance(beta), rel=1e-9, abs=1e-15)
    assert pair.information_variances(beta, along) == pytest.approx(
        whole_table.information_variances(beta, along), rel=1e-9
    )


def test_the_noise_of_pairs_is_that_of_every_count():
    """The score is linear in the counts, which are independent, each with the variance N p q: their
    part in it is found by adding one report at a time. Messages with unlike noise."""
    messages = [
        message(ILL, AGE, noise=BitFlip.at_least(0.02)),
        message(AGE, SMOKES),
        message(SMOKES, ILL, noise=BitFlip.at_least(0.1)),
        message(OLD, ILL),
    ]
    people, beta = 500, np.array([0.2, -0.4, 0.3, 0.1])
    parts = [CellCounts(each, people, np.full(each.record_bits, 90.0)) for each in messages]

    def score(parts):
        return cell_pairs_of_stratum(LINEAR, {}, CellsReading(tuple(parts), 1.0), False).score(beta)

    found, wanted = score(parts), np.zeros((4, 4))
    for place, part in enumerate(parts):
        variance = people * part.message.noise.p * part.message.noise.q
        for one in np.eye(part.message.record_bits):
            more = [*parts]
            more[place] = part._replace(reports=part.reports + one)
            each = score(more) - found
            wanted += variance * np.outer(each, each)
    made = cell_pairs_of_stratum(LINEAR, {}, CellsReading(tuple(parts), 1.0), False)
    assert made.covariance(beta) == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def of_pairs_alone(seed=2):
    """A law of four questions without interactions of three; the outcome first."""
    generator = np.random.default_rng(seed)
    found = np.zeros((2, 3, 2, 2))
    for a, b in combinations(range(4), 2):
        kept = [size if place in (a, b) else 1 for place, size in enumerate(found.shape)]
        found = found + generator.normal(0, 0.7, kept)
    found = np.exp(found)
    found[1] *= 0.02 / 0.98 * found[0].sum() / found[1].sum()
    return found / found.sum()


FOUR = Model("linear", whole(ILL), (0.0, 1.0), (*PREDICTORS, whole(OLD)))
ASKED = (ILL, AGE, SMOKES, OLD)


def people_of(law):
    """x and y of the people of each cell, and their shares."""
    answers = np.indices(law.shape).reshape(4, -1)
    y, age, smokes, old = answers
    return np.array([np.ones(law.size), age == 1, age == 2, smokes, old], float), y, law.ravel()


def truth(law):
    """The coefficients, and the covariance of the mean of x r over one person."""
    x, y, shares = people_of(law)
    beta = np.linalg.solve((x * shares) @ x.T, (x * shares) @ y)
    scores = x * (y - beta @ x)
    return beta, (scores * shares) @ scores.T


def test_without_interactions_of_three_the_sampling_part_is_that_of_the_people():
    """Counts as they are on average, hardly any noise: what is left is the law of these pairs."""
    shares, people = of_pairs_alone(), 10**6
    beta, wanted = truth(shares)
    parts = []
    for each, (a, b) in zip(pairs(*ASKED), combinations(range(4), 2), strict=True):
        cells = shares.sum(axis=tuple(i for i in range(4) if i not in (a, b))).ravel()
        q, p = each.noise.matrix[1]
        parts.append(CellCounts(each, people, people * (q + (p - q) * cells)))
    reading = CellsReading(tuple(parts), 1.0)
    both, noise = (cell_pairs_of_stratum(FOUR, {}, reading, sampled) for sampled in (True, False))
    assert both.score(beta) == pytest.approx(0, abs=1e-9)
    sampling = (both.covariance(beta) - noise.covariance(beta)) * people
    assert sampling == pytest.approx(wanted, rel=0.02, abs=0.02 * np.abs(wanted).max())


def test_what_pairs_do_not_tell_is_refused_as_what_a_table_does_not():
    """Two predictors that are the same: no direction between them has any information."""
    same = np.zeros((2, 2, 2))
    same[:, 0, 0] = same[:, 1, 1] = 0.25
    model = Model("linear", whole(ILL), (0.0, 1.0), (whole(SMOKES), whole(OLD)))
    reading = collected(pairs(ILL, SMOKES, OLD), same, 2000, 1)
    found = fit(model, Strata([cell_pairs_of_stratum(model, {}, reading, True)]))
    assert "too little information" in found.reason


def equal_variances(evidence: CellPairs, law, beta):
    """The wrong sampling part: E[x x'] times the variance of r."""
    x, y, shares = people_of(law)
    return evidence.information(beta) * float(shares @ (y - beta @ x) ** 2) / evidence.people


@pytest.mark.slow
def test_intervals_of_pairs_cover_also_of_a_rare_outcome():
    """Two percent of 10,000 people, who depend on predictors that depend on each other. Of 1,000
    collections a right share falls outside of four standard errors, [.922, .978], for one of five
    coefficients with probability 3e-4; equal variances are wrong in both directions."""
    shares, runs, people = of_pairs_alone(), 1000, 10_000
    beta, _ = truth(shares)
    messages = pairs(*ASKED, noise=BitFlip.at_least(0.005))
    covers = np.zeros((2, len(beta)))
    for seed in range(runs):
        reading = collected(messages, shares, people, seed)
        both, noise = (cell_pairs_of_stratum(FOUR, {}, reading, s) for s in (True, False))
        found = fit(FOUR, Strata([both]))
        estimates = np.array([each.estimate for each in found.coefficients])
        inverse = np.linalg.inv(both.information(beta))
        wrong = noise.covariance(estimates) + equal_variances(both, shares, beta)
        errors = [
            [each.standard_error for each in found.coefficients],
            np.sqrt(np.diagonal(inverse @ wrong @ inverse)),
        ]
        covers += np.abs(estimates - beta) < 1.96 * np.array(errors)
    right, wrong = covers / runs
    assert (np.abs(right - 0.95) < 0.028).all(), right
    assert wrong.max() > 0.978 and wrong.min() < 0.922, wrong
