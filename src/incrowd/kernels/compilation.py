"""Loops compiled to machine code when first needed, and cached on disk for the next process.

numba is imported only for the first large input; small inputs use plain numpy and do not wait for a
compiler. The compiled code is cached next to the source, or in the user's cache folder if that is
not writable (this is numba's rule; NUMBA_CACHE_DIR names another folder).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LOADED_SHARE = 1 << 10

# Read-only arrays of words at any address; writable and aligned arrays are accepted as well.
WORDS = "Array(uint64, 1, 'C', readonly=True, aligned=False)"


def compiled(signature: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function of loops for the given types when it is first called.

    signature: in numba's notation, result(arguments). The machine code releases the interpreter's
    lock, so that threads run it in parallel; it does not start threads, which would not survive a
    fork.
    """

    def decorate(loops: Callable[P, R]) -> Callable[P, R]:
        @cache
        def machine_code() -> Callable[P, R]:
            import numba

            try:
                code: Callable[P, R] = numba.njit(signature, nogil=True, cache=True)(loops)
            except RuntimeError:  # no folder is writable: compile in every process
                code = numba.njit(signature, nogil=True)(loops)
            return code

        @wraps(loops)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            return machine_code()(*arguments, **named)

        return call

    return decorate


def use_machine_code(choice: bool | None, size: int, large: int) -> bool:
    """Return the caller's choice, or by default whether the input is large enough to load numba.

    Once numba is loaded, a thousandth of that size is enough. The kernels read bytes as
    little-endian words, so other machines use plain numpy.
    """
    enough = large // LOADED_SHARE if "numba" in sys.modules else large
    return sys.byteorder == "little" and (size >= enough if choice is None else choice)


def load_compiler() -> None:
    """Load numba, for a task that consists of many small parts."""
    importlib.import_module("numba")
