"""A comparison of the remedies of the release `extract`, and exports of it, as far as pages read them."""

from typing import Any, Final

from monitor.releases.columns import ReleaseColumns
from monitor.releases.compare import HOLDS, REFUSED, ReleaseComparison, RemedyTrial
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.utility_figures import ColumnFigure, PairFigure, UtilityBar, UtilityFigures, UtilityLabel
from store import ReleaseEvent, ReleaseEventKind, StoredComparison
from tests.monitor.web.site import Site

_LABELS: Final = (
    UtilityLabel(kind="range", high=20.0),
    UtilityLabel(kind="range", low=20.0, high=40.0),
    UtilityLabel(kind="range", low=40.0),
    UtilityLabel(kind="rank", rank=1),
    UtilityLabel(kind="text", text="north"),
    UtilityLabel(kind="others"),
    UtilityLabel(kind="missing"),
)
_CELLS: Final = tuple(tuple(None if row == place else 0.02 * row for place in range(7)) for row in range(7))
FIGURES: Final = UtilityFigures(
    remedy="suppress",
    k=5,
    columns=(
        ColumnFigure(
            column="customer",
            bars=tuple(UtilityBar(label=label, before=0.2, after=0.1) for label in _LABELS),
            merged=True,
            left_out=True,
        ),
    ),
    pairs=(
        PairFigure(
            columns=("customer", "amount"),
            rows=_LABELS,
            across=_LABELS,
            before=_CELLS,
            after=_CELLS,
            left_out=True,
        ),
    ),
    without=("note",),
)
TRIALS: Final = (
    RemedyTrial("as-it-is", "table", REFUSED, "k is 1", {"k": 1, "highest_risk": 1.0}),
    RemedyTrial(
        "suppress",
        "table",
        HOLDS,
        None,
        {"k": 2, "highest_risk": 0.5, "l": {"amount": 3}},
        lost={"customer": 14.0},
        figures=FIGURES,
    ),
    RemedyTrial("noisy", "randomised", HOLDS, epsilon="1", lost={"customer": 54.0}),
)


def compared(site: Site) -> StoredComparison:
    """Write a comparison of three ways as `release compare` does."""
    case = ReleaseColumns.of(site.project, "extract")
    comparison = ReleaseComparison(40, 40, TRIALS, "suppress", "lowest information loss").to_store(
        case, site.clock.now()
    )
    with site.store.writing() as tx:
        tx.release_events.put_comparison(comparison)
    return comparison


def exported(site: Site, number: int, **changes: Any) -> None:
    """Record an export, as far as these pages read it."""
    body: dict[str, Any] = {
        "table": "orders",
        "sha256": "00",
        "bytes": 1,
        "columns": ["customer"],
        "columns_left_out": [],
        "pseudonyms": [],
        "quasi_identifiers": ["customer"],
        "sensitive": [],
        "parameters": None,
        "limits": {"k": 2},
        "question": "SELECT 1",
        "epsilon": None,
        "information_lost": {},
        "audience": "a university",
        "purpose": None,
        "legal_basis": None,
        "rows_suppressed": 0,
        "approved_by": "ann",
        "approved_at": None,
        "approval_note": "",
        "expires_at": None,
        "file": f"extract{number}.csv",
        "remedy": "suppress",
        "kind": "table",
        "rows": 40,
        "earlier": [],
        "exposed_by_all": None,
        "promised_together": {"k": 2, "l": None, "t": None},
        "persons_elsewhere": {},
        "reached": {"k": 2, "highest_risk": 0.5, "persons": {"persons_exposed": 0}},
        **changes,
    }
    event = ReleaseEvent("extract", ReleaseEventKind.EXPORTED, "ann", "", body, site.clock.now())
    ledger = ReleaseDecisions(ReleaseColumns.of(site.project, "extract"), site.store).ledger
    ledger.write(lambda tx: ledger.append(tx, event))


def pair(exposed: int | None, left_over: int | None) -> dict[str, Any]:
    """Return what a certificate says of an earlier export."""
    return {
        "export": "extract",
        "exported_at": "2026-11-20T09:00:00+00:00",
        "persons_in_both": None if exposed is None else 38,
        "persons_exposed": exposed,
        "persons_left_over": left_over,
    }
