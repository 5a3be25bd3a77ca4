"""Read a whole table as a frame whose columns keep their types."""

from typing import TYPE_CHECKING

from monitor.disclosure.place import Place
from monitor.frame.problem import ExitCode, Problem, Stop
from sources import SourceError, TableNotFound, open_source

if TYPE_CHECKING:
    import pandas as pd


def read(place: Place) -> "pd.DataFrame":
    """Read a table into memory, with Arrow's types.

    Raises:
        Stop: the source or the table cannot be read.
    """
    import pandas as pd
    import pyarrow as pa

    subject = place.target.subject
    try:
        with open_source(place.target.source) as source:
            table = source.table(subject.relation)
            names, kinds = table.columns, table.schema()
            pieces = [
                pa.table([column.arrow() for column in piece], names=names)
                for piece in source.columns(source.compile(table))
            ]
    except TableNotFound as error:
        raise Stop(ExitCode.USAGE, Problem("remedy.no_table", str(error))) from None
    except SourceError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("remedy.not_read", str(error))) from None
    except pa.ArrowException:
        message = f"'{place.name}' has a column that holds values of several types; expected one type in each"
        raise Stop(ExitCode.USAGE, Problem("remedy.not_read", message)) from None
    whole = pa.concat_tables(pieces, promote_options="permissive") if pieces else kinds.to_pyarrow().empty_table()
    frame: pd.DataFrame = whole.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
