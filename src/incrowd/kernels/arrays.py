"""The types of the arrays that the kernels take and return."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Word = np.uint64  # 64 lanes, or 8 bytes of packed bits
Words = npt.NDArray[Word]
Packed = npt.NDArray[np.uint8]  # rows of bits, bit i of a row in byte i // 8 at place i % 8
Integers = npt.NDArray[np.int64]
