"""Fits the shipped prior: ``python -m bench.prior DATASET_DIR… [--write]``.

Prints recall@10 and all-evidence of the one weight vector fitted on all datasets together, and held
out: each fold keeps one in five tenants (or, where a dataset has one tenant, one in five questions)
from the fit. With --ablate it also says what is found without each group of features. A plain copy
(``python -m bench.plain``) is one of the datasets that the shipped prior is fitted on, so that
memories without sessions are not ranked by what suits paragraphs alone.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.prior.cases import Case, cases_of
from bench.prior.fit import Floats, fit, held_out, recall, shares_of
from retrieval import ranking

PRIOR_FILE = Path(ranking.__file__).with_name("prior.json")


def main() -> None:
    """Fit, say what it finds, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--ablate", action="store_true", help="also without each group of features")
    parser.add_argument("--write", action="store_true", help="make it the prior that is shipped")
    options = parser.parse_args()
    cases = asyncio.run(cases_of(options.datasets))
    prior = fit(cases)
    names = list(dict.fromkeys(case.dataset for case in cases))
    table = Table("features", *(f"{name}: fitted, held out" for name in names))
    table.add_row("RRF", *_fused(cases, names))
    table.add_row("all", *_found(cases, names, prior, held_out(cases)))
    for group, members in ranking.GROUPS.items() if options.ablate else ():
        without = [ranking.FEATURES.index(member) for member in members]
        table.add_row(f"without {group}", *_found(cases, names, fit(cases, without)))
    console = Console()
    console.print(table)
    weights = {name: round(float(w), 6) for name, w in zip(ranking.FEATURES, prior, strict=True)}
    console.print_json(json.dumps(weights))
    if options.write:
        PRIOR_FILE.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")


def _fused(cases: Sequence[Case], names: Sequence[str]) -> list[str]:
    ways = (shares_of([case.by_ranks for case in cases if case.dataset == n]) for n in names)
    return [_told(way) for way in ways]


def _found(
    cases: Sequence[Case], names: Sequence[str], prior: Floats, folds: Sequence[Floats] = ()
) -> list[str]:
    cells = []
    for name in names:
        places = [place for place, case in enumerate(cases) if case.dataset == name]
        own = [cases[place] for place in places]
        ways = [recall(own, [prior] * len(own))]
        if folds:
            ways.append(recall(own, [folds[place] for place in places]))
        cells.append(", ".join(map(_told, ways)))
    return cells


def _told(way: tuple[float, float]) -> str:
    return " / ".join(f"{share:.3f}" for share in way)


if __name__ == "__main__":
    main()
