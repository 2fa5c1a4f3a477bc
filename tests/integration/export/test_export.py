"""`memstream export` reads the topic as it is: corrections, duplicates, tenants, odd messages."""

import asyncio
import os
from datetime import timedelta
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer

from memstream.broker import Broker
from memstream.embedded.broker import embedded_broker
from memstream.export import Exported, Period, export, read_parquet
from memstream.topology import ensure_topics
from models import Trajectory
from tests.acceptance.service import MEMSTREAM
from tests.integration.storage.aftermath import NOON
from tests.integration.storage.school import corrected, searches
from topics import Topic, TopicNames, encode, topic_sizes

ACME, HOOLI = searches(30, tenant="acme"), searches(20, tenant="hooli")
LATER = [corrected(one, -0.5) for one in ACME[:10]]
LATEST = [corrected(one, 0.9, 2) for one in ACME[:3]]
# As after a crash of the relay some are there twice, and one comes again after its correction.
WRITTEN = [*ACME, *HOOLI, *LATER, *LATEST, *HOOLI[:5], LATEST[0], LATER[0], ACME[0]]
NEWEST = [*LATEST, *LATER[3:], *ACME[10:], *HOOLI]


@pytest.fixture(params=["embedded", "real"])
def real(request):
    """The address of a real broker; None for an embedded one."""
    return request.getfixturevalue("kafka") if request.param == "real" else None


@pytest.fixture
async def topic(real, tmp_path):
    """A broker and names, with the log written to its topic and what is none of it between."""
    names = TopicNames(f"export-{uuid4().hex}.")
    if real is not None:
        await ensure_topics(Broker(real), names, 3)
        await write(Broker(real), names)
        yield Broker(real), names
        return
    async with embedded_broker(tmp_path / "broker", topic_sizes(names, 3)) as address:
        await write(Broker(address), names)
        yield Broker(address), names


async def write(broker, names):
    async with AIOKafkaProducer(**broker.options()) as producer:
        name = names.name(Topic.TRAJECTORIES)
        for number, one in enumerate(WRITTEN):
            await producer.send(name, encode(one), key=one.tenant_id.encode())
            if number == 7:
                await producer.send(name, b"not a trajectory", key=b"acme")
                await producer.send(name, None, key=b"acme")
        # With ids, but otherwise of another version.
        head = {"trajectory_id", "tenant_id", "revision", "started_at"}
        odd = ACME[0].model_copy(update={"trajectory_id": "odd"}).model_dump_json(include=head)
        await producer.send(name, odd.encode(), key=b"acme")


def by_id(trajectories):
    def named(one):
        return (one.tenant_id, one.trajectory_id, one.revision)

    return sorted(trajectories, key=named)


async def exported(topic, file, form="parquet", **chosen):
    far = []
    outcome = await export(*topic, file, form, lambda *step: far.append(step), **chosen)
    assert far[-1][0] == "writing"
    assert far[-1][1] == far[-1][2] == len(WRITTEN) + 3
    if form == "parquet":
        found = list(read_parquet(file))
    else:
        found = [Trajectory.model_validate_json(line) for line in file.read_text().splitlines()]
    assert outcome.rows == len(found)
    return outcome, by_id(found)


async def test_the_newest_revision_of_each_is_written_once(topic, tmp_path):
    outcome, found = await exported(topic, tmp_path / "t.parquet")
    assert found == by_id(NEWEST)
    assert outcome == Exported(rows=50, gone=0, unreadable=3)
    _, lines = await exported(topic, tmp_path / "t.jsonl", "jsonl")
    assert lines == found
    _, every = await exported(topic, tmp_path / "all.parquet", all_revisions=True)
    assert every == by_id([*ACME, *HOOLI, *LATER, *LATEST])


async def test_tenant_and_period_limit_it(topic, tmp_path):
    _, found = await exported(topic, tmp_path / "t.parquet", tenant_id="hooli")
    assert found == by_id(HOOLI)
    second = timedelta(seconds=1)
    period = Period(NOON + 2 * second, NOON + 12 * second)
    _, found = await exported(topic, tmp_path / "t.parquet", tenant_id="acme", period=period)
    assert found == by_id([LATEST[2], *LATER[3:], *ACME[10:12]])
    outcome, found = await exported(topic, tmp_path / "t.parquet", tenant_id="nobody")
    assert (outcome.rows, found) == (0, [])


async def command(broker, names, *arguments):
    settings = {"MEMSTREAM_BROKER": f"kafka://{broker}", "MEMSTREAM_TOPIC_PREFIX": names.prefix}
    process = await asyncio.create_subprocess_exec(
        MEMSTREAM,
        "export",
        *arguments,
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_the_command_says_what_it_wrote_and_what_is_wrong(topic, tmp_path):
    file = tmp_path / "t.parquet"
    asked = ("--out", str(file), "--tenant", "acme", "--from", "2026-11-16T12:00:05Z")
    code, out, err = await command(*topic, *asked)
    assert (code, out) == (0, f"25 trajectories written to {file}\n")
    assert "2 messages are not trajectories of this version" in err
    assert len(list(read_parquet(file))) == 25
    code, out, err = await command(*topic, "--out", str(tmp_path / "gone" / "t"))
    assert (code, out) == (1, "")
    assert "cannot be written: No such file or directory" in err
    assert "Traceback" not in err
