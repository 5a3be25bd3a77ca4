"""Open a source as it is declared: only the engine of its kind is loaded."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Final

from sources._contract import Source, Unreachable
from sources._extras import missing_extra
from sources._plugins import PluginError, PluginGroup, usable_plugins
from sources._spec import SourceSpec, scheme_of

_IMPORTING: Final = Lock()
"""Two threads that import parts of Ibis at once see modules that are not complete; each source has a thread."""
_MODULES: Final = {
    "sqlite": "sqlite",
    "duckdb": "duckdb_file",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
"""The module of a source by the scheme of its URL."""
OWN_SCHEMES: Final = frozenset(_MODULES)
"""Schemes of URLs that no other distribution can take."""
_DECLARED: Final = ("files", "delta", "iceberg", "spark")
"""Kinds that are declared by a key of their name, which is that of their module."""
_DIALECTS: Final = {"sqlite": "sqlite", "duckdb_file": "duckdb", "postgresql": "postgres", "mysql": "mysql"}


@dataclass(slots=True)
class _SharedConnection:
    """The connection of a `one_connection` block: opened when it is first needed, closed with the block."""

    spec: SourceSpec
    closing: ExitStack = field(default_factory=ExitStack)
    source: Source | None = None


_shared: Final[ContextVar[tuple[_SharedConnection, ...]]] = ContextVar("shared connections", default=())


@contextmanager
def one_connection(spec: SourceSpec) -> Iterator[None]:
    """Share one connection among all `open_source` of an equal spec, in this block and thread.

    What the connection read of the catalogue stays as it was when it was first read; what checks that a table is still
    the same needs a block of its own.
    """
    with ExitStack() as closing:
        token = _shared.set((*_shared.get(), _SharedConnection(spec, closing)))
        try:
            yield
        finally:
            _shared.reset(token)


def open_source(spec: SourceSpec) -> AbstractContextManager[Source]:
    """Return the source that a spec declares; enter it to connect.

    Raises:
        Unreachable: the driver it needs is not installed, or nothing is read from it, or, in a `one_connection` block,
            as `Source.__enter__`.
        TimedOut: in such a block, as `Source.__enter__`.
    """
    shared = next((shared for shared in _shared.get() if shared.spec == spec), None)
    if shared is None:
        return _unconnected(spec)
    if shared.source is None:
        shared.source = shared.closing.enter_context(_unconnected(spec))
    return nullcontext(shared.source)


def _unconnected(spec: SourceSpec) -> Source:
    try:
        with _IMPORTING:
            return _of_its_kind(spec) if spec.frames is None else _of_frames(spec)
    except ImportError as error:
        reason = missing_extra(error) or f"{error.name or 'its driver'} cannot be imported; install it"
        raise Unreachable(f"source '{spec.name}' cannot be opened: {reason}") from None


def dialect_of(spec: SourceSpec) -> str:
    """Return sqlglot's name of the dialect of a source without loading its engine; `ansi` where only that knows it."""
    if spec.spark is not None:
        return "spark"
    if spec.url is None and not spec.external:
        return "duckdb"
    return _DIALECTS.get(_MODULES.get(_scheme(spec), ""), "ansi")


def _scheme(spec: SourceSpec) -> str:
    return scheme_of(spec.url or "").split("+")[0]


def _of_its_kind(spec: SourceSpec) -> Source:
    if spec.unset is not None:
        raise Unreachable(f"source '{spec.name}' cannot be opened: {spec.unset}")
    if spec.external:
        raise Unreachable(
            f"source '{spec.name}' is external: nothing is read from it; give it a url to read its tables"
        )
    declared = next((kind for kind in _DECLARED if getattr(spec, kind) is not None), None)
    plugin = None if declared else usable_plugins(PluginGroup.SOURCES, OWN_SCHEMES).get(_scheme(spec))
    if plugin is not None:
        try:
            added: Source = plugin.load()(spec)
        except PluginError as error:
            raise Unreachable(f"source '{spec.name}' cannot be opened: {error}") from None
        return added
    module = declared or _MODULES.get(_scheme(spec), "ibis_url")
    source: Source = import_module(f"sources.{module}").SOURCE(spec)
    return source


def _of_frames(spec: SourceSpec) -> Source:
    tables = import_module("sources.ibis_table")
    if all(map(tables.is_ibis_table, (spec.frames or {}).values())):
        source: Source = tables.IbisTable(spec)
    else:
        source = import_module("sources.frame").FrameSource(spec)
    return source
