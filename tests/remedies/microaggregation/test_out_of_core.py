"""Numbers that do not fit in memory are grouped block by block."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks._donors import donors
from remedies import Misfit
from remedies.microaggregation import information_loss, microaggregate
from remedies.microaggregation.out_of_core import GroupingResult, OutOfCore, _whole_groups, fewest
from tests.tiers import examples

MEASURE = """
import resource, sys, tempfile
from pathlib import Path
import numpy as np
from remedies.microaggregation.out_of_core import OutOfCore

def peak(rows):
    rng = np.random.default_rng(1)
    blocks = (rng.normal(size=(10_000, 20)) for _ in range(rows // 10_000))
    with tempfile.TemporaryDirectory() as folder:
        work = OutOfCore(Path(folder), ["f8"] * 20, 5, most=10_000, sweeps=1)
        work.group(blocks)
        assert sum(len(before) for before, _ in work.rows()) == rows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

few = peak(20_000)
print((peak(200_000) - few) / 1024)
"""


def _run(
    table: np.ndarray, folder: Path, k: int, kinds: Sequence[str] | None = None, **said: int
) -> tuple[np.ndarray, GroupingResult]:
    work = OutOfCore(folder, kinds or ["f8"] * table.shape[1], k, most=said.pop("most", 2_000), **said)
    work.group(np.array_split(table, 7))
    before, after = (np.concatenate(part) for part in zip(*work.rows(), strict=True))
    assert np.array_equal(before, table)
    sizes = np.unique(after, axis=0, return_counts=True)[1]
    assert sizes.min() >= k
    assert work.found.smallest >= k
    assert work.found.largest < 2 * k
    return after, work.found


@pytest.mark.parametrize("sweeps", [0, 1, 3])
def test_k_holds_after_every_stage(sweeps: int, tmp_path: Path) -> None:
    """Rows come back in their order, in groups of k or more, each sweep losing less, and near the whole at once."""
    table = donors(9_000)[:, :6]
    after, _ = _run(table, tmp_path, 5, sweeps=sweeps)
    lost = information_loss(table, np.unique(after, axis=0, return_inverse=True)[1])
    assert lost < 1.25 * microaggregate(table, 5, sweeps=3).information_loss


def test_the_same_rows_give_the_same_output(tmp_path: Path) -> None:
    """And what is counted is what happened."""
    table = donors(5_000)[:, :4]
    outs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        outs.append(_run(table, tmp_path / name, 3, sweeps=1))
    assert np.array_equal(outs[0][0], outs[1][0])
    labels = np.unique(outs[0][0], axis=0, return_inverse=True)[1]
    found = outs[0][1]
    assert 100 * (found.lost / found.total).mean() == pytest.approx(information_loss(table, labels))
    assert found.rows == 5_000
    assert found.changed.tolist() == (table != outs[0][0]).sum(axis=0).tolist()


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 4_000), st.integers(1, 3))
def test_equal_values_are_parted(
    tmp_path_factory: pytest.TempPathFactory, seed: int, k: int, rows: int, columns: int
) -> None:
    """However many rows hold the same values, no block is larger than it may be, and k holds."""
    table = np.random.default_rng(seed).integers(0, 3, (max(rows, k), columns)).astype(float)
    _run(table, tmp_path_factory.mktemp("rows"), k, ["i8"] * columns, most=fewest(k), sweeps=2)


def test_too_few_rows_are_refused(tmp_path: Path) -> None:
    """No group of k can be made, or of nothing."""
    work = OutOfCore(tmp_path, ["f8"], 5, most=2_000)
    with pytest.raises(Misfit, match="the table has 4 records"):
        work.group([np.zeros((4, 1))])
    with pytest.raises(Misfit, match="the table has 0 records"):
        OutOfCore(tmp_path, ["f8"], 5, most=2_000).group([])


def test_numbers_that_cannot_be_squared_are_refused(tmp_path: Path) -> None:
    """Their deviation is no float."""
    with pytest.raises(Misfit, match="squares are no float"):
        OutOfCore(tmp_path, ["f8"], 2, most=2_000).group([np.array([[1e300], [-1e300], [0.0]])])


@given(st.lists(st.integers(1, 5), max_size=20), st.integers(1, 10))
def test_no_group_is_cut(sizes: list[int], many: int) -> None:
    """A stream of rows is cut between groups only, and nothing of it is lost."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.column_stack([np.arange(len(labels)), labels]).astype(float)
    pieces = [rows[at : at + many] for at in range(0, len(rows), many)]
    cut = list(_whole_groups(pieces))
    assert np.array_equal(np.concatenate([*cut, np.zeros((0, 2))]), rows)
    seen = [set(piece[:, 1]) for piece in cut]
    assert all(not seen[one] & seen[other] for one in range(len(seen)) for other in range(one))


def test_memory_does_not_grow_with_rows() -> None:
    """Ten times the rows take about the memory of few: a child process says its peak, in MiB."""
    done = subprocess.run([sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 60
