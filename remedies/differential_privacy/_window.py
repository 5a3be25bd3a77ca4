"""Keep what any w consecutive steps of a stream cost together below a bound (w-event privacy; Kellaris et al. 2014).

For releases of their own noise at each step, such as a histogram a day: a person whose events lie within w steps loses
at most the bound, though the stream never ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remedies._errors import Misfit


@dataclass(frozen=True, slots=True)
class WindowBudget:
    """What any `window` consecutive steps may cost: `bound`, in nano units of one accounting."""

    bound: int
    window: int

    def __post_init__(self) -> None:
        if self.bound < 1 or self.window < 1:
            raise Misfit(f"a bound of {self.bound} over {self.window} steps, expected both to be at least 1")

    def remaining(self, charges: Mapping[int, int], *, step: int) -> int:
        """Return the most that may still be charged at a step, given what each step was charged: 0 or more.

        Every window that holds the step counts, also those that reach beyond it to steps already charged.
        """
        spent = sum(charges.get(at, 0) for at in range(step - self.window + 1, step + 1))
        most = spent
        for last in range(step + 1, step + self.window):
            spent += charges.get(last, 0) - charges.get(last - self.window, 0)
            most = max(most, spent)
        return max(0, self.bound - most)
