"""Class counts and releases in the store, on each database."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.classes.counts import ClassChange, KnownRelease, Mode, PartCounts, PersonPairs, RejectedChange
from checks.classes.pairs import SignaturePairs
from store import Staged, Store, StoreConflict, StoredCounts, StoreUnavailable, signature_key
from store._class_repository import Draft
from store._counting import BITS
from tests.store.made import AT
from tests.tiers import examples


def signature(number: int) -> bytes:
    """Return 16 bytes."""
    return number.to_bytes(2) + bytes(14)


def pairs(counts: dict[int, int]) -> SignaturePairs:
    """Return counts of numbered classes."""
    first = np.array(list(counts), dtype=np.uint64) << np.uint64(48)
    return SignaturePairs.summed(first, first * np.uint64(3), np.array(list(counts.values()), dtype=np.int64))


def apply(store: Store, change: ClassChange, *, settle: bool = True) -> Staged | RejectedChange:
    """Write a change, and let it hold."""
    staged = StoredCounts(store).stage_counts({"t.k": change}, now=AT)["t.k"]
    if settle and isinstance(staged, Staged):
        with store.writing() as tx:
            tx.classes.settle([staged], now=AT)
    return staged


def change(store: Store, added: dict[int, int], *parts: PartCounts, anew: bool = False) -> ClassChange:
    """Return a change of what is kept, or all counts."""
    base = None if anew else StoredCounts(store).known_counts(["t.k"]).get("t.k")
    return ClassChange(base, b"digest", Mode.APPEND, b"token", 0, pairs(added), parts)


def counts(store: Store) -> Counter[int]:
    """Return the counts that hold, of all parts together."""
    known = StoredCounts(store).known_counts(["t.k"])["t.k"]
    with store.writing() as tx:
        row = tx._connection.exec_driver_sql(f"SELECT draft, aborted FROM class_state WHERE id = {known.state}").one()
        draft = Draft(known.state, known.version, row[0] + 1, tuple(map(int, row[1].split())))
        shards = tx.classes.shards_in(draft, b"", range(1 << BITS))
        found = SignaturePairs.added(*(shard.counts for shard in shards), *tx.classes.runs_of(draft))
    return Counter({first >> 48: count for (first, _), count in found.items()})


COUNTS = st.dictionaries(st.integers(0, 5) | st.integers(65_000, 65_003), st.integers(1, 3), max_size=4)
EVENT = st.tuples(st.sampled_from(["add", "part", "crash", "anew"]), st.integers(1, 2), COUNTS)


@pytest.mark.parametrize("runs", [0, 2, 8], ids=["folded each time", "folded at times", "rarely folded"])
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENT, max_size=8))
def test_what_is_kept_is_what_was_settled(store, monkeypatch, runs, events):
    """Additions, replaced parts, new counts and crashes in between: sizes and counts are those of what was settled.

    So they are whether changes lie in runs of their own or were folded into the rows they belong to.
    """
    monkeypatch.setattr("store._counting._MOST_RUNS", runs)
    apply(store, change(store, {}, anew=True))
    parts: dict[int, dict[int, int]] = {}
    loose: Counter[int] = Counter()
    for what, part, given_ in events:
        if what in {"add", "crash"}:
            apply(store, change(store, given_), settle=what == "add")
            loose.update(given_ if what == "add" else {})
        elif what == "part":
            parts[part] = given_
            apply(store, change(store, {}, PartCounts(signature(part), sum(given_.values()), pairs(given_))))
        else:
            parts, loose = {}, Counter(given_)
            apply(store, change(store, given_, anew=True))
        expected = loose + sum(map(Counter, parts.values()), Counter())
        known = StoredCounts(store).known_counts(["t.k"])["t.k"]
        with store.reading() as tx:
            assert tx.classes.sizes(known.state) == Counter(expected.values())
        assert counts(store) == expected
        assert set(known.parts) == {signature(name) for name, of in parts.items() if of}
    store.prune(keep_measurements=timedelta(1), keep_incidents=timedelta(1), now=AT)
    assert counts(store) == loose + sum(map(Counter, parts.values()), Counter())


def test_counts_never_fall_below_zero(store):
    """A class that would have fewer than no rows gives all counts up; nothing of the change holds."""
    apply(store, change(store, {1: 2}, anew=True))
    assert apply(store, change(store, {1: -3})) is RejectedChange.BELOW_ZERO
    assert StoredCounts(store).known_counts(["t.k"]) == {}


def test_a_change_of_counts_that_are_no_longer_kept_is_not_applied(store):
    """Another process was faster: its counts stay."""
    apply(store, change(store, {1: 2}, anew=True))
    late = change(store, {1: 1})
    apply(store, change(store, {2: 1}))
    assert apply(store, late) is RejectedChange.OVERTAKEN
    assert counts(store) == {1: 2, 2: 1}


def test_many_classes_are_written_in_many_transactions(store, monkeypatch):
    """More rows than are written at a time: a change is whole all the same."""
    monkeypatch.setattr("store._counting._SHARDS", 3)
    monkeypatch.setattr("store._counting._LONGEST_S", 0.0)
    many = {number * 100: 1 + number % 3 for number in range(95)}
    apply(store, change(store, many, anew=True))
    apply(store, change(store, dict.fromkeys(range(5_000, 12_000, 100), 1)))
    assert counts(store) == Counter(many) + Counter(range(5_000, 12_000, 100))


def test_a_small_change_is_written_small(store):
    """A change of a few classes is a row of its own; when there are many of these they are folded, and counts stay."""
    many = dict.fromkeys(range(0, 60_000, 10), 2)
    apply(store, change(store, many, anew=True))
    before = _rows(store)
    expected = Counter(many)
    for number in range(1, 21):
        apply(store, change(store, {number: 1, 10: 1}))
        expected.update({number: 1, 10: 1})
        assert counts(store) == expected
        assert 0 <= _rows(store) - before <= 8
    assert _rows(store) - before < 8


def _rows(store: Store) -> int:
    with store.writing() as tx:
        return int(tx._connection.exec_driver_sql("SELECT count(*) FROM class_count").scalar() or 0)


def test_a_release_is_seen_once_it_is_whole(store):
    """Rows of a release that was left half written are not compared, and its name is free."""
    release = KnownRelease("spring", AT, PersonPairs(b"digest", signature(1) + signature(2) * 2, signature(9) * 3, 3))
    with store.writing() as tx:
        number = tx.releases.begin("t.r", release)
        tx.releases.add_rows(number, [(signature(7), signature(7), 1)])
    kept = StoredCounts(store)
    assert kept.releases("t.r") == []
    number = kept.write_release("t.r", release)
    assert kept.releases("t.r") == []
    with store.writing() as tx:
        tx.releases.end(number)
    assert kept.releases("t.r") == [release]
    assert kept.releases("other") == []
    with pytest.raises(StoreConflict, match="'spring' is already recorded"):
        kept.write_release("t.r", release)


def test_the_key_of_a_file_is_made_once_for_its_owner(tmp_path: Path):
    """It is random, readable for its owner only, and never in the store."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    key = signature_key(url)
    assert signature_key(url) == key
    assert len(key) == 32
    assert (tmp_path / "store.db.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["store.db.key"]
    assert signature_key(f"sqlite:///{tmp_path / 'other.db'}") != key


@pytest.mark.parametrize("text", ["", "not hexadecimal", "abcd"])
def test_a_key_file_that_holds_no_key_is_refused(tmp_path: Path, text: str):
    """A cut-off key would make other signatures: it is not used, and left as it is."""
    (tmp_path / "store.db.key").write_text(text, encoding="ascii")
    with pytest.raises(StoreUnavailable, match="is not a signature key"):
        signature_key(f"sqlite:///{tmp_path / 'store.db'}")
    assert (tmp_path / "store.db.key").read_text(encoding="ascii") == text


def test_postgresql_needs_a_key_from_the_configuration():
    """Daemons that share a store share the key, so that none makes one for itself."""
    url = "postgresql://user@localhost/nothing"
    with pytest.raises(StoreUnavailable, match="need 'signature_key' of the storage"):
        signature_key(url)
    with pytest.raises(StoreUnavailable, match="is short"):
        signature_key(url, "short")
    assert signature_key(url, "a long random text") == signature_key("sqlite:///x", "a long random text")
