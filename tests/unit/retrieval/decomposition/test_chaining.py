"""The second ranking: by itself, and by the best path that leads to it."""

import numpy as np
import pytest

from retrieval.decomposition.candidates import GROUPS, OWN, Asking, candidates
from retrieval.decomposition.chaining import PRIOR, chained
from retrieval.decomposition.follow_ups import FollowUp
from retrieval.decomposition.links import LINKS, links
from retrieval.ranking import Evidence
from storage import Found
from tests.unit.retrieval.test_search import hit

QUERY = "Where was the singer of Hello Love born?"
SONG = hit("song", 0.9, content="Hello Love: a single by Hank Snow.", title="hello love")
OTHER = hit("other", 0.3, content="Goodbye: a single by nobody.", title="goodby")
SINGER = hit("singer", 0.2, content="Hank Snow: born in Nova Scotia.", title="hank snow")


def evidence(*hits, counts=(), frequencies=()):
    found = [one._replace(counts=count) for one, count in zip(hits, counts, strict=True)]
    return Evidence(Found(found, frequencies, memories=9, mean_length=5.0))


FIRST = Asking(evidence(SONG, OTHER, counts=((2,), (0,)), frequencies=(1,)), QUERY, 100)
ODDS = np.array([3.0, -1.0])
FOLLOW = FollowUp(SONG, 0.0, "…", ("singer", "born"), ("hank", "snow"))
FOLLOWED = evidence(
    *(SINGER, SONG, OTHER),
    counts=((1, 1, 1, 1), (0, 0, 1, 1), (0, 0, 0, 0)),
    frequencies=(1, 1, 2, 2),
)


def test_every_weight_belongs_to_a_feature_and_every_feature_has_one():
    names = [name for group in GROUPS.values() for name in group]
    assert set(PRIOR) == set(names) == {*OWN, *(f"link: {name}" for name in LINKS)}


@pytest.mark.requirement("RX-8")
def test_links_say_how_a_memory_leads_to_another():
    rows = links(FOLLOWED, FOLLOW, QUERY, 4.0)
    singer, song, other = (dict(zip(LINKS, row.tolist(), strict=True)) for row in rows)
    assert singer["unanswered"] == singer["names"] == singer["title in parent"] == 1.0
    assert singer["title by parent"] == 1.0
    assert singer["phrase"] == singer["name"] > 0
    assert set(song.values()) == {0.0}
    assert (other["found"], other["names"], other["title in parent"]) == (1.0, 0.0, 0.0)
    assert not any(value for name, value in singer.items() if name.startswith("in session"))


@pytest.mark.requirement("RX-6", "RX-8")
def test_the_best_path_counts_and_none_counts_nothing():
    found = candidates(FIRST, ODDS, None, [(FOLLOW, FOLLOWED)])
    assert [one.memory_id for one in found.hits] == ["song", "other", "singer"]
    plain, _ = chained(found, {"first": 1.0})
    assert plain.tolist() == [0.0, -4.0, -4.0]
    led, path = chained(found, {"first": 1.0, "link: title in parent": 9.0, "link: found": -1.0})
    assert led.tolist() == [0.0, -4.0, 4.0]
    assert path.tolist() == [0, 0, 1]


@pytest.mark.requirement("RX-6")
def test_what_other_searches_found_is_there_as_well():
    found = candidates(FIRST, ODDS, None, [], [FOLLOWED])
    assert [one.memory_id for one in found.hits] == ["song", "other", "singer"]
