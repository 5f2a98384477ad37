"""What type checkers and editors see of the accountant, although its names are loaded late."""

from typing import get_args

import pytest
from mypy import api

from incrowd import accountant
from incrowd.accountant.codes import AnalysisName

SCRIPT = """
from typing import assert_type

import numpy as np
import numpy.typing as npt

from incrowd import accountant
from incrowd.accountant import BitFlip, Certificate, KAry, PrivacyCurve

flip = BitFlip.from_epsilon(2.0)
assert_type(flip, BitFlip)
assert_type(KAry.from_epsilon(1.0, 5).matrix, npt.NDArray[np.float64])
certificate = accountant.certify("shuffle", flip, 10_000, 0.1)
assert_type(certificate, Certificate)
assert_type(certificate.delta.upper, float)
week = accountant.privacy_curve("seat", flip, crowd=10_000)
assert_type(week**52 * week, PrivacyCurve)
assert_type(week.delta(0.1), float)
assert_type(week.delta([0.1, 0.2]), npt.NDArray[np.float64])
assert_type(week.epsilon(np.array([1e-6])), npt.NDArray[np.float64])
assert_type(accountant.smallest_epsilon("shuffle", flip, 10_000, 1e-6), float)
assert_type(accountant.smallest_epsilon("shuffle", flip, [100, 200], 1e-6), npt.NDArray[np.float64])
assert_type(accountant.smallest_delta("local", flip, None, [0.1]), npt.NDArray[np.float64])
assert_type(accountant.smallest_noise("shuffle", lambda q: q, 10_000, 0.5, 1e-8), BitFlip)
"""
WRONG = {
    'accountant.certify("shufle", flip, 10_000, 0.1)': "arg-type",
    'accountant.certify("shuffle", flip, 10_000.5, 0.1)': "arg-type",
    'accountant.certify("shuffle", 0.2, 10_000, 0.1)': "arg-type",
    'week.plot(library="excel")': "arg-type",
    "accountant.certfy": "attr-defined",
    "week.epsilons(1e-6)": "attr-defined",
}


def test_the_type_of_analyses_names_all_of_them():
    assert get_args(AnalysisName) == tuple(accountant.ANALYSES)


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_finds_mistakes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "\n".join(WRONG))
    said, _, found = api.run(["--strict", "--no-error-summary", str(script)])
    first = len(SCRIPT.splitlines()) + 1
    lines = [line for line in said.splitlines() if "script.py" in line and "error:" in line]
    assert found == 1 and [int(line.split(":")[1]) for line in lines] == [
        *range(first, first + len(WRONG))
    ]
    for line, code in zip(lines, WRONG.values(), strict=True):
        assert line.endswith(f"[{code}]")
