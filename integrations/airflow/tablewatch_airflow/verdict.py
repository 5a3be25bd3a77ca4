"""What the results of checks mean for a task: failed, not evaluated, fine. No Airflow and no HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

SEVERITIES = ("info", "warning", "error", "critical")
NAMES = 50
"""Names of checks and incidents that an XCom lists; the counts are of all."""


@dataclass(frozen=True)
class CheckStatus:
    """A check with what it found last: `pass`, `warn`, `fail`, or `unknown` with a reason."""

    check_id: str
    table: str
    status: str
    severity: str
    reason: str | None = None
    incident: int | None = None


@dataclass(frozen=True)
class CheckRun:
    """The results of one run of checks."""

    checks: Sequence[CheckStatus]

    def failed(self, fail_on: str) -> Sequence[CheckStatus]:
        """Return the checks that failed, of a severity or a higher one."""
        worst = SEVERITIES[SEVERITIES.index(fail_on) :]
        return [check for check in self.checks if check.status == "fail" and check.severity in worst]

    @property
    def not_evaluated(self) -> Sequence[CheckStatus]:
        """Return the checks that could not be evaluated; what is no status that we know is one of them."""
        return [check for check in self.checks if check.status not in {"pass", "warn", "fail"}]

    def incidents(self) -> Sequence[int]:
        """Return the incidents that last, those of failed checks first, each once."""
        ranked = sorted(self.checks, key=lambda check: check.status != "fail")
        return list(dict.fromkeys(check.incident for check in ranked if check.incident is not None))

    def as_xcom(self, fail_on: str, address: str | None) -> dict[str, Any]:
        """Return names and counts, small enough for an XCom; `address` of the web pages gives incidents a link."""
        counts = Counter(check.status for check in self.checks if check.status in {"pass", "warn", "fail"})
        return {
            "tables": sorted({check.table for check in self.checks})[:NAMES],
            "checks": len(self.checks),
            **{status: counts[status] for status in ("pass", "warn", "fail")},
            "unknown": len(self.not_evaluated),
            "failed": [check.check_id for check in self.failed(fail_on)][:NAMES],
            "not_evaluated": [check.check_id for check in self.not_evaluated][:NAMES],
            "incidents": [
                {"id": number, "url": None if address is None else f"{address}/incidents/{number}"}
                for number in self.incidents()[:NAMES]
            ],
        }


def names_of(checks: Iterable[CheckStatus]) -> str:
    """Format checks for a message: the first ten, with the reason of those that were not evaluated."""
    names = [check.check_id if check.reason is None else f"{check.check_id} ({check.reason})" for check in checks]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def read_document(document: Mapping[str, Any]) -> CheckRun:
    """Return the results of the JSON of `tablewatch check --format json`."""
    return CheckRun(
        [
            CheckStatus(
                line["check_id"], line["table"], line["status"], line["severity"], line["reason"], line["incident"]
            )
            for line in document["results"]
        ]
    )


def read_page(page: Mapping[str, Any], since: datetime) -> Sequence[CheckStatus] | None:
    """Return the results of a table's page; None until a run that began at `since` or later is recorded.

    All results of a run are recorded at once. Results of other tools (`external`) come at their own time: they wait
    for nothing and are left out. A check of which that run says nothing is not evaluated.
    """
    lasting = {"open", "acknowledged"}
    incidents = {item["check_id"]: item["id"] for item in page["incidents"] if item["state"] in lasting}
    lines = [line for line in page["check_results"] if line["type"] != "external"]
    fresh = {line["check_id"] for line in lines if _is_since(line["measured_at"], since)}
    if lines and not fresh:
        return None
    return [
        CheckStatus(
            line["check_id"],
            page["table"],
            line["status"] if line["check_id"] in fresh else "unknown",
            line["severity"],
            line["reason"] if line["check_id"] in fresh else "not-run",
            incidents.get(line["check_id"]),
        )
        for line in lines
    ]


def _is_since(text: str | None, since: datetime) -> bool:
    return text is not None and datetime.fromisoformat(text) >= since
