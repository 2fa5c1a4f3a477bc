"""A walk through the console in a browser: it shows what the API tells, and nothing runs."""

import asyncio
import json
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from aiokafka import AIOKafkaConsumer
from playwright.async_api import expect

from agents.metrics import CONSUMER_LAG, DEAD_LETTERS, SEARCH_SECONDS
from retrieval.metrics import ROUTES
from tests.integration.console.browser import (
    DESKTOP,
    PHONE,
    api,
    drawn,
    draws,
    is_well,
    look,
    opened,
)
from tests.integration.console.scene import HOSTILE, NAMES, TOKEN, bury, console, told
from topics import encode


async def rows(page, name):
    body = page.get_by_role("table", name=name).locator("tbody tr")
    return await body.count(), await body.first.inner_text()


def written(milliseconds):
    """As the pages write it."""
    return f"{milliseconds:.{1 if milliseconds < 10 else 0}f}\u00a0ms"


async def tile(page, name):
    return page.locator(".tile", has=page.get_by_text(name, exact=True)).locator("dd")


async def serve_some(page):
    """Count what a worker counts, and wait until it was looked at."""
    ROUTES.labels("standard").inc(8)
    ROUTES.labels("rlm").inc(2)
    for _ in range(10):
        SEARCH_SECONDS.observe(0.02)
    CONSUMER_LAG.labels("memory.items").set(1234)
    DEAD_LETTERS.labels("memory.items", "invalid_request").inc(3)
    async with asyncio.timeout(20):
        while (await api(page, "overview"))["search_ms"]["p50"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def overview_is_right(page):
    await expect(page.locator("#state")).to_have_text("This worker is ready.")
    await serve_some(page)
    await expect(await tile(page, "Lag")).to_contain_text("1,234")
    told = await api(page, "overview")
    dead = sum(one["count"] for one in told["dead_letters"])
    assert dead >= 3
    await expect(await tile(page, "Dead letters")).to_contain_text(f"{dead:,}")
    for share in ("p50", "p95"):
        await expect(await tile(page, f"Latency {share}")).to_contain_text(
            written(told["search_ms"][share])
        )
    for name, kind in (("standard", "standard"), ("decomposed", "rlm")):
        await expect(page.get_by_text(f"{name} {told['routes'][kind]:.0f} (")).to_be_visible()
    assert "1,234" in (await rows(page, "Lag by topic"))[1]
    letters = page.get_by_role("table", name="Dead letters since this worker started")
    await expect(letters).to_contain_text("invalid_request")
    for one in told["tenants"]:
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=one["tenant_id"]))
        assert str(one["searches"]) in await row.inner_text()
        assert f"{one['reward']:.3f}" in await row.inner_text()
    await expect(page.get_by_text(f"used {told['outcomes']['result_used']} (")).to_be_visible()


async def tenant_is_right(page, tenant):
    told = await api(page, f"tenant?tenant={quote(tenant)}")
    await expect(page.locator("dd", has_text=f"{told['reward']:.3f}").first).to_be_visible()
    weights = told["policy"]["weights"]
    ranking = [name for name in weights if name.startswith("rank/")]
    heat = page.get_by_role("table", name="Weights of the ranking").locator("tbody tr")
    assert await heat.count() == len(ranking)
    for name in ranking:
        row = page.get_by_role("row").filter(
            has=page.get_by_role("rowheader", name=name.removeprefix("rank/"), exact=True)
        )
        shown = (await row.inner_text()).split()
        numbers = [
            f"{weights[name][key]:.2f}".replace("-0.00", "0.00") for key in ("shipped", "weight")
        ]
        assert shown[-3:-1] == numbers
    reward = await drawn(page, "Reward")
    assert reward["points"]["dots"] == reward["shown"]["dots"] == len(told["course"]["buckets"])
    ups = sum(one["kind"] in ("promoted", "bootstrapped") for one in told["history"])
    assert ups == reward["points"]["up"] == reward["shown"]["up"]
    for name, counts in (("Outcomes", told["outcomes"]), ("Routes", told["routes"])):
        parts = sum(bool(many) for many in counts.values())
        await draws(page, name, parts)
    await page.get_by_text("As a table").click()
    assert (await rows(page, "Reward over time"))[0] == min(len(told["course"]["buckets"]), 60)
    return ups


