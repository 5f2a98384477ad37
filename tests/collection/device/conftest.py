"""What the tests of a device have in common: a place to remember in, and somebody's answers."""

import pytest

from tests.oracles.make_vectors import ANSWERS


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def answers():
    return ANSWERS[0]
