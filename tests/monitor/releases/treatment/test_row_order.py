"""Rows are put in uniformly random order in bounded memory, and nothing else of a file tells their place."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from monitor.releases.treatment import output
from monitor.releases.treatment.output import Shuffle, row_writer, write_frame
from remedies import RowOrder

ROWS = 3_000


def _table(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table(
        {
            "number": numbers,
            "text": pa.array([f"{number}" * (number % 5) if number % 7 else None for number in range(rows)]),
            "list": pa.array([[number] * (number % 3) for number in range(rows)]),
        }
    )


def _write(draft: Path, table: pa.Table, order: RowOrder, memory: int | None, piece: int = 100) -> None:
    with row_writer(draft, table.schema, order=order, memory=memory) as write:
        for first in range(0, len(table), piece):
            write(table.slice(first, piece))


@pytest.mark.parametrize("memory", [None, 10**9, 20_000, 2_000])
def test_rows_that_do_not_fit_in_memory_come_out_in_random_order(memory: int | None, tmp_path: Path) -> None:
    """All rows, each once, wherever they waited: in memory, in files, or in files of files."""
    table = _table()
    _write(tmp_path / "out.parquet", table, RowOrder.RANDOM, memory)
    found = pq.read_table(tmp_path / "out.parquet")
    order = np.asarray(found["number"])
    assert found.take(np.argsort(order)).equals(table)
    assert (order == np.arange(ROWS)).sum() <= 12
    assert stats.spearmanr(order, np.arange(ROWS)).pvalue > 1e-9
    assert stats.spearmanr(order[1:], order[:-1]).pvalue > 1e-9
    assert (tmp_path / "shuffle").exists() is (memory is not None and memory < 10**6)
    assert [path for path in tmp_path.rglob("shuffle/**/*") if path.is_file()] == []


@pytest.mark.parametrize("memory", [10**6, 1])
def test_every_order_is_equally_likely(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three rows, in memory and by way of files, to which the rows are assigned one by one."""
    monkeypatch.setattr(output, "_FILES", 3)
    seen: dict[Any, int] = dict.fromkeys(permutations(range(3)), 0)
    for run in range(1_500):
        shuffle = Shuffle(tmp_path / f"{run}", memory=memory)
        for number in range(3):
            shuffle.add(pa.table({"a": [number]}))
        seen[tuple(row for piece in shuffle.take() for row in piece["a"].to_pylist())] += 1
    assert stats.chisquare(list(seen.values())).pvalue > 1e-9


def test_a_row_larger_than_memory_is_written(tmp_path: Path) -> None:
    """It is the only one in its file then."""
    shuffle = Shuffle(tmp_path / "files", memory=10)
    texts = [sign * 1_000 for sign in "abcd"]
    shuffle.add(pa.table({"a": texts}))
    assert sorted(text for piece in shuffle.take() for text in piece["a"].to_pylist()) == texts


def test_no_rows_are_no_rows(tmp_path: Path) -> None:
    """A file without a row has its columns."""
    for order in RowOrder:
        _write(tmp_path / "out.parquet", _table(0), order, 10)
        assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_a_parquet_file_has_nothing_but_its_rows(tmp_path: Path) -> None:
    """No statistics, no metadata of pandas or Arrow, few row groups, and no dictionary of values that no row has."""
    words = [f"word {number}" for number in range(ROWS)]
    frame = pd.DataFrame({"word": pd.Categorical(words[:500] * 6, categories=words[::-1])}, index=words)
    table = pa.Table.from_pandas(frame)
    with row_writer(tmp_path / "out.parquet", table.schema, order=RowOrder.RANDOM, memory=10_000) as write:
        write(table)
    file = pq.ParquetFile(tmp_path / "out.parquet")
    metadata = file.metadata
    assert (metadata.metadata, metadata.num_row_groups, metadata.created_by) == (
        None,
        1,
        f"parquet-cpp-arrow version {pa.__version__}",
    )
    assert all(not metadata.row_group(0).column(number).is_stats_set for number in range(metadata.num_columns))
    assert file.schema_arrow.field("word").type == pa.string()
    raw = (tmp_path / "out.parquet").read_bytes()
    assert b"word 2999" not in raw
    write_frame(frame, tmp_path / "frame.parquet", order=RowOrder.RANDOM)
    assert pq.read_schema(tmp_path / "frame.parquet").names == ["word"]


def test_a_dictionary_lists_values_in_the_order_of_the_rows_that_are_written(tmp_path: Path) -> None:
    """Not in the order of the input, or of the declaration."""
    words = [f"{number:04}" for number in range(1_000)]
    table = pa.table({"word": pa.array(words).dictionary_encode()})
    _write(tmp_path / "out.parquet", table, RowOrder.RANDOM, None, piece=1_000)
    found = pq.read_table(tmp_path / "out.parquet", read_dictionary=["word"])["word"]
    listed = [word for chunk in found.chunks for word in chunk.dictionary.to_pylist()]
    assert sorted(listed) == words
    assert listed == found.to_pylist()
    assert listed != words
