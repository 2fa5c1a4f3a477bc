"""Topics and keys are those of the contract."""

import pytest

from topics import CONTRACT, PARTITIONS, Topic, TopicNames, event_key, tenant_key

NAMES = [
    "memory.search.requests",
    "memory.search.results",
    "memory.context.requests",
    "memory.context.assembled",
    "memory.items",
    "memory.context.usage",
    "memory.query.refinements",
    "memory.session.abandonments",
    "memory.feedback",
    "memory.trajectories",
    "memory.policies",
    "memory.dead-letters",
]


def test_the_names_are_those_of_the_contract():
    assert [TopicNames().name(topic) for topic in CONTRACT] == NAMES


def test_the_prefix_is_configurable():
    names = TopicNames(prefix="acme.")
    assert names.name(Topic.ITEMS) == "acme.items"
    assert names.topic("acme.items") is Topic.ITEMS
    assert names.topic("memory.items") is None


def test_the_last_three_have_keys_of_their_own():
    by_session = [topic for topic in CONTRACT if topic.value.key == "tenant/session"]
    assert by_session == list(CONTRACT[:9])
    assert Topic.TRAJECTORIES.value.key == Topic.POLICIES.value.key == "tenant"
    assert Topic.DEAD_LETTERS.value.key == "original"


def test_only_policies_are_compacted():
    assert [topic for topic in Topic if topic.value.cleanup == "compact"] == [Topic.POLICIES]


def test_partitions_follow_the_setting_where_work_is_shared():
    assert Topic.SEARCH_REQUESTS.value.partitions() == PARTITIONS == 4
    assert Topic.SEARCH_REQUESTS.value.partitions(12) == 12
    assert Topic.POLICIES.value.partitions(12) == 1
    assert Topic.DEAD_LETTERS.value.partitions(12) == 1


@pytest.mark.parametrize(
    ("tenant", "session", "key"),
    [("t", "s", b"t/s"), ("t", None, b"t/"), ("tä", "☕", "tä/☕".encode())],
)
def test_the_key_of_an_event(tenant, session, key):
    assert event_key(tenant, session) == key


def test_the_key_of_a_tenant():
    assert tenant_key("tä") == "tä".encode()