async def policy_is_right(page, tenant):
    told = await api(page, f"policy?tenant={quote(tenant)}")
    policy = told["policy"]
    text = await page.get_by_label("What serves", exact=True).inner_text()
    for said in (
        f"{policy['trained']:,} searches in {policy['steps']:,} steps",
        f"{policy['exploration_rate']:.3f}",
        f"{policy['baseline']:.3f}",
        f"tell memories apart{'' if policy['signals']['tell'] else ' yet'} "
        f"({policy['signals']['lists']:,} lists)",
    ):
        assert said in text
    history = page.get_by_role("table", name="What became of it").locator("tbody tr")
    await expect(history).to_have_count(len(told["history"]))
    judged = [one for one in policy["staged"].values() if one["estimate"] is not None]
    if judged:
        await draws(page, "Better than what serves, by", len(judged))
    if policy["staged"]:
        table = page.get_by_role("table", name="Off-policy estimates")
        assert await table.locator("tbody tr").count() == len(policy["staged"])
        for name, one in policy["staged"].items():
            row = table.get_by_role("row").filter(
                has=page.get_by_role("rowheader", name=name, exact=True)
            )
            assert str(one["lessons"]) in await row.inner_text()
            if one["lower"] is not None:
                assert f"({one['lower']:.3f} to {one['upper']:.3f})".replace("-0.000", "0.000") in (
                    await row.inner_text()
                ).replace("-0.000", "0.000")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_every_page_shows_what_the_api_tells(tmp_path, chromium, size, scheme):
    tenants = {HOSTILE: 20, "acme": 60}
    async with (
        console(tmp_path, tenants, web_token=TOKEN) as site,
        opened(chromium, size=size, scheme=scheme) as page,
    ):
        await bury(site.producer, 1, tenant=HOSTILE)
        await page.goto(site.url)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        await is_well(page)
        await page.get_by_label("Token").fill(TOKEN)
        await page.get_by_label("Token").press("Enter")

        await overview_is_right(page)
        await is_well(page)
        await page.get_by_role("link", name="acme").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Tenant acme")
        assert await tenant_is_right(page, "acme") > 0
        await is_well(page)

        await look(page, "#/trajectories?tenant=acme&outcome=query_refined", "Trajectories")
        told = await api(page, "trajectories?tenant=acme&outcome=query_refined")
        count, first = await rows(page, "The newest searches")
        assert count == len(told["trajectories"])
        assert told["trajectories"][0]["query"] in first
        await is_well(page)
        newest = (await api(page, "trajectories?tenant=acme"))["trajectories"][0]
        assert newest["query"] == HOSTILE
        reworded = {"event_id": "e", "request_id": "r59", "new_query": HOSTILE}
        await signal(site, "query.refinements", reworded)
        await look(page, f"#/trajectory?tenant=acme&id={newest['trajectory_id']}", "Trajectory")
        await expect(page.get_by_text(f"{HOSTILE} acme", exact=True)).to_be_visible()
        await draws(page, "Actions", newest["actions"])
        whole = await api(page, f"trajectory?tenant=acme&id={newest['trajectory_id']}")
        for action in whole["actions"]:
            choice = action["params"]["choice"]
            said = f"{choice['point']}: {choice['option']}"
            await expect(page.locator("td", has_text=said)).to_be_visible()
        became = 1 + len(whole["labels"]) + len(whole["heard"])
        assert became == 3
        await draws(page, "What became of it", became)
        await expect(page.get_by_text(f"reworded to “{HOSTILE}”")).to_be_visible()
        label = whole["labels"][0]
        await expect(page.get_by_text(f"reward {label['reward']:.3f}")).to_be_visible()
        await is_well(page)

        for entry, opens in (("Tenants", "Tenant"), ("Policies", "Policy of")):
            await page.get_by_role("navigation").get_by_role("link", name=entry).click()
            await expect(page.get_by_role("heading", level=1)).to_have_text(entry)
            await expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
            await is_well(page)
            await page.get_by_role("link", name=HOSTILE).click()
            await expect(page.get_by_role("heading", level=1)).to_have_text(f"{opens} {HOSTILE}")
            await expect(page.locator("table.heatmap").first).to_be_visible()
            right = tenant_is_right if entry == "Tenants" else policy_is_right
            await right(page, HOSTILE)
            await is_well(page)
        await look(page, "#/policy?tenant=acme", "Policy of acme")
        await policy_is_right(page, "acme")
        await is_well(page)

        await look(page, "#/dead-letters", "Dead letters")
        told = (await api(page, "dead-letters"))["dead_letters"][0]
        assert told["message"] in (await rows(page, "The newest messages"))[1]
        await page.get_by_text(f"{told['bytes']} bytes").click()
        await expect(page.get_by_text(told["payload"], exact=True)).to_be_visible()
        await is_well(page)


async def signal(site, topic, fields):
    value = json.dumps({"tenant_id": "acme", "session_id": "s"} | fields).encode()
    await site.producer.send_and_wait(NAMES.prefix + topic, value, key=b"acme/s")


async def ordered(page, name, why):
    """Give an order as the keyboard does; its button has the focus again."""
    await page.get_by_role("button", name=f"{name} …").focus()
    await page.keyboard.press("Enter")
    await page.get_by_label("Why").fill(why)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.get_by_role("button", name=f"{name} …")).to_be_focused()
    history = page.get_by_role("table", name="What became of it")
    await expect(history.get_by_text(why).first).to_be_visible()


