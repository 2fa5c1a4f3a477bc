"""Of each trajectory one message is taken, whatever came twice or late."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.export.newest import Head, Newest, Place
from tests.integration.storage.aftermath import NOON

HEADS = st.builds(
    Head,
    trajectory_id=st.sampled_from("ab"),
    tenant_id=st.sampled_from(["t", "t1"]),
    revision=st.integers(0, 3),
    started_at=st.just(NOON),
)


@given(st.lists(HEADS, max_size=20), st.booleans())
def test_the_first_of_the_newest_is_taken(heads, all_revisions):
    places = [(head, Place(number % 2, number)) for number, head in enumerate(heads)]
    expected = defaultdict(list)
    for head, place in places:
        revision = (head.revision,) if all_revisions else ()
        expected[head.tenant_id, head.trajectory_id, *revision].append((head.revision, place))
    wanted = {
        next(place for revision, place in found if revision == max(found)[0])
        for found in expected.values()
    }
    with Newest(all_revisions=all_revisions) as newest:
        for head, place in places:
            newest.note(head, place)
        assert {place for head, place in places if newest.holds(head, place)} == wanted
        assert len(newest) == len(wanted)


def test_what_was_never_noted_is_not_taken():
    head = Head(trajectory_id="a", tenant_id="t", revision=0, started_at=NOON)
    with Newest() as newest:
        assert not newest.holds(head, Place(0, 0))
        newest.note(head, Place(0, 0))
        assert newest.holds(head, Place(0, 0))
        assert not newest.holds(head, Place(0, 1))
    with pytest.raises(Exception, match="closed"):
        newest.holds(head, Place(0, 0))
