"""Running mean and variance, and the bounds they allow."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Running:
    """Count, mean and sum of squared deviations, by Welford's formulas."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    fourths: float = 0.0
    """The sum of fourth powers, which tells whether few values outweigh the rest."""

    def with_all(self, values: Iterable[float]) -> "Running":
        """Return the same after these values too."""
        n, mean, squares, fourths = self.n, self.mean, self.squares, self.fourths
        for value in values:
            n += 1
            step = value - mean
            mean += step / n
            squares += step * (value - mean)
            fourths += value**4
        return Running(n, mean, squares, fourths)

    def merged(self, other: "Running") -> "Running":
        """Return both together."""
        n = self.n + other.n
        if not n:
            return self
        apart = other.mean - self.mean
        return Running(
            n,
            self.mean + apart * other.n / n,
            self.squares + other.squares + apart * apart * self.n * other.n / n,
            self.fourths + other.fourths,
        )

    @property
    def variance(self) -> float:
        """The unbiased variance of a value; unknown, so infinite, of fewer than two."""
        return max(self.squares, 0.0) / (self.n - 1) if self.n > 1 else math.inf

    @property
    def telling(self) -> float:
        """As many values of one size would be spread as these are: few, if a few are large."""
        power = self.squares + self.n * self.mean**2
        return power * power / self.fourths if self.fourths > 0 else 0.0

    def bounds(self, z: float) -> tuple[float, float]:
        """Return bounds that hold as surely as z standard errors hold with very many values.

        With few they are further apart, by Student's distribution (the first terms of its
        expansion); and when few values outweigh the others, there are only so many.
        """
        freedom = min(self.telling, self.n) - 1
        if freedom < 1:
            return -math.inf, math.inf
        wider = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        radius = wider * math.sqrt(self.variance / self.n)
        return self.mean - radius, self.mean + radius
