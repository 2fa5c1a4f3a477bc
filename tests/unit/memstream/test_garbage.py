"""Garbage is looked for rarely by a worker, and what it starts with is left alone."""

import gc
import subprocess
import sys

from memstream.garbage import MIDDLE, OLD, YOUNG

SCRIPT = """
import gc
from memstream.garbage import collect_rarely
collect_rarely()
print(gc.isenabled(), *gc.get_threshold(), gc.get_freeze_count() > 1000)
"""


def test_garbage_is_still_collected_but_rarely():
    # In a process of its own: how often it is looked for is a matter of the whole process.
    told = subprocess.check_output([sys.executable, "-c", SCRIPT], text=True)
    assert told.split() == ["True", str(YOUNG), str(MIDDLE), str(OLD), "True"]
    assert gc.get_threshold()[0] < YOUNG
