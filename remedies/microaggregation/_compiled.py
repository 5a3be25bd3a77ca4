"""The one way kernels are compiled: without the lock of the interpreter, without fast mathematics, kept on disk."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel when it is first called, and keep the machine code for the next process.

    numba writes beside the module or, where that is read-only, into the user's cache folder. Where it can write
    nowhere, each process compiles for itself.
    """
    try:
        return cast("Kernel", numba.njit(cache=True, nogil=True, error_model="numpy")(kernel))
    except RuntimeError:
        return cast("Kernel", numba.njit(nogil=True, error_model="numpy")(kernel))
