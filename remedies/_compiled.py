"""The one way kernels are compiled: without the lock of the interpreter, and kept on disk."""

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from sources import import_extra

Kernel = TypeVar("Kernel", bound=Callable[..., object])
numba: Any = import_extra("numba")
_SUMS = {"reassoc", "nsz", "contract"}


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel when it is first called, without fast mathematics, and keep its machine code.

    numba writes beside the module or, where that is read-only, into the user's cache folder. Where it can write
    nowhere, each process compiles for itself.
    """
    return kept(kernel, nogil=True, error_model="numpy")


def inner(kernel: Kernel) -> Kernel:
    """Compile a kernel that only other kernels call: a door for Python would take half of the compiler's time."""
    return kept(kernel, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def reordered(kernel: Kernel) -> Kernel:
    """Compile a kernel whose sums may be reordered, so that they become vector instructions.

    The same machine gives the same bits, another one maybe others: for searches whose outcome is judged again.
    """
    return kept(kernel, nogil=True, error_model="numpy", fastmath=_SUMS)


def reordered_inner(kernel: Kernel) -> Kernel:
    """Compile a kernel as `reordered` does, for other kernels only."""
    return kept(kernel, nogil=True, error_model="numpy", fastmath=_SUMS, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def reordered_within(kernel: Kernel) -> Kernel:
    """Compile a kernel as `reordered_inner` does, into each kernel that calls it.

    A process that compiles would otherwise call a copy of its own, where one that loads kept code calls the copy in
    that: two copies may round otherwise, and what is near to a tie then falls otherwise.
    """
    return kept(
        kernel,
        nogil=True,
        error_model="numpy",
        fastmath=_SUMS,
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )


def kept(kernel: Kernel, **options: Any) -> Kernel:
    """Compile with numba's options, and keep the machine code for the next process.

    numba would take the kept code for as long as the kernel's own file is unchanged, though kernels of other files are
    compiled into it. Here a change in any file of the package that it imports, directly or not, makes it compile again.
    So does one that numba could not read: it looks at the version first, before classes that may have other names now.
    """
    try:
        dispatcher: Any = numba.njit(cache=True, **options)(kernel)
        cache_file, sources = dispatcher._cache._cache_file, _sources(kernel.__module__)  # noqa: SLF001 - numba has no public way; tested
        for name in ("_source_stamp", "_version"):
            setattr(cache_file, name, f"numba {numba.__version__}, {sources}")
    except (RuntimeError, AttributeError, OSError):
        dispatcher = numba.njit(**options)(kernel)
    return cast("Kernel", dispatcher)


def is_kept(kernel: Callable[..., object]) -> bool:
    """Check whether an earlier process compiled a kernel, and kept the machine code.

    False where that is unknown.
    """
    try:
        index = kernel._cache._cache_file._load_index  # type: ignore[attr-defined] # noqa: SLF001 - numba has no public way; tested
        return bool(index())
    except (AttributeError, OSError):
        return False


@functools.cache
def _sources(module: str) -> str:
    """Return a digest of a module of this package and of all modules of this package that it needs."""
    root, above = Path(__file__).parents[1], str(__package__).removesuffix("remedies")
    needed = {module}
    read: dict[str, str] = {}
    while needed:
        name = needed.pop()
        path = root.joinpath(*name.removeprefix(above).split("."))
        read[name] = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
        imports = rf"^\s*from ({re.escape(above)}remedies\.[\w.]+) import"
        needed |= set(re.findall(imports, read[name], re.MULTILINE)) - set(read)
    return hashlib.blake2b(repr(sorted(read.items())).encode(), digest_size=16).hexdigest()
