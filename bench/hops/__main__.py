"""Fits the second ranking: ``python -m bench.hops DATASET_DIR… [--ablate] [--write]``.

Prints recall@10 and all-evidence of the one weight vector fitted on all datasets together, and held
out: each fold keeps one in five tenants (or, where a dataset has one tenant, one in five questions)
from the fit. Where a dataset also has questions that one memory answers, those that several answer
are told apart. With --ablate it also says what is found without each group of features.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.hops.cases import Case, cases_of
from bench.hops.fit import NAMES, Floats, fit, held_out, recall
from retrieval import decomposition
from retrieval.decomposition.candidates import GROUPS

PRIOR_FILE = Path(decomposition.__file__).with_name("prior.json")


def main() -> None:
    """Fit, say what it finds, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--ablate", action="store_true", help="also without each group of features")
    parser.add_argument("--write", action="store_true", help="make it the prior that is shipped")
    options = parser.parse_args()
    cases = asyncio.run(cases_of(options.datasets))
    prior = study(cases, options.ablate)
    if options.write:
        weights = {name: round(float(w), 6) for name, w in zip(NAMES, prior, strict=True)}
        PRIOR_FILE.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")


def study(cases: Sequence[Case], ablate: bool) -> Floats:
    """Return the fitted weights, having said what they find."""
    groups = _groups(cases)
    prior = fit(cases)
    table = Table("features", *(f"{name}: fitted, held out" for name in groups))
    table.add_row("all", *_found(cases, groups, prior, held_out(cases)))
    for group, members in GROUPS.items() if ablate else ():
        fitted, folds = fit(cases, members), held_out(cases, members)
        table.add_row(f"without {group}", *_found(cases, groups, fitted, folds))
    console = Console()
    console.print(table)
    searches = sorted(case.searches for case in cases)
    console.print(
        f"sub-searches: {sum(searches) / len(searches):.1f} on average, {searches[-1]} at most"
    )
    return prior


def _groups(cases: Sequence[Case]) -> dict[str, list[int]]:
    """Return the places of the cases of each dataset, and of those with several answers."""
    groups: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        groups.setdefault(case.dataset, []).append(place)
    for name, places in list(groups.items()):
        several = [place for place in places if cases[place].answers > 1]
        if 0 < len(several) < len(places):
            groups[f"{name}, several"] = several
    return groups


def _found(
    cases: Sequence[Case], groups: dict[str, list[int]], prior: Floats, folds: Sequence[Floats]
) -> list[str]:
    cells = []
    for places in groups.values():
        own = [cases[place] for place in places]
        ways = (recall(own, [prior] * len(own)), recall(own, [folds[place] for place in places]))
        cells.append(", ".join(" / ".join(f"{share:.3f}" for share in way) for way in ways))
    return cells


if __name__ == "__main__":
    main()
