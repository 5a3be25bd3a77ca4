"""Kernels that settle a block: every pair of neighbours is improved until none gains."""

from remedies._compiled import reordered_inner
from remedies.microaggregation._bench import Bench
from remedies.microaggregation._pairs import improve_pair

_ROUNDS = 100  # far more than are ever needed


@reordered_inner
def settle(bench: Bench) -> float:
    """Improve all pairs of neighbours until none gains; give what was gained."""
    near, seen, changed, clock = bench.near, bench.seen, bench.changed, bench.clock
    X, member, size, centre, work, partner = (
        bench.X,
        bench.member,
        bench.size,
        bench.centre,
        bench.work,
        bench.partner,
    )
    total = 0.0
    for _ in range(_ROUNDS):
        gained = 0.0
        for a in range(near.shape[0]):
            for slot in range(near.shape[1]):
                b = near[a, slot]
                if b < 0:
                    break
                if size[a] == 0 or size[b] == 0 or seen[a, slot] >= max(changed[a], changed[b]):
                    continue
                clock[0] += 1
                now = clock[0]
                gain = improve_pair(X, member, size, centre, work, partner, a, b)
                if gain > 0.0:
                    changed[a] = changed[b] = now
                    gained += gain
                seen[a, slot] = now
                for back in range(near.shape[1]):
                    if near[b, back] == a:
                        seen[b, back] = now
        total += gained
        if gained == 0.0:
            break
    return total
