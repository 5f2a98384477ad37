"""The text of a Python, spreadsheet, or data frame value in a CSV file."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import numpy as np

EXACT = 2.0**53  # whole numbers below are exact in floating point


def as_text(value: Any) -> str | None:
    """Return a value as in a CSV file: whole numbers without a point, true and false."""
    if value is None or (isinstance(value, float | np.floating) and value != value):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and _is_whole_number(float(value)):
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _is_whole_number(value: float) -> bool:
    return value.is_integer() and abs(value) < EXACT
