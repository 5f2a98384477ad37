"""Mistakes with files, frames and codes: each is told from all others, and what works is said."""

import pytest

from incrowd.errors import IncrowdError
from tests.conftest import slowly
from tests.messages.files import MISTAKES, TYPED

# Each starts a process, which takes a third of a second; tests/test_messages.py hears them as well.
OF_PROCESSES = [
    "half an SPSS file",
    "half a workbook",
    "a file whose reader crashes",
    "a file whose reader crashes later",
    "a file that takes too much memory",
    "a file that takes too much time",
    "labels that the question does not know",
]


def test_there_are_forty_mistakes():
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize(
    "name", [each if each not in OF_PROCESSES else slowly(each)[0] for each in [*MISTAKES, *TYPED]]
)
def test_a_mistake_is_named(name, tmp_path):
    call, message = (MISTAKES | TYPED)[name]
    with pytest.raises(IncrowdError) as error:
        call(tmp_path)
    assert message in str(error.value)
    assert error.value.exit_code == 2
    assert "\x00" not in str(error.value)
