"""The analyses by name. A new analysis is a module in this folder and an entry below."""

from incrowd.accountant.analyses.base import Analysis
from incrowd.accountant.analyses.blanket import BLANKET
from incrowd.accountant.analyses.exact import EXACT
from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.analyses.outlier import OUTLIER
from incrowd.accountant.analyses.seat import SEAT
from incrowd.accountant.analyses.shuffle import SHUFFLE
from incrowd.arguments import presentable
from incrowd.errors import PrivacyError

__all__ = ["ANALYSES", "LOCAL", "Analysis", "analysis", "plannable"]


class Analyses(dict[str, Analysis]):
    """Analyses by name; the error for an unknown name lists the known ones."""

    def __missing__(self, name: object) -> Analysis:
        """Raise PrivacyError: the name is unknown."""
        value = presentable(name)
        raise PrivacyError.of("analysis", "shared.use-one-of", value=value, choices=list(self))


ANALYSES = Analyses({a.name: a for a in (SHUFFLE, SEAT, BLANKET, OUTLIER, LOCAL, EXACT)})
"""The analyses by name.

"shuffle" gives the smallest of all proved bounds. "exact" (one bit, or a few bits and people),
"seat" (nearly exact), and "blanket" (fast) hold for every collection; "local" needs no crowd.
"outlier" holds only if all others hold the same record: it is not a guarantee.

References
----------
Balle, Bell, Gascón, and Nissim (2019), for "blanket"; docs/empty-seat.md, for "seat".

Examples
--------
>>> from incrowd import accountant
>>> [name for name, analysis in accountant.ANALYSES.items() if not analysis.proved]
['outlier']
"""


def analysis(name: str) -> Analysis:
    """Return the analysis of that name. Raises PrivacyError if the name is unknown."""
    return ANALYSES[name]


def plannable(name: str) -> Analysis:
    """Return the analysis that a survey names. Raises PrivacyError if plans cannot use it."""
    names = [by.name for by in ANALYSES.values() if by.scalable]
    if name not in names:
        raise PrivacyError.of(
            ("privacy", "analysis"), "shared.use-one-of", value=name, choices=names
        )
    return ANALYSES[name]
