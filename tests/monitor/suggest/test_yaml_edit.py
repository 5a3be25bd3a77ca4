"""Checks are appended to a configuration, and nothing else of it changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.cron import Schedule
from monitor.config.yaml_nodes import plain_data, read_yaml
from monitor.suggest.yaml_edit import NotEditable, append_checks, replace_schedules

_NEW = ["- {type: volume, min: 1}", "# low: because", "# - {type: unique, columns: [a]}"]
_CHECKS = [{"type": "volume", "min": 1}]
_LAST = "# the end\n"
_HEAD = "version: 1   # kept\ntables:\n"

_LAYOUTS = {
    "one per line": "  - name: orders\n    checks:\n      - {type: a}   # why\n\n      # a note\n",
    "as mappings": "  - name: orders\n    checks:\n    - type: a\n      query: >\n        SELECT 1\n\n        FROM x\n",
    "before other keys": "  - checks:\n      - {type: a}\n    name: orders\n    owner: me\n",
    "brackets that are empty": "  - name: orders\n    checks: []   # none yet\n",
    "none": "  - name: orders\n    # no checks\n    owner: me\n",
    "a key without a value": "  - name: orders\n    checks:\n    owner: me\n",
    "several lines": "  - name: orders\n    checks:\n      - type: a\n        columns: [x,\n          y]\n",
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("others", ["", "  - name: other\n    checks:\n      - {type: b}\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_nothing_else_changes(layout: str, others: str, ending: str) -> None:
    """Whatever the layout, every line of the file is still there, in its order, and the checks come last."""
    text = f"{_HEAD}{_LAYOUTS[layout]}{others}{_LAST}".replace("\n", ending)
    added = append_checks(text, "orders", _NEW, _CHECKS)
    removed = [line for line in added.split(ending) if line.strip() not in _NEW]
    if layout not in {"brackets that are empty", "none"}:
        assert ending.join(removed) == text
    orders = next(table for table in plain_data(read_yaml(added, "x")[0])["tables"] if table["name"] == "orders")
    assert orders["checks"][-1] == _CHECKS[0]
    assert "# the end" in added
    assert added.count(ending) == added.count("\n")


_FLOW = {
    "checks": "  - name: orders\n    checks: [{type: a}, {type: b, max: 2}]  # why\n",
    "checks, on lines": "  - name: orders\n    checks: [\n      {type: a},\n      {type: b, max: 2},\n    ]  # why\n",
    "table": "  - {name: orders, checks: [{type: a}, {type: b, max: 2}]}  # why\n",
    "table, on lines": "  - {name: orders,\n     checks: [{type: a}, {type: b,\n       max: 2}]}  # why\n",
    "tables": "  [{name: first}, {name: orders, checks: [{type: a}, {type: b, max: 2}]}]  # why\n",
}


@pytest.mark.parametrize("layout", _FLOW)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_brackets_and_braces_are_opened(layout: str, ending: str) -> None:
    """A table and its checks are written one entry per line, each as it was; what is around them stays."""
    text = f"{_HEAD}{_FLOW[layout]}{_LAST}".replace("\n", ending)
    added = append_checks(text, "orders", _NEW, _CHECKS)
    (orders,) = (table for table in plain_data(read_yaml(added, "x")[0])["tables"] if table["name"] == "orders")
    assert orders["checks"] == [{"type": "a"}, {"type": "b", "max": 2}, *_CHECKS]
    assert added.startswith("version: 1   # kept")
    assert added.endswith(f"# the end{ending}")
    assert "- {type: a}" in added
    assert "# why" in added
    assert added.count(ending) == added.count("\n")


@pytest.mark.parametrize(
    "section",
    [
        "  - name: orders\n    checks: [{type: a},  # why\n      {type: b}]\n",
        "  - {name: orders,  # why\n     checks: []}\n",
        "  - {name: orders, checks: &these []}\n  - {name: other, checks: *these}\n",
        "  - {name: first, checks: &both [{type: a}]}\n  - {name: orders, checks: *both}\n",
        "  - name: first\n    checks: &both\n      - {type: a}\n  - name: orders\n    checks: *both\n",
        '  - name: "${TABLE}"\n    checks:\n      - {type: a}\n',
        "  - name: orders\n    checks: &these\n      - {type: a}\n  - name: other\n    checks: *these\n",
    ],
)
def test_what_cannot_be_added_to_is_refused(section: str) -> None:
    """Comments in brackets and braces, aliases and names that are filled in are refused, with the place."""
    with pytest.raises(NotEditable, match=r"line \d+|by hand|by a name"):
        append_checks(_HEAD + section, "orders", _NEW, _CHECKS)


@given(
    st.lists(st.sampled_from(["      - {type: a}", "      - type: b", "", "      # note", "  # far left"]), max_size=8),
    st.booleans(),
)
def test_comments_between_checks_stay_where_they_are(lines: list[str], last: bool) -> None:
    """For any mixture of checks, comments and empty lines the old text is what is left without the new lines."""
    body = "\n".join(["      - {type: first}", *lines])
    text = f"{_HEAD}  - name: orders\n    checks:\n{body}\n" + ("" if last else "  - name: other\n")
    added = append_checks(text, "orders", _NEW, _CHECKS)
    assert "\n".join(line for line in added.split("\n") if line.strip() not in _NEW) == text


_SCHEDULES = {
    "one per line": "  - name: orders\n    # every night\n    schedule: every 1h   # why\n    checks: []\n",
    "in quotes": '  - {name: orders, schedule: "every 60m", checks: []}  # why\n',
    "in brackets": "  [{name: orders, schedule: every 1h}]\n",
}
_HOURLY, _DAILY, _QUARTER = map(Schedule.parse, ("every 1h", "cron: 0 6 * * *", "every 15m"))


@pytest.mark.parametrize("layout", _SCHEDULES)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_only_the_schedule_changes(layout: str, ending: str) -> None:
    """Whatever the layout, the new schedule stands where the old one did; comments stay."""
    text = f"{_HEAD}{_SCHEDULES[layout]}{_LAST}".replace("\n", ending)
    replaced, refused = replace_schedules(text, {"orders": (_HOURLY, _QUARTER)})
    assert refused == {}
    old = '"every 60m"' if layout == "in quotes" else "every 1h"
    assert replaced == text.replace(old, "every 15m")


def test_schedules_of_several_tables_are_replaced_at_once() -> None:
    """A file is read once, whatever the order of its tables; a cron line loses its quotes with its text."""
    text = f'{_HEAD}  - {{name: a, schedule: "cron: 0 6 * * *"}}\n  - {{name: b$$c, schedule: every 1h}}\n'
    changes = {"a": (_DAILY, _QUARTER), "b$c": (_HOURLY, _QUARTER)}
    for order in (changes, dict(reversed(changes.items()))):
        replaced, refused = replace_schedules(text, order)
        assert refused == {}
        assert replaced == f"{_HEAD}  - {{name: a, schedule: every 15m}}\n  - {{name: b$$c, schedule: every 15m}}\n"


def test_a_schedule_that_stands_elsewhere_is_refused() -> None:
    """One from a variable, an alias, a merge, or another file stays, with the reason, beside one that is replaced."""
    text = (
        f"{_HEAD}  - {{name: a, schedule: '${{EVERY}}'}}\n  - &all {{name: b, schedule: every 1h}}\n"
        "  - {<<: *all, name: c}\n  - {name: d, schedule: every 2h}\n"
    )
    names = ("a", "b", "c", "d", "missing")
    replaced, refused = replace_schedules(text, dict.fromkeys(names[:1] + names[2:], (_HOURLY, _QUARTER)))
    assert replaced == text
    assert set(refused) == {"a", "c", "d", "missing"}
    assert "'schedule: every 1h'" in refused["d"]
    with pytest.raises(NotEditable, match="cannot be changed by a program"):
        replace_schedules(text, {"b": (_HOURLY, _QUARTER)})
    anchored = f"{_HEAD}  - {{name: a, schedule: &hour every 1h}}\n  - {{name: b, schedule: *hour}}\n"
    assert "alias" in replace_schedules(anchored, {"b": (_HOURLY, _QUARTER)})[1]["b"]
    with pytest.raises(NotEditable):
        replace_schedules(anchored, {"a": (_HOURLY, _QUARTER)})
