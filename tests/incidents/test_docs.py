"""The page about incidents is true."""

import re
from pathlib import Path

from checks import OccurrenceMethod
from incidents import Resolution

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "incidents.md").read_text("utf-8")


def test_the_example_in_python_runs():
    """The code on the page runs as it stands, and its assertion holds."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/incidents.md", "exec"), {})  # noqa: S102 - our own page


def test_the_page_names_every_method_and_resolution():
    """Each way to find when data went bad, and each way to end, is explained."""
    for word in (*OccurrenceMethod, *Resolution):
        assert f"`{word}`" in PAGE
