"""The demonstration, for as long as it takes to see that it is real."""

import asyncio
import json

import pytest

from memstream.demo.demonstration import demonstration
from memstream.demo.habits import demo_tenants
from memstream.demo.view import view
from tests.acceptance.service import PATIENCE_S
from tests.unit.demo.shown import shown

STEP = 20
"""So many labelled searches are a lesson."""


@pytest.fixture
def own_settings(monkeypatch, tmp_path, models):
    (tmp_path / "models").symlink_to(models)
    chosen = {"DATA_DIR": tmp_path, "WEB_PORT": 0, "PRIOR": "equal", "OUTCOME_WINDOW_S": 2}
    for name, value in chosen.items():
        monkeypatch.setenv(f"MEMSTREAM_{name}", str(value))


@pytest.mark.requirement("TR-1", "TR-4")
async def test_every_tenant_searches_is_rewarded_and_learns(own_settings, tmp_path, capfd):
    async with demonstration(print, users=2) as under_way, asyncio.timeout(PATIENCE_S):
        # Who looks for a running service in the usual place finds it.
        told = json.loads((tmp_path / "runtime.json").read_text())
        assert told["broker"] == under_way.runtime.broker
        while any(story.policy.get("trained", 0) < STEP for story in under_way.stories):
            assert not under_way.work.done(), under_way.work.result()
            await asyncio.sleep(0.1)
        reports = [story.report() for story in under_way.stories]
        text = shown(view(under_way.stories, 1.0))
    assert [report["tenant"] for report in reports] == ["depot", "clinic", "platform"]
    for story, report in zip(under_way.stories, reports, strict=True):
        assert report["labelled"] >= STEP
        # Rewards of users who use, reword and give up: neither all the same, nor out of range.
        rewards = [reward for _, reward in story.labels.values()]
        assert -1 <= min(rewards) < max(rewards) <= 1
        assert len(story.labels) <= len(story.right)
        assert report["tenant"] in text
    assert not (tmp_path / "runtime.json").exists()
    assert not list(tmp_path.glob("demo-*"))


def test_memories_are_the_same_for_the_same_seed():
    assert demo_tenants(7) == demo_tenants(7)
    assert demo_tenants(7) != demo_tenants(8)
