"""The analyses by name. A new analysis is a module in this folder and an entry below."""

from incrowd.accountant.analyses.base import Analysis
from incrowd.accountant.analyses.blanket import BLANKET
from incrowd.accountant.analyses.exact import EXACT
from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.analyses.outlier import OUTLIER
from incrowd.accountant.analyses.seat import SEAT
from incrowd.accountant.analyses.shuffle import SHUFFLE
from incrowd.errors import PrivacyError

__all__ = ["ANALYSES", "LOCAL", "Analysis", "analysis", "plannable"]

ANALYSES: dict[str, Analysis] = {a.name: a for a in (SHUFFLE, SEAT, BLANKET, OUTLIER, LOCAL, EXACT)}


def analysis(name: str) -> Analysis:
    """Return the analysis of that name. Raises PrivacyError if the name is unknown."""
    if name not in ANALYSES:
        raise PrivacyError.of("analysis", name, f"use one of {', '.join(ANALYSES)}")
    return ANALYSES[name]


def plannable(name: str) -> Analysis:
    """Return the analysis that a survey names. Raises PrivacyError if plans cannot use it."""
    names = [by.name for by in ANALYSES.values() if by.scalable]
    if name not in names:
        raise PrivacyError.of("privacy.analysis", name, f"use one of {', '.join(names)}")
    return ANALYSES[name]
