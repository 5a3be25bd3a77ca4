"""Which name was probably meant."""

import pytest

from sources import did_you_mean, nearest

REMEDIES = ("code", "generalise", "lattice", "microaggregate", "randomise", "reconstruct", "suppress")


@pytest.mark.parametrize(
    ("seen", "known", "meant"),
    [
        ("emial", ("email", "name"), "email"),
        ("teir", ("tier", "title"), "tier"),
        ("generalize", REMEDIES, "generalise"),
        ("randomize", REMEDIES, "randomise"),
        ("customers", ("crm.customers", "sales.orders"), "crm.customers"),
        ("Email", ("email",), "email"),
    ],
)
def test_a_misspelling_or_a_part_is_corrected(seen: str, known: tuple[str, ...], meant: str) -> None:
    """A name with few wrong letters, or a part of a known name, gets that name as suggestion."""
    assert did_you_mean(seen, known) == f"; did you mean '{meant}'?"


@pytest.mark.parametrize("seen", ["anonymise", "anonymize", "pseudonymise", "x", ""])
def test_another_word_is_not_corrected(seen: str) -> None:
    """A word that only looks alike means another thing and is corrected to nothing."""
    assert nearest(seen, REMEDIES, most=3) == []
