"""Learning curves as a picture."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from memstream.evaluation.dataset import DatasetError
from memstream.simulation.intervals import student

COLOURS = {"learned": "#0b6e4f", "frozen": "#8a8a8a", "regret": "#b3423a"}
KINDS = (".png", ".svg")
PANELS = {
    "reward": ("learned_reward", "frozen_reward"),
    "recall": ("learned_recall", "frozen_recall"),
    "regret a round": ("regret",),
    "regret in all": ("cumulative_regret",),
}
"""What each panel shows, by its title."""
TRAILING = 5
"""Each point is the mean of so many stretches up to it, an eighth of the rounds: of a single one of
25 rounds one would see which questions came up, and little else."""
HIGHEST = 1.0
"""There is no more of reward, nor of recall."""


def check_kind(file: Path) -> None:
    """Refuse a file whose ending does not say how to draw it, before hours are spent."""
    if file.suffix.lower() not in KINDS:
        raise DatasetError(f"{file} cannot be drawn: its name must end in {' or '.join(KINDS)}")


def plot(reports: Sequence[dict[str, Any]], title: str, file: Path) -> None:
    """Draw the mean curves of all seeds, smoothed, with 95 % intervals if there are several."""
    check_kind(file)
    import matplotlib as mpl  # slow to import

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    known = reports[0]["curve"][0]
    panels = {told: lines for told, lines in PANELS.items() if set(lines) <= set(known)}
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.6), squeeze=False)
    for axis, (told, lines) in zip(axes[0], panels.items(), strict=True):
        for name in lines:
            _line(axis, reports, name)
        axis.set_title(told)
        axis.set_xlabel("round")
        axis.grid(alpha=0.25)
        if "regret" in told:
            axis.axhline(0, color="black", linewidth=0.8)
            axis.set_ylabel("behind the best fixed configuration")
        else:
            axis.set_ylim(top=HIGHEST)
            axis.legend(frameon=False, loc="upper left")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def trailing(values: Sequence[float], points: int = TRAILING) -> list[float]:
    """Return for each value the mean of the last few up to it, as many as there are."""
    return [fmean(values[max(0, end - points) : end]) for end in range(1, len(values) + 1)]


def _line(axis: Any, reports: Sequence[dict[str, Any]], name: str) -> None:
    curves = [[point[name] for point in report["curve"]] for report in reports]
    if "cumulative" not in name:
        curves = [trailing(curve) for curve in curves]
    rounds = [point["round"] for point in reports[0]["curve"]]
    mean = [fmean(values) for values in zip(*curves, strict=True)]
    who = "regret" if "regret" in name else name.split("_")[0]
    axis.plot(rounds, mean, label=who, color=COLOURS[who], linewidth=1.8)
    if len(curves) > 1:
        t = student(len(curves) - 1)
        half = [t * stdev(values) / len(curves) ** 0.5 for values in zip(*curves, strict=True)]
        low = [value - each for value, each in zip(mean, half, strict=True)]
        high = [value + each for value, each in zip(mean, half, strict=True)]
        axis.fill_between(rounds, low, high, color=COLOURS[who], alpha=0.15, linewidth=0)
