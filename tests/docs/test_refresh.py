"""The generated parts of the documentation."""

from pathlib import Path

import pytest
import yaml

from docs.refresh import FILES, PARTS, ROOT, pages, refreshed
from monitor.config import load


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_up_to_date(page: Path) -> None:
    """What a page says about options, keys and defaults is what the code does; `make docs` refreshes it."""
    text = page.read_text(encoding="utf-8")
    assert refreshed(text) == text


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_generated_files_are_up_to_date(file: Path) -> None:
    """A file that is generated whole, such as the types of checks for editors, is what the code makes of it."""
    assert FILES[file]() == file.read_text(encoding="utf-8")


def test_every_part_stands_somewhere() -> None:
    """A part that is generated is also shown."""
    texts = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [name for name in PARTS if f"<!-- generated: {name} -->" not in texts] == []


def test_options_of_a_closed_set_have_their_choices() -> None:
    """In the reference of commands, unless the help of the option names all of them already."""
    lines = PARTS["commands"]().splitlines()
    assert "- `--kind`: Kind of the incident. `quality` `disclosure`" in lines
    assert "- `--search`: incognito (the optimum), mondrian or datafly." in lines
    assert "- `--table`: Table name in the configuration." in lines


def test_the_example_of_the_configuration_page_is_valid(tmp_path: Path) -> None:
    """The first example a reader copies can be loaded."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = text.split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(example)["version"] == 1
    path = tmp_path / "tablewatch.yaml"
    path.write_text(example, encoding="utf-8")
    assert load(path, environment={"WAREHOUSE_PASSWORD": "x"}).config.project == "shop"
