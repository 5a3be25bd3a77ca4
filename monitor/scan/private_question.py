"""A query on a protected table: a statistic, or whether it could be queried. Importing this is cheap."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checks import Json

if TYPE_CHECKING:
    from remedies.differential_privacy.answers import Statistic, Terms
    from sources import Source


@dataclass(frozen=True, slots=True)
class PrivateQuestion:
    """A statistic of a table, under the terms that are declared of it; as it goes to a worker.

    `relation`: its name in its source. `key`: orders the rows of a unit with too many. `charged`: it was paid for, so
    the table may be read. Otherwise only its catalogue is read, to see that the source answers and the table has the
    declared columns: what is not there need not be paid for.
    """

    relation: str
    statistic: "Statistic"
    terms: "Terms"
    key: str = field(repr=False)
    charged: bool = False

    def put_to(self, source: "Source") -> Mapping[str, Json]:
        """Return the noisy answer; nothing where it is not charged.

        Raises:
            SourceError, Misfit: it cannot be asked. Where it is charged, an error of any class, and which one it is may
                tell of the data.
        """
        table = source.table(self.relation)
        statement = self.statistic.statement(
            table, source.dialect, self.terms, key=self.key, types_declared=source.types_declared
        )
        asked = source.compile(statement)
        if not self.charged:
            return {}
        answer = self.statistic.answer(source.fetch(asked), self.terms)
        return {**answer, "not_covered": list(self.statistic.not_covered(self.terms))}
