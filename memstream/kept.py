"""Dead letters: looked at, and sent again."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordTooLargeError

from memstream.broker import MAX_MESSAGE_BYTES, Broker
from memstream.reading import messages
from topics import Topic, TopicNames
from topics.dead_letters import DeadLetter, UnreplayableError

Tell = Callable[[DeadLetter, str | None], None]
"""Told of each letter in turn, and why it was passed over, if it was."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which dead letters are meant; what is empty or None does not matter."""

    tenant_id: str | None = None
    codes: Collection[str] = ()
    topics: Collection[str] = ()
    """By their full names, or without the prefix."""
    offsets: Collection[int] = ()

    def takes(self, letter: DeadLetter, names: TopicNames) -> bool:
        """Tell whether a letter is meant."""
        topic = {letter.topic, letter.topic.removeprefix(names.prefix)}
        return (
            self.tenant_id in (None, letter.tenant_id)
            and (not self.codes or letter.code in self.codes)
            and (not self.topics or not topic.isdisjoint(self.topics))
            and (not self.offsets or letter.offset in self.offsets)
        )


async def kept(
    broker: Broker, names: TopicNames, choice: Choice | None = None
) -> AsyncIterator[DeadLetter]:
    """Yield the dead letters that are there now, in the order in which they failed."""
    chosen = choice or Choice()
    async for message in messages(broker, names.name(Topic.DEAD_LETTERS)):
        letter = DeadLetter.read(message.offset, message.key, message.value, message.headers)
        if chosen.takes(letter, names):
            yield letter


async def replay(
    broker: Broker,
    names: TopicNames,
    choice: Choice,
    tell: Tell,
    *,
    most: int | None = None,
    token: str | None = None,
    dry_run: bool = False,
) -> int:
    """Send dead letters to where they came from, the oldest first; return how many were sent.

    Only those that are there when it begins: one that fails again is not sent again and again.
    """
    sent = 0
    producer = AIOKafkaProducer(**broker.options(), acks="all", max_request_size=MAX_MESSAGE_BYTES)
    try:
        await producer.start()
        async for letter in kept(broker, names, choice):
            if sent == most:
                break
            try:
                topic, headers = letter.again(names, token)
                if not dry_run:
                    await producer.send_and_wait(
                        topic, letter.value, key=letter.key, headers=headers
                    )
            except UnreplayableError as error:
                tell(letter, str(error))
            except (MessageSizeTooLargeError, RecordTooLargeError):
                tell(letter, "its topic takes no message of this size")
            else:
                tell(letter, None)
                sent += 1
    except KafkaError as error:
        raise await broker.failure(error) from error
    finally:
        await producer.stop()
    return sent
