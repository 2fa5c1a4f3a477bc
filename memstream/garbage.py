"""How often Python looks for garbage that refers to itself."""

import gc

YOUNG = 100_000
"""So many more objects than were let go make a look worthwhile. Python's own 700 suits scripts: the
objects of one batch of messages are a multiple of that, all are in use, and each look goes through
them; that took a quarter of a busy worker's time. So many objects are some ten megabytes."""

MIDDLE, OLD = 20, 50
"""So many looks at the young go before one at those that outlived it, and so on."""


def collect_rarely() -> None:
    """Look for garbage less often, and never again among all that is there by now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
