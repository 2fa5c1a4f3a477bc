"""What tells the worth of memories: how often each was looked at and used, and for what.

The store adds it up, and gives it with what it finds.
"""

from collections.abc import Sequence

from learning.arrays import Floats
from learning.lessons import Experience, Lesson
from learning.positions import places_of
from storage.worth import Worth

Tally = dict[str, Worth]


def tally(lessons: Sequence[Lesson], curve: Floats) -> Tally:
    """Return what lessons add to what is known of each memory, in the order of their ids.

    Of a search without a signal it is not known whether its result was looked at at all.
    """
    found: Tally = {}
    for lesson in lessons:
        _add(found, lesson.experience, 1.0, curve)
        if lesson.before is not None:
            _add(found, lesson.before, -1.0, curve)
    return {memory_id: found[memory_id] for memory_id in sorted(found) if found[memory_id]}


def _add(found: Tally, experience: Experience, sign: float, curve: Floats) -> None:
    if not experience.trainable:
        return
    looks = (sign * curve[places_of(experience.placed)]).tolist()
    for one, seen in zip(experience.placed, looks, strict=True):
        worth = found.get(one.memory_id)
        if worth is None:
            worth = found[one.memory_id] = Worth()
        worth.add(seen, sign * one.used, experience.question)
