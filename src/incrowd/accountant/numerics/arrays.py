"""Functions of numbers, applied to arrays as NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.catalog.sentences import joined
from incrowd.errors import ArgumentError

NumberArray = Sequence[Any] | npt.NDArray[Any]  # nested lists or arrays of numbers, of any shape
WholeNumberArray = NumberArray
FloatArray = npt.NDArray[np.float64]


def elementwise(
    function: Callable[..., float], **values: float | NumberArray
) -> float | FloatArray:
    """Return a function of numbers, or an array of its values at each element of arrays.

    The arrays are broadcast against each other. Each value is that of a call with numbers.

    Raises ArgumentError if the shapes do not fit. values: by the names of the arguments.
    """
    if all(isinstance(value, int | float) for value in values.values()):
        return function(*values.values())
    try:
        arrays = np.broadcast_arrays(*values.values())
    except ValueError:
        shapes = joined("shared.and", [str(np.shape(value)) for value in values.values()])
        raise ArgumentError.of(" and ".join(values), "accountant.shapes", shapes=shapes) from None
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    results = np.array([function(*row) for row in rows], float)
    return results.reshape(arrays[0].shape)
