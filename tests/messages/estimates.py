"""What is said of tables, of counts and of words that are looked for."""

import numpy as np

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.association import cramers_v, independence_test
from incrowd.estimation.decoders import channel_matrix, inverse_matrix, question_decoder
from incrowd.estimation.delta_method import pick
from incrowd.estimation.interactions import CellSource, combined
from incrowd.estimation.postprocess import (
    bootstrap_bias,
    make_consistent,
    maximize_likelihood,
    project_to_simplex,
)
from incrowd.estimation.simultaneous import check_method
from incrowd.estimation.tables import estimate_table
from incrowd.estimation.words import estimate_words
from tests.messages.shared import YESNO, estimated, options, survey

FLIP = BitFlip.at_least(0.25)
SHARES, CHANNEL = np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]])
MULTI = options(3, type="multi", at_most=2)


def of(function, *questions, margin=False):
    return lambda _: function(_joint(questions, margin))


def _joint(questions, margin):
    """An estimate of all the questions together, of made-up counts."""
    asked = survey(*questions).questions
    decoders = [question_decoder(question, FLIP, margin) for question in asked]
    counts = np.ones([decoder.single.shape[1] for decoder in decoders])
    ids = [question.id for question in asked]
    return estimate_table(ids, decoders, counts, covariance=True)


def words(*candidates, places=None, counts=None, cohorts=4, bits=8):
    """A search for words, of made-up counts of one block a cohort."""
    if places is None:
        places = np.arange(len(candidates) * cohorts).reshape(-1, cohorts, 1) % bits
    counts = np.ones((cohorts, 1 + bits), np.int64) if counts is None else counts
    return lambda _: estimate_words(candidates, np.array(places), counts, FLIP.inverse)


SECOND = YESNO | {"id": "b"}
CASES = {
    "an unknown kind of simultaneous intervals": lambda _: check_method("magic"),
    "a table that is not there": lambda _: estimated()["zz"],
    "a table of a question for words": lambda _: estimated(
        "text", candidates={"t": ["one", "two"]}
    )["t"],
    "Cramer's V of options that overlap": of(cramers_v, YESNO, MULTI, margin=True),
    "independence without margins": of(independence_test, YESNO, SECOND),
    "a share that is negative": lambda _: bootstrap_bias(
        lambda h: h, np.array([1.5, -0.5]), [CHANNEL], 10
    ),
    "one draw": lambda _: bootstrap_bias(lambda h: h, SHARES, [CHANNEL], 10, draws=1),
    "no tables to make consistent": lambda _: make_consistent([]),
    "tables with margins to make consistent": of(
        lambda table: make_consistent([table]), YESNO, margin=True
    ),
    "a covariance of many cells": of(lambda _: None, options(60), options(60, id="d")),
    "an unknown question of a table": of(lambda joint: pick(joint, [{"z": "yes"}]), YESNO),
    "a margin that was not made": of(lambda joint: pick(joint, [{}]), YESNO),
    "an unknown answer of a table": of(lambda joint: pick(joint, [{"a": "maybe"}]), YESNO),
    "a report that no answer gives": lambda _: maximize_likelihood(
        np.array([1, 1]), [np.array([[1.0, 1.0], [0.0, 0.0]])]
    ),
    "a histogram of another shape": lambda _: maximize_likelihood(np.ones(3), [CHANNEL]),
    "a channel that does not sum to one": lambda _: maximize_likelihood(np.ones(2), [2 * CHANNEL]),
    "a likelihood of options that overlap": lambda _: channel_matrix(
        survey(MULTI).questions[0], CHANNEL
    ),
    "a histogram of many bits": lambda _: inverse_matrix(survey(options(20)).questions[0], CHANNEL),
    "a share that is no number": lambda _: project_to_simplex(np.array([np.nan, 0.5])),
    "no words": words(),
    "a word twice": words("oslo", "oslo"),
    "counts of other cohorts": words("oslo", counts=np.ones((3, 9), np.int64)),
    "no reports of words": words("oslo", counts=np.zeros((4, 9), np.int64)),
    "more words than cohorts tell apart": words(*[f"w{n}" for n in range(40)]),
    "two words with the same bits": words("oslo", "paris", places=np.ones((2, 4, 1), int)),
    "words that are mixtures of others": words(
        *"abcd", places=np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[:, :, None], cohorts=2, bits=16
    ),
    "cells that no message holds": lambda _: combined(
        [CellSource(("a",), (True,), SHARES, 1.0, 1.0)], ("a", "b")
    ),
    "a table of an unknown question": lambda _: estimated(tables=[["z"]]),
    "a report in an unknown language": lambda folder: incrowd.save_estimates(
        estimated(), folder / "report.html", language="fr"
    ),
}
