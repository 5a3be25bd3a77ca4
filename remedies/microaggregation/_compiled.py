"""The one way kernels are compiled: without the lock of the interpreter, and kept on disk."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel when it is first called, without fast mathematics, and keep its machine code.

    numba writes beside the module or, where that is read-only, into the user's cache folder. Where it can write
    nowhere, each process compiles for itself.
    """
    return kept(kernel, nogil=True, error_model="numpy")


def inner(kernel: Kernel) -> Kernel:
    """Compile a kernel that only other kernels call: a door for Python would take half of the compiler's time."""
    return kept(kernel, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kept(kernel: Kernel, **options: Any) -> Kernel:
    """Compile with numba's options, and keep the machine code for the next process.

    numba would take the kept code for as long as the kernel's own file is unchanged, though kernels of other files are
    compiled into it. Here a change in any file of this folder that has kernels makes it compile again; constants that
    kernels use stand in such files.
    """
    try:
        dispatcher: Any = numba.njit(cache=True, **options)(kernel)
        dispatcher._cache._cache_file._source_stamp = _sources()  # noqa: SLF001 - numba has no public way; tested
    except (RuntimeError, AttributeError):
        dispatcher = numba.njit(**options)(kernel)
    return cast("Kernel", dispatcher)


@functools.cache
def _sources() -> str:
    """Give a digest of the files of this folder that have kernels."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        source = file.read_bytes()
        if b"_compiled import" in source or b"import numba" in source or b"from numba" in source:
            digest.update(file.name.encode() + b"\0" + source)
    return digest.hexdigest()
