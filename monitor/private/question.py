"""What a worker is asked about a protected table: a statistic, or whether that could be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checks import Json

if TYPE_CHECKING:
    from monitor.private.data_set import DataSet
    from remedies.differential_privacy.answers import Statistic
    from sources import Source


@dataclass(frozen=True, slots=True)
class Question:
    """A statistic of a data set.

    `charged`: it was paid for, so the table may be looked at. Otherwise only its catalogue is read, to see that the
    source answers and the table has the declared columns: what is not there need not be paid for.
    """

    data_set: "DataSet"
    statistic: "Statistic"
    charged: bool = False

    def put_to(self, source: "Source") -> Mapping[str, Json]:
        """Give the noisy answer; nothing where it is not charged.

        Raises:
            SourceError, Misfit: it cannot be asked. Of a charged question nobody may hear why.
        """
        from monitor.private.ask import answer_of, statement_of

        if self.charged:
            return answer_of(source, self.data_set, self.statistic)
        source.compile(statement_of(source, self.data_set, self.statistic))
        return {}
