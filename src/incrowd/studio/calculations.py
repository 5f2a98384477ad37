"""Results from reports: computed once for each choice, kept while the files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from incrowd.collection.collector.receipt import receipts_beside, releases_in
from incrowd.encoding.margins import load_margins
from incrowd.errors import UsageError, naming
from incrowd.methods import METHODS
from incrowd.plans import Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.consistency import check_possible
from incrowd.reports.folder import load_reports
from incrowd.reports.tally_files import ENDING as TALLY
from incrowd.reports.tally_files import load_tally
from incrowd.studio.calls import Call
from incrowd.studio.sources import fingerprint
from incrowd.survey.merging import parsed_merges
from incrowd.verification import check_certificate

MOST = 64  # results that are kept


@dataclass(frozen=True)
class CalculationOrder:
    """A call on some files. margins: the path of the file of margins, or None."""

    plan: Path
    reports: Path
    margins: Path | None
    call: Call

    @property
    def key(self) -> Any:
        """The same for orders with the same result: what the files are, and the call."""
        files = [self.plan, self.reports, *([self.margins] if self.margins else [])]
        return tuple(map(fingerprint, files)), self.call


def computed(progress: Callable[[str], None], order: CalculationOrder) -> Any:
    """Return the result of an order: what the function of the library returns.

    Raises IncrowdError as the command does.
    """
    plan = Plan.load(order.plan)
    _check_certificate(plan.dumps(), order.plan)
    method, call = METHODS[order.call.function], order.call
    options = {name: _value(value) for name, value in call.options}
    if call.margins and order.margins:
        options["margins"] = load_margins(order.margins)
    if merge := parsed_merges(plan.survey.questions, call.merge):
        options["merge"] = merge
    is_tally = order.reports.suffix == TALLY
    if is_tally and not method.tallies:
        raise UsageError.of("reports", "studio.counts-for-tables", file=order.reports.name)
    progress(order.reports.name)
    with naming(order.reports):
        reports: Any
        if is_tally:
            check_possible(with_merged(plan, merge), reports := load_tally(order.reports))
            releases = reports.releases
        else:
            reports, releases = load_reports(order.reports), releases_in([order.reports])
        options["received"] = receipts_beside([order.reports], plan, releases)
        return method.load()(plan, reports, *call.questions, **options)


def _value(value: Any) -> Any:
    """Return tuples as lists, as the library takes them."""
    return list(map(_value, value)) if isinstance(value, tuple) else value


@cache
def _check_certificate(text: str, path: Path) -> None:
    """Check the certificate, once for each plan. Raises PlanError."""
    check_certificate(Plan.loads(text), str(path))


class Cache:
    """The last results, by keys; for threads."""

    def __init__(self, most: int = MOST) -> None:
        self._values: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()
        self._most = most

    def get(self, key: Any) -> Any:
        """Return a value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Any, value: Any) -> Any:
        """Keep a value, and return it."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value

    def computed(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return the value under a key, computed if it is missing."""
        value = self.get(key)
        return self.put(key, compute()) if value is None else value
