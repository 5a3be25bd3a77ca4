"""The result of one examination of a subject, and all of them as they are published."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field

from monitor.summaries.shapes import Shape
from monitor.terminal.problem import ExitCode


class FindingStatus(StrEnum):
    """The status of a finding; `unknown` if it could not be determined."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one examination of a subject."""

    subject: str
    verdict: FindingStatus
    message: str
    hint: str | None = None


class DoctorPage(Shape):
    """`tablewatch.doctor/1`: all findings; `exit_code` is that of the command."""

    schema_: Literal["tablewatch.doctor/1"] = Field("tablewatch.doctor/1", alias="schema")
    ok: bool
    exit_code: int
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Self:
        """Return findings with the exit code that follows from the worst of them."""
        verdicts = {finding.verdict for finding in findings}
        code = ExitCode.NOT_EVALUATED if FindingStatus.UNKNOWN in verdicts else ExitCode.OK
        code = ExitCode.FAILED if FindingStatus.ERROR in verdicts else code
        return cls(ok=code is ExitCode.OK, exit_code=int(code), findings=tuple(findings))
