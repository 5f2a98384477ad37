"""An inviter in a temporary folder."""

import pytest

from tests.oracles.inviting import Inviter


@pytest.fixture
def inviter(tmp_path):
    one = Inviter(tmp_path)
    yield one
    one.close()
