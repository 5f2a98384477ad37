"""Privacy accounting: channels, probability laws, analyses, composition, and calibration.

What a person sends is described by channels (`BitFlip`, `KAry`, ...), the records that they accept
(`Domain`), and the reports that combine them (`Part`, `Schema`, `Contribution`). Analyses then
certify the privacy of these reports in a crowd: `certify`, `assess`, `privacy_curve`,
`smallest_epsilon`, `smallest_noise`. This package does not depend on surveys, files, or services:
of the rest of incrowd it imports only errors, checks of arguments, and how a curve is shown.

    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> accountant.certify("shuffle", flip, 10_000, 0.5).delta.upper < 1e-6
    True
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from incrowd.arguments import checked

# Loaded on first use (PEP 562): most of these modules need scipy, and reading a plan does not.
# `python -m tests.oracles.public_names` writes the stub that type checkers and editors read.
_HOMES = {
    "ANALYSES": "analyses",
    "AdditiveNoise": "additive",
    "Alternatives": "schema",
    "AnswerChannel": "channels.answers",
    "Assessment": "certificates",
    "Bit": "channels.bit",
    "BitFlip": "channels.bit_flip",
    "Certificate": "certificates",
    "Channel": "channels.base",
    "Contribution": "schema",
    "Domain": "schema",
    "HiddenSample": "channels.hidden_sample",
    "KAry": "channels.k_ary",
    "MatrixChannel": "channels.matrix",
    "Part": "schema",
    "PrivacyCurve": "composition",
    "Rappor": "channels.rappor",
    "Schema": "schema",
    "Simmons": "channels.simmons",
    "TwoStage": "channels.rappor",
    "Warner": "channels.warner",
    "added_noise": "added",
    "assess": "certificates",
    "certify": "certificates",
    "from_dp_accounting": "exchange",
    "from_losses": "exchange",
    "pair_curve": "exchange",
    "privacy_curve": "certificates",
    "smallest_delta": "certificates",
    "smallest_epsilon": "certificates",
    "smallest_noise": "certificates",
    "to_dp_accounting": "exchange",
    "to_losses": "exchange",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Return a public name, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = checked(value, name, __name__) if isinstance(value, FunctionType) else value
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return __all__
