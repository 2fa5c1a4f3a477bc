"""Copies a dataset without sessions and dates: ``python -m bench.plain DATASET_DIR OUT_DIR``.

What is left is what most memories are: a text. Everything that takes a dataset folder takes the
copy, ``memstream eval`` and ``python -m bench.prior`` as well.
"""

import argparse
import json
from pathlib import Path

DROPPED = {"session", "created_at", "asked_at"}


def main() -> None:
    """Copy both files of a dataset, each line without what is dropped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in ("memories.jsonl", "queries.jsonl"):
        with (
            (options.dataset / name).open(encoding="utf-8") as lines,
            (options.out / name).open("w", encoding="utf-8") as copy,
        ):
            for line in lines:
                kept = {key: v for key, v in json.loads(line).items() if key not in DROPPED}
                copy.write(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
