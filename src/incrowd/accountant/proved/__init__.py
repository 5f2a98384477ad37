"""Privacy that an independent program proves: enclosures in ball arithmetic.

Every number here is a ball of `python-flint` (Arb): a midpoint and a radius that contain the exact
value, whatever is computed. The program follows docs/mathematics.md and docs/empty-seat.md, and
shares no code with the rest of the accountant; from it, it takes only the description of what is
sent. What is chosen with ordinary floating-point numbers (grids, tilts, which terms are grouped)
decides how close a bound is, never whether it holds.

The lemmas that each function relies on are named in it.
"""

from __future__ import annotations

from incrowd.errors import UsageError, needing

with needing("proved", UsageError, "incrowd.accountant.proved", of="incrowd-accountant"):
    from incrowd.accountant.proved.bits import BitChances
    from incrowd.accountant.proved.described import Exposure, described
    from incrowd.accountant.proved.enclosures import Enclosure, prove

__all__ = ["BitChances", "Enclosure", "Exposure", "described", "prove"]
