"""How far a search is, and whether its time is over."""

from time import perf_counter

from remedies._contract import Progress, StopRequest


class SearchProgress:
    """Reports to the caller of one part of a search after the other, as shares of the whole that never fall."""

    def __init__(self, budget: float | None = None, progress: Progress | None = None) -> None:
        """Begin now. `budget`: seconds."""
        self._began = perf_counter()
        self._budget = budget
        self._progress = progress
        self._from = self._until = self._told = 0.0

    @property
    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return perf_counter() - self._began

    @property
    def is_over(self) -> bool:
        """Check whether the budget is used up."""
        return self._budget is not None and self.seconds >= self._budget

    def begin(self, share: float) -> None:
        """Begin a part of the search that is so large a share of what is left."""
        self._from = self._told
        self._until = self._told + share * (1 - self._told)

    def tell(self, done: float) -> None:
        """Report how much of the part is done, 0 to 1."""
        self._told = self._from + done * (self._until - self._from)
        try:
            if self._progress is not None:
                self._progress(self._told)
        except StopRequest:
            self._budget = 0.0