async def test_orders_are_given_with_the_keyboard_and_pages_stay_current(tmp_path, chromium):
    async with (
        console(tmp_path, {"acme": 60}, web_token=TOKEN) as site,
        opened(chromium) as page,
    ):
        await page.goto(f"{site.url}/#/policy?tenant=acme")
        await page.get_by_label("Token").fill("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("the token is missing or wrong")).to_be_visible()
        page.wrong.clear()  # the browser tells of the status 401 on its console
        await page.get_by_label("Token").fill(TOKEN)
        await page.keyboard.press("Enter")
        before = (await expect_version(page, site))["policy"]["version"]
        await page.get_by_role("button", name="Roll back …").focus()
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_be_visible()
        await is_well(page)
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        assert (await api(page, "policy?tenant=acme"))["policy"]["version"] == before
        await ordered(page, "Promote", "it looks good")
        assert (await api(page, "policy?tenant=acme"))["policy"]["version"] == before + 1
        await ordered(page, "Roll back", HOSTILE)
        told = await api(page, "policy?tenant=acme")
        assert told["policy"]["version"] == before + 2
        assert [one["ordered"] for one in told["history"] if one["ordered"]] == [
            "rollback",
            "promote",
        ]
        await is_well(page)

        # What was ordered after the last search is marked too.
        await look(page, "#/tenant?tenant=acme", "Tenant acme")
        downs = [one for one in told["history"] if one["kind"] in ("rolled back", "suspended")]
        reward = await drawn(page, "Reward")
        assert reward["shown"]["down"] == reward["shapes"].count("down") == len(downs) > 0

        # Nobody reloads: a letter that is written while the page is open is there a moment later.
        await look(page, "#/dead-letters", "Dead letters")
        await expect(page.get_by_text("No dead letters.")).to_be_visible()
        await bury(site.producer, 1, tenant="acme", value='{"number": 1}')
        await page.get_by_role("button", name="Replay letter 0").click()
        await dialog.get_by_role("button", name="Replay").press("Enter")
        await expect(dialog).to_be_hidden()
        items = AIOKafkaConsumer(
            NAMES.prefix + "items", bootstrap_servers=site.address, auto_offset_reset="earliest"
        )
        async with items, asyncio.timeout(20):
            assert (await items.getone()).value == b'{"number": 1}'
        await is_well(page)


async def test_focus_and_scrolling_stay_where_they_are_when_a_page_changes(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium, size=PHONE) as page:
        await page.goto(f"{site.url}/#/dead-letters")
        await bury(site.producer, 1, tenant="acme", value="line\n" * 200)
        await page.get_by_text("1,000 bytes").click()
        payload = page.locator("pre").first
        await payload.evaluate("(one) => { one.scrollTop = 300; one.focus(); }")
        await bury(site.producer, 2, tenant="acme")
        await expect(page.locator("pre")).to_have_count(2)
        payload = page.locator("pre", has_text="line")
        await expect(payload).to_be_focused()
        assert await payload.evaluate("(one) => one.scrollTop") == 300

        await look(page, "#/trajectories", "Trajectories")
        table = page.get_by_role("region", name="The newest searches")
        await table.focus()
        late = next(told(1, "late"))
        await site.producer.send_and_wait(NAMES.prefix + "trajectories", encode(late))
        await expect(table.get_by_text("late").first).to_be_visible()
        await expect(table).to_be_focused()

        address = page.url
        await page.locator(".skip").focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        assert page.url == address
        await is_well(page)


async def test_what_is_too_young_to_be_judged_is_shaded_and_said(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium) as page:
        await page.goto(f"{site.url}/#/tenant?tenant=acme")
        await expect(page.get_by_text("A dot is the mean of")).to_be_visible()
        assert "young" not in (await drawn(page, "Reward"))["shapes"]
        young = next(told(1, "acme"))
        fields = {"trajectory_id": "young", "completed_at": datetime.now(UTC)}
        value = encode(young.model_copy(update=fields))
        await site.producer.send_and_wait(NAMES.prefix + "trajectories", value)
        await expect(
            page.get_by_text("younger than the outcome window (10\u00a0min)")
        ).to_be_visible()
        await page.wait_for_function(
            """() => document.querySelector("memstream-chart").layout.shapes.some(
                (one) => one.name === "young")"""
        )
        await is_well(page)


async def expect_version(page, site):
    await expect(page.get_by_role("button", name="Promote …")).to_be_visible()
    return await api(page, "policy?tenant=acme")


async def test_without_a_token_there_is_nothing_to_press(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium, size=PHONE) as page:
        await page.goto(f"{site.url}/#/policy?tenant=acme")
        await expect(page.get_by_text("Read-only")).to_be_visible()
        await expect(page.locator("main button")).to_have_count(0)
        await is_well(page)
