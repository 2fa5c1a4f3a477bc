"""Counts tokens without knowing whose they are: an estimate that errs on the high side.

Every model cuts texts in its own way. English averages over four letters a token in the common
ones; here a word costs a token for every four letters begun, and everything else one a character.
docs/decisions.md says how that compares with a real tokenizer.
"""

import re
from typing import Final

LETTERS_PER_TOKEN: Final = 4

# Latin, Greek and Cyrillic words and numbers; of other scripts every character counts by itself.
_WORD: Final = re.compile(r"[0-9A-Za-z]+|[\u00aa-\u052f]+")
_SIGN: Final = re.compile(r"[^\s0-9A-Za-z\u00aa-\u052f]")


def count_tokens(text: str) -> int:
    """Return how many tokens a text has at most, in all likelihood."""
    in_words = sum(-(-len(word) // LETTERS_PER_TOKEN) for word in _WORD.findall(text))
    return in_words + sum(_size(sign) for sign in _SIGN.findall(text))


def _size(sign: str) -> int:
    # Rare characters are cut into their bytes.
    return 1 if ord(sign) < 0x10000 else 3
