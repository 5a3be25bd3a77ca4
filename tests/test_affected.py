"""`make affected` names the tests that a change reaches."""

from pathlib import Path

import pytest

from tests.affected import ALWAYS, ROOT, affected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("checks/range.py", "tests/checks/test_range.py"),
        ("incidents/spans.py", "tests/incidents/test_downtime.py"),
        ("monitor/cli.py", "tests/monitor/test_cli.py"),
        ("monitor/channels/webhook.py", "tests/monitor/channels/test_kinds.py"),
        ("store/_columns.py", "tests/store/test_past_rows.py"),
        ("templates/web/overview.html.j2", "tests/monitor/web"),
        ("docs/checks.md", "tests/docs"),
        ("tests/sources/test_identity.py", "tests/sources/test_identity.py"),
    ],
)
def test_a_change_reaches_its_tests(changed: str, expected: str) -> None:
    """The tests of the same name, of the folder, or that import it; and the rules for all files."""
    found = affected([changed])
    assert {expected, *ALWAYS} <= set(found)
    assert all((ROOT / path).exists() for path in found)
    assert len(found) < len(list(Path(ROOT, "tests").rglob("test_*.py"))) / 4


def test_no_change_reaches_no_test() -> None:
    """Nothing is run."""
    assert affected([]) == []
