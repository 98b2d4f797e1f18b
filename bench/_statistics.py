"""What benchmarks say of their samples: medians, and how sure they are. Standard library only."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median and its bootstrap 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:+.3f}  [{self.low:+.3f}, {self.high:+.3f}]"


def estimate(samples: Sequence[float], *, seed: int = 1) -> Estimate:
    """The median of `samples` and the interval in which it lies in 95 of 100 drawings from them."""
    chance = random.Random(seed)
    medians = sorted(median(chance.choices(samples, k=len(samples))) for _ in range(RESAMPLES))
    return Estimate(median(samples), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)])


def verdict(difference: Estimate, must: float, goal: float) -> tuple[bool, str]:
    """Whether the must is met as far as can be told, and what to say. Only a whole interval above it fails."""
    if difference.low > must:
        return False, f"over the must of {must:+.3f}"
    if difference.high > must:
        return True, f"not told apart from the must of {must:+.3f}: run it again on a quieter machine"
    if difference.low > goal:
        return True, f"within the must of {must:+.3f}, over the goal of {goal:+.3f}"
    return True, f"within the must of {must:+.3f}, and not told apart from the goal of {goal:+.3f}"
