"""The pictures of the documentation are what the product is, and stand on its pages."""

from docs.pictures import FOLDER, PICTURES, draw_all
from docs.refresh import pages


def test_pictures_are_up_to_date() -> None:
    """`python -m docs.pictures` draws them again from the demo, the planner and the mathematics."""
    drawn = draw_all()
    stored = {name: (FOLDER / f"{name}.svg").read_text(encoding="utf-8") for name in PICTURES}
    assert [name for name in PICTURES if drawn[name] != stored[name]] == []


def test_every_picture_stands_on_a_page_in_both_colour_schemes() -> None:
    """Each is shown where it explains something, and can be read on a dark page."""
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [name for name in PICTURES if f"](images/{name}.svg)" not in text] == []
    assert all("prefers-color-scheme:dark" in (FOLDER / f"{name}.svg").read_text(encoding="utf-8") for name in PICTURES)
