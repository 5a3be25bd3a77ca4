"""Which of many counts are above their threshold, at the price of those that are (Lyu, Su, Li 2017, algorithm 7).

Noise of scale D/e1 is added once to all thresholds, noise of scale 2cD/e2 (cD/e2 for monotone queries) again to each
answer, and only "above" or "below" is given: after c times "above" it stops. All of epsilon = e1 + e2 is charged at
the beginning. The least variance lies at e1 : e2 = 1 : (2c)^(2/3), or 1 : c^(2/3) (their section 4.2).

The proof moves the threshold's noise by D and an answer's by 2D, which are integers; so discrete noise on integer
answers does as well as continuous noise does.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from remedies._errors import Misfit
from remedies.differential_privacy._samplers import discrete_laplace
from remedies.differential_privacy._state import integer, read_state, whole
from remedies.differential_privacy.epsilon import NANO, Loss, decimal_of, nano

_FORM: Final = "sparse-vector/1"
_FIELDS: Final = {"nano_epsilon", "positives", "sensitivity", "monotone", "found", "threshold_noise"}


class SparseVector:
    """Decides of one integer answer after another whether it is above its threshold, until c of them were.

    `monotone`: a record moves all answers the same way (counts under add-remove; never under substitute).

    The state (`state`, plain data) holds the threshold's noise, which stays the same: store it before an answer is
    given out, and keep it as secret as the data.
    """

    def __init__(self, epsilon: Loss, *, positives: int = 1, sensitivity: int = 1, monotone: bool = False) -> None:
        """Draw the threshold's noise. `positives`: c; `sensitivity`: how far a unit moves any one answer.

        Raises:
            Misfit: epsilon makes no sense, or `positives` or `sensitivity` is not at least 1.
        """
        self.nano_epsilon = nano(epsilon)
        self.positives = integer(positives, name="positives", least=1)
        self.sensitivity = integer(sensitivity, name="the sensitivity", least=1)
        self.monotone = monotone
        self._reported = 0
        self._threshold_noise = discrete_laplace(self.threshold_scale)

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Return what the thresholds (e1) and the answers (e2) cost, in nano-epsilon: exact, together epsilon."""
        factor = self.positives if self.monotone else 2 * self.positives
        ratio = _cube_root(factor**2 * NANO**3)
        thresholds = self.nano_epsilon * Fraction(NANO, NANO + ratio)
        return thresholds, self.nano_epsilon - thresholds

    @property
    def threshold_scale(self) -> Fraction:
        """The exact scale of the noise that all thresholds share."""
        return self.sensitivity * NANO / self.losses[0]

    @property
    def answer_scale(self) -> Fraction:
        """The exact scale of each answer's own noise."""
        factor = self.positives if self.monotone else 2 * self.positives
        return factor * self.sensitivity * NANO / self.losses[1]

    @property
    def left(self) -> int:
        """Return how many more times it may say "above"."""
        return self.positives - self._reported

    def above(self, answer: int, threshold: int) -> bool:
        """Check whether an answer is above its threshold, both with noise. Look at `left` before the data is read.

        Raises:
            Misfit: the numbers are no integers, or it has said "above" as often as it may.
        """
        count, limit = integer(answer, name="the answer"), integer(threshold, name="the threshold")
        if not self.left:
            raise Misfit(f"{self.positives} answers were above; begin a new sparse vector, which is a new charge")
        above = count + discrete_laplace(self.answer_scale) >= limit + self._threshold_noise
        self._reported += above
        return above

    def state(self) -> dict[str, object]:
        """Return everything as plain data, for `restore`. It is as secret as the data."""
        return {
            "form": _FORM,
            "nano_epsilon": self.nano_epsilon,
            "positives": self.positives,
            "sensitivity": self.sensitivity,
            "monotone": self.monotone,
            "found": self._reported,
            "threshold_noise": self._threshold_noise,
        }

    @classmethod
    def restore(cls, state: Mapping[str, object]) -> SparseVector:
        """Return the mechanism of a stored state.

        Raises:
            Misfit: it is not what `state` gave.
        """
        read_state(state, form=_FORM, fields=_FIELDS)
        if not isinstance(state["monotone"], bool):
            raise Misfit("the state's monotone is neither true nor false")
        restored = cls(
            decimal_of(whole(state, "nano_epsilon")),
            positives=whole(state, "positives"),
            sensitivity=whole(state, "sensitivity"),
            monotone=state["monotone"],
        )
        restored._reported = whole(state, "found", least=0)
        restored._threshold_noise = whole(state, "threshold_noise")
        if restored.left < 0:
            raise Misfit("the state has found more than it may")
        return restored


def _cube_root(number: int) -> int:
    """Return the integer part of a cube root."""
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle)
    return low
