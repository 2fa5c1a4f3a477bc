"""Where answers may go: only to what is allowed, and never to a topic of ours."""

import pytest

from topics import Topic, TopicNames
from topics.replies import may_reply_on

NAMES = TopicNames()


@pytest.mark.parametrize(
    ("topic", "allowed", "may"),
    [
        ("acme.replies", ["acme.replies"], True),
        ("acme.replies", ["acme.repl"], False),
        ("acme.replies.2", ["acme.replies"], False),
        ("acme.replies", [], False),
        ("acme.app.1", ["other", "acme.app.*"], True),
        ("acme.app", ["acme.app.*"], False),
        ("anything", ["*"], True),
        ("Acme.replies", ["acme.*"], False),
        ("acme.*", ["acme.*"], False),
        ("acme/replies", ["*"], False),
        ("acme.replies\n", ["*"], False),
        ("", ["*"], False),
        (".", ["*"], False),
        ("..", ["*"], False),
        ("x" * 249, ["*"], True),
        ("x" * 250, ["*"], False),
        ("__consumer_offsets", ["*", "__consumer_offsets"], False),
    ],
)
def test_a_topic_must_be_allowed_and_legal(topic, allowed, may):
    assert may_reply_on(topic, allowed, NAMES) is may


@pytest.mark.parametrize("topic", Topic)
def test_a_topic_of_ours_is_never_one_for_answers(topic):
    name = NAMES.name(topic)
    assert not may_reply_on(name, ["*", name], NAMES)
