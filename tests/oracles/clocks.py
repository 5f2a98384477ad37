"""The clocks of a machine, moved by tests: time passes, a clock jumps, the machine starts again."""

from datetime import timedelta

from incrowd.collection.machine import ClockReading
from incrowd.collection.steady import NEVER

SMALL = 10.0  # seconds: no jump
PAUSE = timedelta(seconds=10)  # between two readings of a service that runs


class Clocks:
    """now: what the clock shows. seconds: since boot.

    counted: the latest time that it showed when it had not jumped for an hour of a boot, by an
    account of its own. watch: what a service that runs does before more time passes than its pause.
    """

    def __init__(self, now):
        self.now, self.seconds, self.boot, self.counted = now, 0.0, 1, NEVER
        self.steady_from, self._off = 0.0, 0.0
        self.watch = lambda: None

    def read(self):
        return ClockReading(self.now, self.seconds, str(self.boot))

    def time_passes(self, **given):
        passed = timedelta(**given)
        if passed > PAUSE:
            self.watch()
        self.now += passed
        self.seconds += passed.total_seconds()
        if self.seconds - self.steady_from >= 3600:
            self.counted = max(self.counted, self.now)

    def jump(self, **given):
        change = timedelta(**given)
        self.now += change
        self._off += change.total_seconds()
        if abs(self._off) > SMALL:
            self.steady_from, self._off = self.seconds, 0.0

    def go_on_to(self, moment):
        """Time passes until then; if it has been, the clock jumps back."""
        change = (moment - self.now).total_seconds()
        if change >= 0:
            self.time_passes(seconds=change)
        else:
            self.jump(seconds=change)

    def show(self, moment):
        """The clock jumps there."""
        self.jump(seconds=(moment - self.now).total_seconds())

    def start_again(self, off=True):
        """The machine; it was off for a minute, by its clock."""
        self.boot += 1
        self.seconds = self.steady_from = self._off = 0.0
        if off:
            self.now += timedelta(minutes=1)
