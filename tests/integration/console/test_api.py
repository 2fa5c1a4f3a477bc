"""The console's API: what it tells, to whom, and that it does what it is told."""

import asyncio
import json

import aiohttp
import pytest
from aiokafka import AIOKafkaConsumer

from memstream.console import recent
from tests.integration.console.scene import HOSTILE, NAMES, TOKEN, bury, console
from tests.integration.storage.aftermath import second
from tests.integration.storage.school import REAL

TENANTS = {"acme": 60, "globex": 20}


async def ask(site, path, *, status=200, method="GET", token=None, body=None, **headers):
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"{site.url}{path}", headers=headers, json=body) as answer,
    ):
        assert answer.status == status, await answer.text()
        told = await answer.text()
        return json.loads(told) if answer.content_type == "application/json" else answer


@pytest.mark.requirement("OB-1", "OB-3")
async def test_everything_that_is_shown_is_told_and_of_one_tenant_only(tmp_path):
    async with console(tmp_path, TENANTS) as site:
        await bury(site.producer, 1, tenant="acme")
        await bury(site.producer, 2, tenant="globex", code="forbidden", topic="feedback")
        overview = await ask(site, "/api/overview")
        assert overview["ready"]
        assert overview["searches"] == 80
        assert sum(overview["outcomes"].values()) == 80
        assert {one["tenant_id"]: one["searches"] for one in overview["tenants"]} == TENANTS
        assert set(overview["routes"]) >= {"standard", "rlm"}
        acme = await ask(site, "/api/tenant?tenant=acme")
        course = acme["course"]["buckets"]
        assert acme["searches"] == sum(one["searches"] for one in course) == 60
        assert acme["reward"] == pytest.approx(
            sum(one["searches"] * one["reward"] for one in course) / 60
        )
        assert acme["reward"] == acme["settled_reward"]
        assert acme["policy"]["trained"] == 60
        assert any(one["kind"] == "promoted" for one in acme["history"])
        assert acme["policy"]["weights"]["route/rlm/score"]["weight"] > 0
        assert acme["budgets"]["latency_ms"]["p50"] == 1000
        assert acme["tried"] == 6
        listed = await ask(site, "/api/trajectories?tenant=acme&route=rlm&outcome=result_ignored")
        assert listed["trajectories"]
        for one in listed["trajectories"]:
            seen = (one["tenant_id"], one["route"], one["outcome"])
            assert seen == ("acme", "rlm", "result_ignored")
        everything = (await ask(site, "/api/trajectories?limit=500"))["trajectories"]
        assert len(everything) == 80
        first = next(one for one in everything if one["tenant_id"] == "acme")
        address = f"/api/trajectory?id={first['trajectory_id']}"
        whole = await ask(site, f"{address}&tenant=acme")
        assert (whole["query"], whole["shown"][0]["content"]) == (HOSTILE, f"{HOSTILE} acme")
        assert [one["kind"] for one in whole["actions"]] == ["route", "recipe", "pool"]
        assert [label["revision"] for label in whole["labels"]] == [0]
        for asked in ("tenant=globex", "code=forbidden", "topic=feedback"):
            letters = await ask(site, f"/api/dead-letters?{asked}")
            assert [one["offset"] for one in letters["dead_letters"]] == [1]
        # A tenant's pages tell nothing of another's, whatever is asked for.
        pages = (
            *("tenant", "policy", "trajectories", "dead-letters"),
            "trajectory?id=t-r5&",
        )
        for page in pages:
            joint = "" if "?" in page else "?"
            told = await ask(site, f"/api/{page}{joint}tenant=globex")
            assert "acme" not in json.dumps(told), page
        nobody = await ask(site, "/api/tenant?tenant=nobody")
        assert (nobody["searches"], nobody["policy"]["version"]) == (0, 0)
        await ask(site, "/api/trajectory?id=t-r59&tenant=globex", status=404)


@pytest.mark.requirement("TJ-1")
async def test_a_search_is_told_with_what_was_heard_of_it_afterwards(tmp_path):
    async with console(tmp_path, TENANTS) as site:
        said = {"tenant_id": "acme", "session_id": "s"}
        used = {"memory_ids": ["m1"], "quality_score": 0.7, "request_id": "r5"}
        for topic, fields in (
            ("context.usage", used | {"event_id": "e1"}),
            ("feedback", {"event_id": "e2", "request_id": "r5", "quality_score": 0.2}),
            ("query.refinements", {"event_id": "e3", "request_id": "r6", "new_query": HOSTILE}),
            ("session.abandonments", {"event_id": "e4"}),
        ):
            value = json.dumps(said | fields).encode()
            await site.producer.send_and_wait(NAMES.prefix + topic, value, key=b"acme/s")
        whole = await ask(site, "/api/trajectory?id=t-r5&tenant=acme")
        heard = {one["kind"]: one for one in whole["heard"]}
        assert set(heard) == {"context.usage", "feedback", "session.abandonments"}
        assert heard["context.usage"]["memory_ids"] == ["m1"]
        assert heard["feedback"]["quality_score"] == 0.2
        other = await ask(site, "/api/trajectory?id=t-r5&tenant=globex")
        assert other["heard"] == []


