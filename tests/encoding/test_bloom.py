"""Words in Bloom filters: one spelling of each, and the places that its hashes set."""

import hashlib
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from incrowd.encoding import bloom as encoding
from incrowd.encoding.bloom import candidate_places, normalize, places

ALARM = 1e-4

CITIES = ("Oslo", "Zürich", "São Paulo", "東京", "Graz")


# --- encoding --------------------------------------------------------------------------------


def test_one_spelling_of_each_word():
    assert normalize("  Zu\u0308rich\u00a0\n") == "Zürich" == normalize("Zürich")
    assert normalize("Zürich") != normalize("zürich")


@given(st.text())
def test_a_normalized_word_is_normal(word):
    once = normalize(word)
    assert normalize(once) == once and unicodedata.is_normalized("NFC", once)


def place_by_hand(word, cohort, question, number, block):
    """SHA-256 of five fields, each after its length in eight bytes."""
    fields = [b"incrowd word 1", question.encode(), cohort.to_bytes(8, "big")]
    fields += [number.to_bytes(8, "big"), word.encode()]
    digest = hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields))
    return int(digest.hexdigest(), 16) % block


@pytest.mark.parametrize("block", [2, 32, 100])
def test_places_are_the_stated_hash(block):
    cohorts = np.array([0, 3, 255, 3, 1])
    found = places(CITIES, cohorts, "town", 3, block)
    expected = [
        [place_by_hand(word, int(cohort), "town", number, block) for number in range(3)]
        for word, cohort in zip(CITIES, cohorts, strict=True)
    ]
    assert found.tolist() == expected and found.dtype == np.int64


def test_places_never_change():
    """Clients and analysts of different releases must agree; the digest is that of `sha256sum`."""
    digest = 0x354D00064558A5123D1EFC17C62421656B561288D293074E2352A1927AA1E3F5
    for block in (32, 100, 1024):
        assert places(["Zürich"], np.array([5]), "town", 2, block)[0, 1] == digest % block


def test_places_depend_on_every_field_and_on_where_one_ends():
    def far(word, question):
        return candidate_places([word], 64, question, 1, 1024).tolist()

    assert far("bc", "a") != far("c", "ab") and far("a", "q") != far("a", "r")
    both = candidate_places(["a"], 64, "q", 2, 1024)[0]
    assert len(np.unique(both)) > 100  # cohorts and blocks differ


@pytest.mark.slow
def test_places_are_uniform_and_independent():
    found = candidate_places([f"word {i}" for i in range(200)], 64, "q", 2, 8)
    pairs = np.bincount((8 * found[..., 0] + found[..., 1]).ravel(), minlength=64)
    neighbors = np.bincount((8 * found[:, :-1, 0] + found[:, 1:, 0]).ravel(), minlength=64)
    assert chisquare(pairs).pvalue > ALARM and chisquare(neighbors).pvalue > ALARM
    dependent = np.bincount((9 * found[..., 0]).ravel(), minlength=64)
    assert chisquare(dependent).pvalue < ALARM


def test_each_pair_of_word_and_cohort_is_hashed_once(monkeypatch):
    calls, digest = Counter(), encoding._digest

    def counted(prefix, *key):
        calls[key] += 1
        return digest(prefix, *key)

    monkeypatch.setattr(encoding, "_digest", counted)
    generator = np.random.default_rng(1)
    words = [f"w{i}" for i in generator.integers(0, 10, 20_000)]
    found = places(words, generator.integers(0, 16, 20_000), "q", 2, 32)
    assert found.shape == (20_000, 2) and len(calls) == 320 and set(calls.values()) == {1}


def test_no_rows_and_broken_text():
    assert places([], np.array([], int), "q", 2, 32).shape == (0, 2)
    assert places(["\ud800"], np.array([0]), "q", 1, 32).shape == (1, 1)
