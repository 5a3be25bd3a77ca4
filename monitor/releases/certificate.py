"""What the registry keeps of an export: its content, the decision and the verification."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import Json
from monitor.config.release_checks import FREE_VALUES, has_free_values
from monitor.releases.columns import ReleaseColumns
from monitor.releases.composition_risk import NOT_COMPARED, ExportComparison
from monitor.releases.plan import TreatmentPlan
from monitor.releases.state import ReleaseStanding
from monitor.releases.treat import Verification


@dataclass(frozen=True, slots=True)
class ExportFindings:
    """What was found in the file, and what it lost."""

    proof: Verification
    suppressed: int
    lost: Mapping[str, float]
    compared: ExportComparison = NOT_COMPARED
    mixed: Json = None
    held_back: int = 0


def certificate(
    case: ReleaseColumns,
    plan: TreatmentPlan,
    release_standing: ReleaseStanding,
    findings: ExportFindings,
    *,
    draft: Path,
    name: str,
) -> dict[str, Json]:
    """Return it as plain data; no value of the table is in it. `name`: that of the file."""
    release, approval = case.release, release_standing.event
    return {
        "table": release.table,
        "file": name,
        "sha256": sha256_of(draft),
        "bytes": draft.stat().st_size,
        "rows": findings.proof.rows,
        "rows_suppressed": findings.suppressed,
        "rows_held_back": findings.held_back,
        "columns": list(findings.proof.columns),
        "columns_read_as_text": list(findings.proof.texts),
        "columns_left_out": [column for column in release.columns if column not in plan.columns],
        "pseudonyms": [column for column in release.pseudonyms if column in plan.columns],
        "quasi_identifiers": [column for column in case.quasi if column in plan.columns],
        "sensitive": [column for column in case.sensitive if column in plan.columns],
        "remedy": plan.name,
        "kind": plan.kind.value,
        "parameters": _parameters(plan),
        "limits": release.limits.model_dump(mode="json", exclude_none=True),
        **{word: name for word, name in release.key_columns.items() if word != "person_key"},
        "missing_is_a_value": list(release.missing_is_a_value),
        "spelling_is_a_value": list(release.spelling_is_a_value),
        "reached": dict(findings.proof.reached),
        "question": findings.proof.question,
        "epsilon": findings.proof.epsilon,
        "information_lost": dict(findings.lost),
        "audience": release.audience,
        "purpose": release.purpose,
        "legal_basis": release.legal_basis,
        "approved_by": None if approval is None else approval.actor,
        "approved_at": None if approval is None else approval.recorded_at.isoformat(),
        "approval_note": None if approval is None else approval.note,
        "expires_at": None if release_standing.until is None else release_standing.until.isoformat(),
        **findings.compared.as_json(),
        "uniqueness": None if findings.proof.uniqueness is None else findings.proof.uniqueness.as_json(),
        "suppressed_to_hide_why": findings.mixed,
        "warnings": [*([FREE_VALUES] if has_free_values(release) else []), *_loose(findings)],
        "digest": case.digest,
        "table_state": release_standing.state,
    }


def _loose(findings: ExportFindings) -> list[str]:
    return [] if findings.proof.uniqueness is None else list(findings.proof.uniqueness.warnings())


def _parameters(plan: TreatmentPlan) -> Json:
    """Return the remedy's parameters without long ones: hierarchies and domains stand in the configuration."""
    model: Any = plan.remedy or plan.statistic
    if model is None:
        return None
    value: Json = model.model_dump(mode="json", exclude_none=True, exclude={"hierarchies", "domains"})
    return value


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
