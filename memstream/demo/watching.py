"""Follows what becomes of searches and policies: on the topic, and by the console's own pages."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import httpx

from memstream.broker import broker_of
from memstream.demo.story import Story
from memstream.labelled import labelled
from memstream.settings import Settings
from topics import TopicNames

LOOK_EVERY_S: Final = 1.5


async def follow_rewards(settings: Settings, stories: Mapping[str, Story]) -> None:
    """Take in every label; a later one of the same search replaces the one before."""
    names = TopicNames(settings.topic_prefix)
    async for trajectory in labelled(broker_of(settings), names, follow=True):
        if story := stories.get(trajectory.tenant_id):
            label = (trajectory.started_at, trajectory.reward)
            story.labels[trajectory.trajectory_id] = label


async def follow_policies(settings: Settings, web: str, stories: Sequence[Story]) -> None:
    """Ask again and again which policy serves, and what became of it."""
    token = settings.web_token
    bearer = {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}
    async with httpx.AsyncClient(
        base_url=web, headers=bearer, timeout=30, trust_env=False
    ) as client:
        while True:
            # While a worker is started again, what was last known is shown.
            with suppress(httpx.TransportError):
                for story in stories:
                    asked = {"tenant": story.tenant.name}
                    told = (await client.get("/api/policy", params=asked)).raise_for_status().json()
                    story.policy, story.history = told["policy"], told["history"]
            await asyncio.sleep(LOOK_EVERY_S)