async def test_what_is_no_longer_kept_whole_is_told_from_what_never_was(tmp_path, monkeypatch):
    monkeypatch.setattr(recent, "MOST_BYTES", 20_000)
    async with console(tmp_path, {"acme": 60}) as site:
        listed = (await ask(site, "/api/trajectories?limit=500"))["trajectories"]
        assert len(listed) == 60
        await ask(site, f"/api/trajectory?tenant=acme&id={listed[0]['trajectory_id']}")
        oldest = f"/api/trajectory?tenant=acme&id={listed[-1]['trajectory_id']}"
        assert "memstream trajectories" in (await ask(site, oldest, status=410))["error"]
        await ask(site, "/api/trajectory?tenant=acme&id=other", status=404)


@pytest.mark.requirement("TR-9")
async def test_weights_are_told_against_what_the_tenant_really_starts_from(tmp_path):
    async with console(tmp_path, {"acme": 160, "globex": 20}) as site:
        alone = (await ask(site, "/api/policy?tenant=acme"))["policy"]
        assert not alone["learns_from_others"]
        assert all(one["prior"] == one["shipped"] for one in alone["weights"].values())
        await site.store.policies.pool(REAL, second(0), 100)
        for tenant in ("acme", "globex", "nobody"):
            shared = (await ask(site, f"/api/policy?tenant={tenant}"))["policy"]
            assert shared["learns_from_others"]
            begins = shared["weights"]["route/rlm/score"]
            assert (begins["shipped"], begins["prior"] > 0) == (0.0, True)
        assert begins["weight"] == begins["prior"]
        await site.store.override("acme", {"global_prior": False})
        await site.store.policies.pool(REAL, second(0), 100)
        assert (await ask(site, "/api/policy?tenant=acme"))["policy"]["weights"] == alone["weights"]


async def test_tokens_of_contexts_are_told_against_the_budget(tmp_path):
    async with console(tmp_path, {"acme": 20}) as site:
        for tokens in (100, 200, 600):
            value = json.dumps({"tenant_id": "acme", "status": "ok", "tokens": tokens}).encode()
            await site.producer.send_and_wait(NAMES.prefix + "context.assembled", value)
        told = (await ask(site, "/api/tenant?tenant=acme"))["budgets"]["context_tokens"]
        assert (told["count"], told["p50"], told["max"], told["most"]) == (3, 200, 600, 2000)


async def test_what_cannot_be_meant_is_said(tmp_path):
    async with console(tmp_path, {}) as site:
        for path, said in {
            "/api/tenant": "tenant_id",
            "/api/tenant?tenant=%00": "tenant_id",
            "/api/tenant?tenant=": "tenant_id",
            "/api/trajectories?route=other": "standard, rlm",
            "/api/trajectories?outcome=other": "result_used",
            "/api/trajectories?limit=501": "from 1 to 500",
        }.items():
            assert said in (await ask(site, path, status=400))["error"]
        assert (await ask(site, "/api/overview"))["tenants"] == []


