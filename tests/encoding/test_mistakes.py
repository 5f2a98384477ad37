"""Mistakes with files, frames and codes: each is told from all others, and what works is said."""

import pytest

from incrowd.errors import IncrowdError
from tests.messages.files import MISTAKES, TYPED


def test_there_are_forty_mistakes():
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("name", [*MISTAKES, *TYPED])
def test_a_mistake_is_named(name, tmp_path):
    call, message = (MISTAKES | TYPED)[name]
    with pytest.raises(IncrowdError) as error:
        call(tmp_path)
    assert message in str(error.value)
    assert error.value.exit_code == 2
    assert "\x00" not in str(error.value)
