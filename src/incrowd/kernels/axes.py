"""Apply one small matrix along each axis of a table: a Kronecker product that is never built."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from incrowd.errors import UsageError
from incrowd.kernels.compilation import compiled, use_machine_code

Tensor = npt.NDArray[np.float64]

# Below this many entries numpy takes less than a tenth of a second (measured). Callers that
# transform small tensors thousands of times request machine code, which is ten times as fast from
# 2^12 entries on.
LARGE = 2**18


def transform(
    matrices: Sequence[npt.NDArray[np.generic]],
    tensor: npt.NDArray[np.generic],
    machine_code: bool | None = None,
) -> Tensor:
    """Apply matrix i along axis i of the tensor; axes beyond the last matrix are unchanged.

    matrices: shape (entries of the result's axis, entries of the tensor's axis). machine_code:
    None chooses by size; the results are the same. Returns a new contiguous tensor of float64.

    Raises UsageError if a matrix does not fit its axis.
    """
    result = np.array(tensor, np.float64, order="C")
    pairs = use_machine_code(machine_code, result.size, LARGE)
    for axis, matrix in enumerate(matrices):
        _check(axis, matrix.shape, result.shape)
        result = _along(np.asarray(matrix, np.float64), axis, result, pairs)
    return result


def _check(axis: int, shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    if axis >= len(table) or len(shape) != 2 or shape[1] != table[axis]:
        raise UsageError.of(
            "matrices", "kernels.no-fit", shape=str(shape), axis=axis, table=str(table)
        )


def _along(matrix: Tensor, axis: int, tensor: Tensor, machine_code: bool) -> Tensor:
    """Transform one axis: pairs in place, other matrices by a product that keeps the axis order."""
    before, after = tensor.shape[:axis], tensor.shape[axis + 1 :]
    shape = (prod(before), matrix.shape[1], prod(after))
    if matrix.shape == (2, 2):
        pairs = _mix_loops if machine_code else _mix
        pairs(matrix, tensor.reshape(shape))
        return tensor
    if not after:
        return np.ascontiguousarray(tensor @ matrix.T)
    product = np.ascontiguousarray(matrix @ tensor.reshape(shape))
    return product.reshape(*before, len(matrix), *after)


def _mix(matrix: Tensor, tensor: Tensor) -> None:
    """Replace each pair (x, y) along the middle axis with the matrix times it."""
    tensor[:] = matrix[:, :1] * tensor[:, :1] + matrix[:, 1:] * tensor[:, 1:]


@compiled("void(Array(float64, 2, 'A', readonly=True), float64[:, :, ::1])")
def _mix_loops(matrix: Tensor, tensor: Tensor) -> None:
    a, b, c, d = matrix[0, 0], matrix[0, 1], matrix[1, 0], matrix[1, 1]
    for i in range(tensor.shape[0]):
        for j in range(tensor.shape[2]):
            x, y = tensor[i, 0, j], tensor[i, 1, j]
            tensor[i, 0, j] = a * x + b * y
            tensor[i, 1, j] = c * x + d * y