async def test_pages_may_run_nothing_but_their_own_scripts(tmp_path):
    async with console(tmp_path, {"acme": 20}) as site:
        for path in ("/", "/api/trajectories", "/static/app.js"):
            async with aiohttp.ClientSession() as session, session.get(site.url + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                text = await answer.text()
            assert "default-src 'none'; script-src 'self'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            # What was stored has no tags in it, whatever somebody takes the answer for.
            assert "<" not in text or not path.startswith("/api/")
            assert "://" not in text


async def test_who_reaches_it_by_a_foreign_name_gets_nothing(tmp_path):
    async with console(tmp_path, {"acme": 20}, web_names="console.example") as site:
        for path in ("/", "/api/overview", "/api/access", "/static/app.js"):
            refused = await ask(site, path, status=421, Host="evil.example")
            assert "MEMSTREAM_WEB_NAMES" in refused["error"]
        for host in (
            "console.example",
            f"localhost:{site.port}",
            f"127.0.0.1:{site.port}",
            "[::1]:1",
        ):
            await ask(site, "/api/overview", Host=host)
        await ask(site, "/readyz", Host="memstream:6066")
        await ask(site, "/metrics", Host="memstream:6066")


async def test_without_a_token_nothing_can_be_changed(tmp_path):
    async with console(tmp_path, {"acme": 60}) as site:
        access = await ask(site, "/api/access")
        assert access == {"login": "none", "writable": False, "auth": "off"}
        before = await ask(site, "/api/policy?tenant=acme")
        for path, body in {
            "/api/policy?tenant=acme": {"order": "rollback", "why": "x"},
            "/api/dead-letters": {"offsets": [0]},
        }.items():
            for token in (None, TOKEN):
                told = await ask(site, path, method="POST", body=body, token=token, status=403)
                assert "MEMSTREAM_WEB_TOKEN" in told["error"]
        assert await ask(site, "/api/policy?tenant=acme") == before


async def test_with_a_token_all_need_it_and_orders_come_from_its_own_pages(tmp_path):
    async with console(tmp_path, {"acme": 60}, web_token=TOKEN) as site:
        assert (await ask(site, "/api/access"))["login"] == "needed"
        policy = "/api/policy?tenant=acme"
        for token in (None, "wrong", TOKEN + "x", "\udcff", "ß"):
            await ask(site, policy, status=401, token=token)
        version = (await ask(site, policy, token=TOKEN))["policy"]["version"]
        assert version > 0
        order = {"order": "rollback", "why": HOSTILE}
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            await ask(site, policy, method="POST", body=order, token=TOKEN, status=403, **headers)
        plain = {"Content-Type": "text/plain"}
        await ask(site, policy, method="POST", body=order, token=TOKEN, status=415, **plain)
        for wrong in ({"order": "erase", "why": "x"}, {"order": "rollback", "why": ""}, [1]):
            await ask(site, policy, method="POST", body=wrong, token=TOKEN, status=400)
        assert (await ask(site, policy, token=TOKEN))["policy"]["version"] == version
        own = {"Origin": site.url, "Sec-Fetch-Site": "same-origin"}
        done = await ask(site, policy, method="POST", body=order, token=TOKEN, **own)
        assert done == {"version": version + 1}
        history = (await ask(site, policy, token=TOKEN))["history"]
        ordered = next(one for one in history if one["ordered"])
        assert (ordered["ordered"], ordered["actor"]) == ("rollback", "console")
        assert ordered["why"] == HOSTILE
        nobody = "/api/policy?tenant=nobody"
        order = {"order": "promote", "why": "x"}
        told = await ask(site, nobody, method="POST", body=order, token=TOKEN, status=409)
        assert told["error"] == "there is nothing to promote: nothing was learned yet"


async def test_dead_letters_are_sent_to_where_they_came_from(tmp_path):
    async with console(tmp_path, {}, web_token=TOKEN) as site:
        for number in range(3):
            await bury(site.producer, number, tenant="acme", value=f'{{"number": {number}}}')
        await bury(site.producer, 3, tenant="acme", topic="nowhere")
        told = await ask(site, "/api/dead-letters", token=TOKEN)
        assert [one["offset"] for one in told["dead_letters"]] == [3, 2, 1, 0]
        body = {"offsets": [1, 3]}
        sent = await ask(site, "/api/dead-letters", method="POST", body=body, token=TOKEN)
        assert sent["sent"] == 1
        assert sent["refused"][0]["offset"] == 3
        consumer = AIOKafkaConsumer(
            NAMES.prefix + "items", bootstrap_servers=site.address, auto_offset_reset="earliest"
        )
        async with consumer:
            message = await consumer.getone()
        assert message.value == b'{"number": 1}'
        assert ("memstream-replays", b"1") in message.headers


async def test_tenants_data_is_shown_to_nobody_without_a_token_where_tokens_count(tmp_path):
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0" * 8}]}))
    async with console(tmp_path, {"acme": 20}, auth="jwt", jwt_keys=keys) as site:
        assert (await ask(site, "/api/access"))["login"] == "impossible"
        for page in ("overview", "tenant?tenant=acme", "trajectories", "dead-letters"):
            told = await ask(site, f"/api/{page}", status=403)
            assert "MEMSTREAM_WEB_TOKEN" in told["error"]
    folder = tmp_path / "b"
    async with console(folder, {}, auth="jwt", jwt_keys=keys, web_token=TOKEN) as site:
        await ask(site, "/api/overview", token=TOKEN)
        body = {"offsets": [1]}
        told = await ask(
            site, "/api/dead-letters", method="POST", body=body, token=TOKEN, status=400
        )
        assert "AUTH=jwt needs one" in told["error"]


@pytest.mark.parametrize(
    "host", ["", "a b", "[::1", "evil.example:99999", "127.0.0.1.evil.example"]
)
async def test_no_host_however_odd_is_taken_for_ours(tmp_path, host):
    async with console(tmp_path, {}) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(
            f"GET /api/access HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
        status = (await reader.readline()).split()[1]
        writer.close()
        await writer.wait_closed()
    assert status in (b"400", b"421")
