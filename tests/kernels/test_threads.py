"""Work in several threads: taken in order, not far ahead, and stopped by an error."""

import time

import pytest

from incrowd.kernels import threads
from incrowd.kernels.threads import in_order


def test_work_is_taken_in_order_and_not_far_ahead(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    drawn = []

    def items():
        for number in range(20):
            drawn.append(number)
            yield number

    def work(number):
        time.sleep(0.01 * (number % 3))
        return number

    for number, found in enumerate(in_order(work, items())):
        assert found == number and len(drawn) <= number + 3
    assert number == 19


def test_work_that_fails_stops_the_rest():
    done = []

    def work(number):
        if number == 3:
            raise ValueError(number)
        done.append(number)

    with pytest.raises(ValueError, match="3"):
        list(in_order(work, range(1000)))
    assert len(done) < 20
