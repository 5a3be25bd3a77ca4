"""The text of a CSV file: its encoding, its line ends, its delimiter, and the line on which it stops being a table.

DuckDB reads UTF-8 with line ends of one kind, and looks for a dialect until one fits: a row of another length or a
quote that does not close makes it take whole lines for one column of text. So nothing but the types is left to it: the
encoding is declared or shown by a byte order mark, the delimiter is found in the header, and what DuckDB refuses is
read once more here to name the line. A file in another encoding, or with line ends of two kinds, is rewritten first.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from sources._csv_encoding import UTF_8, CsvFault, chunks, encoding_of, line_at, opened
from sources._spec import CsvOptions

_DELIMITERS: Final = (",", ";", "\t", "|")
_RARE_DELIMITERS: Final = (*":^~\x01\x1f\x1e¦§!#&*=/\\ ",)
"""Characters that also stand in names and texts, so none is taken for a delimiter unless it is declared."""
_SAMPLE_ROWS: Final = 100
_NOTE: Final = re.compile(r"\"?sep=(.)\"?", re.IGNORECASE)
_LONGEST_LINE: Final = 1 << 24
_BUFFER: Final = 2 * _LONGEST_LINE
"""Bytes that DuckDB reads at once; without it, 16 of the longest lines."""
CheckTime = Callable[[], None]
"""Raises when the time of the pass is up."""

RAGGED: Final = "ragged"
"""The column that says of rows of files that are not read strictly whether they had another number of cells."""


@dataclass(frozen=True, slots=True)
class CsvText:
    """The encoding of a file, and whether its rows end in more than one way."""

    encoding: str
    mixed: bool

    @property
    def plain(self) -> bool:
        """Return whether DuckDB can read the file as it lies."""
        return self.encoding in UTF_8 and not self.mixed


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """The syntax of cells and rows. `width`: cells of a row; 0 where the delimiter has several characters.

    `ragged`: rows may have other numbers of cells, and the column `RAGGED` of what is rewritten marks them.
    """

    delimiter: str
    quote: str
    escape: str
    skip: int
    width: int = 0
    ragged: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """DuckDB's options: no part of the layout is left to its detection, not even lines that look like comments."""
        layout = {"delim": self.delimiter, "quote": self.quote, "escape": self.escape}
        return {**layout, "skip": self.skip, "comment": "", "max_line_size": _LONGEST_LINE, "buffer_size": _BUFFER}


def read_text(path: Path, declared: CsvOptions, check_time: CheckTime) -> CsvText:
    """Read a whole file once and return how its characters are written.

    Raises:
        CsvFault: the file is empty, holds NUL characters, or is not in its encoding.
        OSError: it cannot be read.
    """
    encoding = encoding_of(path, declared.encoding)
    ends: set[str] = set()
    count = 0
    for text in chunks(path, encoding):
        check_time()
        if (place := text.find("\0")) >= 0:
            remedy = "the file is corrupt, or is UTF-16 without a byte order mark (declare csv.encoding: utf-16-le)"
            raise CsvFault(
                "a NUL character, which is not allowed in CSV", remedy, line_at(path, encoding, count + place)
            )
        count += len(text)
        ends |= _ends(text)
    if not count:
        raise CsvFault("the file is empty", "expected a header line with the column names")
    return CsvText(encoding, len(ends) > 1 and _ends_differ(path, encoding, declared.quote or '"', check_time))


def find_layout(path: Path, text: CsvText, declared: CsvOptions) -> CsvLayout:
    """Find the delimiter: declared, else that of `,` `;` tab `|` that parts the first rows alike, or the header most.

    Raises:
        CsvFault: there is no row, no header where one is needed, or another delimiter than the declared or usual ones
            parts the rows.
    """
    if not declared.strict and declared.header is False:
        raise CsvFault("csv.strict: false without a header", "write a header line, or remove csv.strict")
    quote = declared.quote or '"'
    layout = CsvLayout(declared.delimiter or ",", quote, declared.escape or quote, declared.skip_lines)
    _refuse_note_of_delimiter(path, text, layout.skip)
    if len(layout.delimiter) > 1:
        return layout
    tried = _DELIMITERS if declared.delimiter is None else (layout.delimiter,)
    best = max((_Sample.of(path, text, replace(layout, delimiter=item)) for item in tried), key=lambda it: it.rank)
    if not best.width:
        raise best.fault or CsvFault("no row", "expected a header line with the column names", layout.skip + 1)
    if best.width == 1:
        _refuse_one_column(path, text, best.layout, declared.delimiter is not None)
    skip = best.line - 1  # DuckDB takes an empty line for the header
    return replace(best.layout, width=best.width, skip=skip, ragged=not declared.strict)


