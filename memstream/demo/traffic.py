"""Simulated users of a tenant: they ask, look, use, reword and give up, all over Kafka."""

import asyncio
import random
from itertools import count
from typing import Final

from memstream_client import MemstreamClient

from memstream.demo.story import Story
from memstream.simulation.users import Reaction, Users, mind

USERS: Final = Users()
"""As those of `memstream simulate`: docs/simulation.md says what they do."""
EVERY_S: Final = 0.4
"""A user asks no more often: two cores keep up with nine of them, and with whoever looks on."""


async def use_memories(client: MemstreamClient, story: Story, seed: int, user: int) -> None:
    """Be one user, for ever; each question is a session of its own."""
    tenant = story.tenant
    chance = random.Random(f"{seed}/{tenant.name}/{user}")  # noqa: S311 -- no secret
    loop = asyncio.get_running_loop()
    for number in count():
        earliest = loop.time() + EVERY_S
        question = chance.choice(tenant.questions)
        person = client.bind(tenant=tenant.name, session=f"{user}-{number}")
        result = await person.search(question.text)
        shown = [one.memory_id for one in result.results]
        story.right.append(question.gold == {*shown[: len(question.gold)]})
        mood = mind(USERS, seed, user * 1_000_000 + number)
        await _tell(person, result.request_id, mood.react(question.text, shown, question.gold))
        await asyncio.sleep(earliest - loop.time())


async def _tell(person: MemstreamClient, request_id: str, reaction: Reaction) -> None:
    if reaction.used:
        await person.use(request_id, reaction.used, quality_score=reaction.quality)
    elif reaction.reworded is not None:
        await person.refine(request_id, reaction.reworded)
    elif reaction.abandoned:
        await person.abandon(request_id)
