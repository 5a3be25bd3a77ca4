"""Suggest the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(seen: str, known: Iterable[str]) -> str:
    """Give `; did you mean 'email'?` for the known name nearest to the one seen, or an empty string."""
    folded = {name.casefold(): name for name in known}
    near = get_close_matches(seen.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""
