"""JUnit XML: a suite for each table, a case for each check. Jenkins, GitLab and others show it like results of tests.

JUnit has no published standard; this is what Jenkins' schema and GitLab's reader take. A failed check is a `failure`,
one that could not be evaluated an `error`. A warning, and a failure below `--fail-on`, passes with its message as
`system-out`. Nothing is ever `skipped`, which readers show as neither good nor bad.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final
from xml.etree import ElementTree as ET

from checks import Status
from monitor.scan.results import CheckResult, PassResult
from monitor.terminal.redaction import visible

_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'


def as_junit(result: PassResult, *, redact: Callable[[str], str] = str) -> str:
    """Return the results of a pass as a JUnit XML document, to be written as UTF-8."""
    suites = [
        _suite(table, list(results), result)
        for table, results in groupby(result.results, key=lambda check_result: check_result.table)
    ]
    if result.problem is not None:
        suites.append(_store_suite(result.problem))
    root = ET.Element("testsuites", {"name": result.project, **_totals(suites), "time": f"{result.duration_s:.3f}"})
    root.extend(suites)
    for element in root.iter():
        element.attrib = {name: visible(redact(value)) for name, value in element.attrib.items()}
        element.text = None if element.text is None else visible(redact(element.text), keep="\n")
    ET.indent(root)
    return f"{_DECLARATION}{ET.tostring(root, encoding='unicode')}\n"


def _suite(table: str, results: Sequence[CheckResult], result: PassResult) -> ET.Element:
    cases = [_case(check_result, result) for check_result in results]
    time = sum(check_result.duration_s for check_result in results)
    started = result.started_at.isoformat(timespec="seconds")
    suite = ET.Element("testsuite", {"name": table, **_counts(cases), "time": f"{time:.3f}", "timestamp": started})
    suite.extend(cases)
    return suite


def _case(check_result: CheckResult, result: PassResult) -> ET.Element:
    time = f"{check_result.duration_s:.3f}"
    case = ET.Element("testcase", {"classname": check_result.table, "name": check_result.check.name, "time": time})
    outcome, message = check_result.outcome, str(check_result.outcome.message)
    if outcome.status is Status.UNKNOWN:
        reason = outcome.reason.value if outcome.reason is not None else "unknown"
        child = ET.SubElement(case, "error", {"type": reason, "message": message})
    elif result.counts_as_failure(check_result):
        child = ET.SubElement(case, "failure", {"type": check_result.check.type, "message": message})
    elif outcome.status is Status.PASS:
        return case
    else:
        child = ET.SubElement(case, "system-out")
    child.text = "\n".join(_details(check_result))
    return case


def _details(check_result: CheckResult) -> Iterator[str]:
    check, outcome = check_result.check, check_result.outcome
    yield f"{outcome.status.value.upper()}: {outcome.message}"
    yield f"check: {check_result.check_id} ({check.type}, severity {check.severity.value})"
    for name, value in (("observed", outcome.observed), ("expected", outcome.expected)):
        if value:
            yield f"{name}: {json.dumps(dict(value), ensure_ascii=False)}"
    if check_result.incident is not None:
        yield f"incident: #{check_result.incident}"
    for name, text in (("owner", check_result.owner), ("why", check.why), ("runbook", check.runbook)):
        if text is not None:
            yield f"{name}: {text}"


def _store_suite(problem: str) -> ET.Element:
    """Return a suite that fails: results that were not stored are no success."""
    case = ET.Element("testcase", {"classname": "tablewatch", "name": "store", "time": "0.000"})
    ET.SubElement(case, "error", {"type": "store", "message": problem}).text = problem
    suite = ET.Element("testsuite", {"name": "tablewatch", **_counts([case]), "time": "0.000"})
    suite.append(case)
    return suite


def _counts(cases: Sequence[ET.Element]) -> dict[str, str]:
    failed, errors = (sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error"))
    return {"tests": str(len(cases)), "failures": str(failed), "errors": str(errors), "skipped": "0"}


def _totals(suites: Sequence[ET.Element]) -> dict[str, str]:
    names = ("tests", "failures", "errors", "skipped")
    return {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in names}