def rewrite(path: Path, target: Path, text: CsvText, layout: CsvLayout, check_time: CheckTime) -> CsvLayout:
    """Write a file as UTF-8 with line ends of one kind and rows of one width; return the layout of what was written.

    Raises:
        CsvFault: a row cannot be read, or has another number of cells than the first and `layout` does not allow it.
        OSError: the disk is full.
    """
    if not text.mixed and not layout.ragged:
        transcode(path, target, text.encoding, check_time)
        return layout
    if not layout.width:
        remedy = "use one kind of line ending and csv.strict, or a single-character delimiter"
        raise CsvFault("mixed line endings, or csv.strict: false, with a multi-character delimiter", remedy)
    with target.open("x", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=layout.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        rows = _rows(path, text, layout, check_time)
        for row in _marked(rows, layout.width) if layout.ragged else rows:
            writer.writerow(row.cells)  # an empty row is an empty line
        return replace(layout, quote='"', escape='"', skip=0)


def _marked(rows: Iterator["_Row"], width: int) -> Iterator["_Row"]:
    """Yield rows of one width, and in one more cell whether they had another: cells that lack are empty, more are cut.

    Raises:
        CsvFault: the header has a column of the name of that cell.
    """
    header = next(rows, None)
    if header is None:
        return
    if RAGGED in map(str.casefold, header.cells):
        reason = f"a column '{RAGGED}', which csv.strict: false makes"
        raise CsvFault(reason, "rename it, or remove csv.strict", header.line)
    yield _Row(header.line, [*header.cells, RAGGED])
    for row in rows:
        if not row.cells and width > 1:
            yield row
            continue
        cells = [*row.cells[:width], *[""] * (width - len(row.cells))]
        yield _Row(row.line, [*cells, str(bool(row.cells) and len(row.cells) != width).lower()])


def transcode(path: Path, target: Path, encoding: str, check_time: CheckTime, errors: str = "strict") -> None:
    """Write a text file as UTF-8.

    Raises:
        CsvFault: bytes do not belong to the encoding, unless `errors` replaces them.
        OSError: the disk is full.
    """
    with target.open("x", encoding="utf-8", newline="") as out:
        for chunk in chunks(path, encoding, errors):
            check_time()
            out.write(chunk)


def find_fault(path: Path, text: CsvText, layout: CsvLayout, check_time: CheckTime) -> CsvFault | None:
    """Return the first fault of a file whose rows DuckDB refuses; None if none is found here."""
    if not layout.width:
        return None
    try:
        for _ in _rows(path, text, layout, check_time):
            pass
    except CsvFault as fault:
        return fault
    return None


def line_of_row(path: Path, text: CsvText, layout: CsvLayout, row: int, check_time: CheckTime) -> int | None:
    """Return the line on which the row with this number (from 1, with the header and empty lines) begins.

    Raises:
        CsvFault: that row or one above it is no CSV.
    """
    if not layout.width:
        return None
    rows = _rows(path, text, layout, check_time)
    return next((item.line for number, item in enumerate(rows, 1) if number == row), None)


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The first rows of a file as a delimiter parts them."""

    layout: CsvLayout
    line: int
    width: int
    below: frozenset[int]
    """Widths of the rows below the first."""
    fault: CsvFault | None

    @classmethod
    def of(cls, path: Path, text: CsvText, layout: CsvLayout) -> "_Sample":
        rows: list[_Row] = []
        fault = None
        try:
            filled = (row for row in _rows(path, text, layout, lambda: None) if row.cells)
            rows.extend(islice(filled, _SAMPLE_ROWS))
        except CsvFault as error:
            fault = error
        first, *below = rows or [_Row(layout.skip + 1, ())]
        return cls(layout, first.line, len(first.cells), frozenset(len(row.cells) for row in below), fault)

    @property
    def rank(self) -> tuple[bool, int]:
        return self.width > 1 and self.below <= {self.width}, self.width


def _refuse_note_of_delimiter(path: Path, text: CsvText, skip: int) -> None:
    """Refuse a first line such as `sep=;`, which spreadsheets write above the header.

    Raises:
        CsvFault: there is one.
    """
    with opened(path, text.encoding) as file:
        first = next(islice(_lines(file, lambda: None), skip, None), "")
    if (note := _NOTE.fullmatch(first.rstrip("\r\n"))) is not None:
        remedy = f"declare csv.skip_lines: {skip + 1} and csv.delimiter: {note[1]!r}"
        raise CsvFault("a note of the delimiter for spreadsheets, not a header", remedy, skip + 1)


def _refuse_one_column(path: Path, text: CsvText, layout: CsvLayout, declared: bool) -> None:
    """Refuse what would be read as one column of text although another delimiter parts its rows alike.

    Raises:
        CsvFault: so it is.
    """
    others = [item for item in _DELIMITERS if item != layout.delimiter]
    for delimiter in others if declared else (*others, *_RARE_DELIMITERS):
        sample = _Sample.of(path, text, replace(layout, delimiter=delimiter))
        common = delimiter in _DELIMITERS
        if sample.fault is not None and not sample.width and common and not declared:
            raise sample.fault  # a quote in the first row hides the delimiter
        widths = {sample.width} | sample.below
        if len(sample.below) == 1 and max(widths) > 1 and (len(widths) == 1 or (common and sample.width == 1)):
            width = max(sample.below)
            expected = f"{layout.delimiter!r} (csv.delimiter)" if declared else ", ; tab or |"
            reason = f"no cells separated by {expected}; {delimiter!r} separates each row into {width}"
            line = sample.line + (sample.width == 1)
            raise CsvFault(reason, f"declare csv.delimiter: {delimiter!r}, or ',' if it is one column", line)


def _rows(path: Path, text: CsvText, layout: CsvLayout, check_time: CheckTime) -> Iterator[_Row]:
    """Yield the rows, empty lines as rows without cells.

    Raises:
        CsvFault: a row that is not CSV, or has another number of cells than the first; `layout.width` 0 allows any.
    """
    csv.field_size_limit(_LONGEST_LINE)
    double = layout.escape == layout.quote
    with opened(path, text.encoding) as file:
        lines = _lines(file, check_time)
        for _ in range(layout.skip):
            next(lines, None)
        reader = csv.reader(
            lines,
            delimiter=layout.delimiter,
            quotechar=layout.quote,
            doublequote=double,
            escapechar=None if double else layout.escape,
            strict=True,
        )
        line = layout.skip + 1
        try:
            for cells in reader:
                if cells and layout.width and len(cells) != layout.width and not layout.ragged:
                    raise _ragged(len(cells), layout, line)
                yield _Row(line, cells)
                line = layout.skip + reader.line_num + 1
        except csv.Error as error:
            raise _malformed(str(error), line) from None


def _ragged(width: int, layout: CsvLayout, line: int) -> CsvFault:
    cells = "1 cell" if width == 1 else f"{width} cells"
    remedy = "all rows need the same number; quote cells that contain the delimiter (see csv.delimiter, csv.quote)"
    more = " and csv.skip_lines" if line <= layout.skip + 2 else ""
    return CsvFault(f"{cells}, but the first row has {layout.width}", remedy.replace(")", f"{more})"), line)


def _malformed(error: str, line: int) -> CsvFault:
    if "unexpected end of data" in error:
        return CsvFault("an unclosed quote", "close it, or double the quotes within cells", line)
    if "expected after" in error:
        remedy = "double the quotes within cells, or declare csv.escape"
        return CsvFault("text between a closing quote and the next delimiter", remedy, line)
    return CsvFault("a row that is not valid CSV, or longer than 16 MB", "see csv.quote and csv.escape", line)


def _lines(file: IO[str], check_time: CheckTime) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), ""), 1):
        if number % 10_000 == 0:
            check_time()
        if len(line) >= _LONGEST_LINE:
            raise CsvFault("a line longer than 16 MB", "see csv.quote and the line endings of the file", number)
        yield line


def _ends(text: str) -> set[str]:
    """Return the kinds of line ends in a text."""
    if "\r" not in text:
        return {"\n"} if "\n" in text else set()
    both = text.count("\r\n")
    counts = {"\r\n": both, "\n": text.count("\n") - both, "\r": text.count("\r") - both}
    return {end for end, count in counts.items() if count}


def _ends_differ(path: Path, encoding: str, quote: str, check_time: CheckTime) -> bool:
    """Return whether line ends outside quotes are of more than one kind."""
    ends: set[str] = set()
    inside = False
    for text in chunks(path, encoding):
        check_time()
        for place, part in enumerate(text.split(quote)):
            inside = inside != bool(place)
            if not inside:
                ends |= _ends(part)
    return len(ends) > 1
