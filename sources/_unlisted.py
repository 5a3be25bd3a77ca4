"""Engines whose catalogue is too wide to read whole.

Only the current schema is listed; tables of others are looked up by name.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import ibis.expr.types as ir
from ibis.common.exceptions import TableNotFound as NoSuchTable

from sources._contract import TableNotFound
from sources._engine import CatalogueEntry, EngineSource
from sources._names import did_you_mean


class UnlistedSource(EngineSource):
    """A source that lists the tables of the current schema."""

    def _list(self) -> Iterable[CatalogueEntry]:
        return (CatalogueEntry("", "", name, bare=True) for name in self._backend.list_tables())

    def _find(self, name: str) -> CatalogueEntry:
        path, _, table = name.rpartition(".")
        if name in self._known() or not path:
            return super()._find(name)
        catalog, _, schema = path.rpartition(".")
        return CatalogueEntry(catalog, schema, table, bare=False)

    def _describe(self, entry: CatalogueEntry) -> ir.Table:
        place = [part for part in (entry.catalog, entry.schema) if part]
        try:
            return self._look_up(entry.table, place)
        except NoSuchTable:
            name = ".".join((*place, entry.table))
            hint = did_you_mean(name, self._entries or ())
            raise TableNotFound(f"table '{name}' not found in source '{self.name}'{hint}") from None

    @abstractmethod
    def _look_up(self, table: str, place: Sequence[str]) -> ir.Table:
        """Return a table of `place`: nothing, a schema, or a catalogue and a schema.

        Raises:
            ibis.common.exceptions.TableNotFound: there is none.
        """
