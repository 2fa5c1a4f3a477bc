"""Charts are drawn by a library that the console serves itself, and show what there is."""

import gzip
from importlib.metadata import distribution
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import expect

from tests.integration.console.browser import api, drawn, is_well, look, opened
from tests.integration.console.scene import HOSTILE, NAMES, console, told
from topics import encode

MARKUP = '<b>b</b> <a href="javascript:window.hacked=1">l</a> &lt;i&gt; %{x} <br>$y$ ' + HOSTILE
"""What Plotly would take for bold, a link, a letter, a template, a line."""

SMALL = {"width": 360, "height": 740}
REWARD = "memstream-chart[data-key='chart/Reward']"
LIBRARY = "**/library/*"


async def got(url, **headers):
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers=headers) as answer,
    ):
        return answer.status, answer.headers, await answer.read()


async def test_the_library_is_that_of_the_package_kept_for_ever_and_compressed(tmp_path):
    package = distribution("plotly")
    script = Path(package.locate_file("plotly/package_data/plotly.min.js")).read_bytes()
    async with console(tmp_path, {}) as site:
        address = f"/library/plotly-{package.version}.min.js"
        assert f'content="{address}"' in (await got(site.url))[2].decode()
        for encoding, most in (("gzip, br", 1_600_000), ("identity", len(script))):
            status, headers, body = await got(site.url + address, **{"Accept-Encoding": encoding})
            assert status == 200
            assert len(body) <= most
            assert headers["Content-Type"].startswith("text/javascript")
            assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert headers["Vary"] == "Accept-Encoding"
            assert "unsafe" not in headers["Content-Security-Policy"]
            packed = headers.get("Content-Encoding") == "gzip"
            assert packed == (encoding != "identity")
            assert (gzip.decompress(body) if packed else body) == script
        status, headers, _ = await got(f"{site.url}/library/plotly-0.0.0.min.js")
        assert (status, headers["Cache-Control"]) == (404, "no-store")
        assert (await got(site.url + address, Host="evil.example"))[0] == 421


async def test_text_is_there_before_the_library_which_only_charts_ask_for(tmp_path, chromium):
    held = []
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium) as page:
        await page.route(LIBRARY, lambda route: held.append(route))
        await page.goto(f"{site.url}/#/dead-letters")
        await expect(page.get_by_text("No dead letters.")).to_be_visible()
        await look(page, "#/trajectories", "Trajectories")
        assert not any("/library/" in one for one in page.asked)
        await look(page, "#/tenant?tenant=acme", "Tenant acme")
        await expect(page.get_by_role("table", name="Weights of the ranking").first).to_be_visible()
        height = await page.locator(REWARD).evaluate("(one) => one.clientHeight")
        assert await page.locator("memstream-chart svg").count() == 0
        assert height > 200
        await held[0].continue_()
        assert (await drawn(page, "Reward"))["shown"]["dots"] == 60
        assert await page.locator(REWARD).evaluate("(one) => one.clientHeight") == height
        await look(page, "#/", "Overview")
        await drawn(page, "Outcomes")
        assert sum("/library/" in one for one in page.asked) == 1
        await is_well(page)


async def test_without_the_library_the_rest_of_a_page_is_there(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium) as page:
        await page.route(LIBRARY, lambda route: route.abort())
        await page.goto(f"{site.url}/#/tenant?tenant=acme")
        await expect(page.get_by_text("The chart could not be drawn.").first).to_be_visible()
        await page.get_by_text("As a table").click()
        await expect(page.get_by_role("table", name="Reward over time")).to_be_visible()
        await expect(page.locator("#live")).to_have_text("live")


async def test_a_chart_goes_on_with_new_numbers_and_is_given_back_with_its_page(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium) as page:
        await page.goto(f"{site.url}/#/tenant?tenant=acme")
        assert (await drawn(page, "Reward"))["shown"]["dots"] == 60
        await page.evaluate(f'window.first = document.querySelector("{REWARD}")')
        uid = await page.evaluate("first._fullLayout._uid")
        for one in list(told(63, "acme"))[60:]:
            await site.producer.send_and_wait(NAMES.prefix + "trajectories", encode(one))
        await page.wait_for_function("() => first.data[0].x.length === 63")
        assert (await drawn(page, "Reward"))["shown"]["dots"] == 63
        buckets = (await api(page, "tenant?tenant=acme"))["course"]["buckets"]
        assert len(buckets) == 63
        same = f'first === document.querySelector("{REWARD}") && first._fullLayout._uid'
        assert await page.evaluate(same) == uid
        await is_well(page)
        await look(page, "#/trajectories", "Trajectories")
        assert await page.evaluate("[first.isConnected, '_fullLayout' in first]") == [False, False]


async def test_a_single_point_is_to_be_seen(tmp_path, chromium):
    async with console(tmp_path, {"acme": 1}) as site, opened(chromium, size=SMALL) as page:
        await page.goto(f"{site.url}/#/tenant?tenant=acme")
        reward = await drawn(page, "Reward")
        assert reward["shown"] == {"dots": 1, "mean of the last 20 searches": 1, "up": 0, "down": 0}
        await is_well(page)


@pytest.mark.requirement("OB-3")
async def test_stored_text_in_a_chart_is_text(tmp_path, chromium):
    async with console(tmp_path, {"acme": 1}) as site, opened(chromium, size=SMALL) as page:
        search = next(told(1, "acme"))
        step = search.actions[0].model_copy(
            update={"kind": "Reason", "params": {"query": MARKUP[:40], "failed": MARKUP[40:]}}
        )
        other = step.model_copy(update={"kind": MARKUP, "params": {}})
        fields = {"trajectory_id": "t", "actions": (step, other), "query": MARKUP}
        value = encode(search.model_copy(update=fields))
        await site.producer.send_and_wait(NAMES.prefix + "trajectories", value)
        await page.goto(f"{site.url}/#/trajectory?tenant=acme&id=t")
        for size in (SMALL, {"width": 1280, "height": 900}):
            await page.set_viewport_size(size)
            actions = await drawn(page, "Actions")
            shown = [one.replace("\u00a0", " ").removesuffix("…") for one in actions["names"]]
            for name, whole in zip(shown, (f"Reason “{MARKUP[:40]}”", MARKUP), strict=True):
                assert len(name) > 30
                assert whole.startswith(name)
            assert await page.locator("memstream-chart svg a").count() == 0
            assert await page.locator("memstream-chart .annotation-text tspan").count() == 0
            await is_well(page)


async def test_charts_follow_the_window_and_the_colours_of_the_page(tmp_path, chromium):
    async with console(tmp_path, {"acme": 60}) as site, opened(chromium) as page:
        await page.goto(f"{site.url}/#/tenant?tenant=acme")
        await drawn(page, "Reward")
        tick = page.locator(f"{REWARD} .ytick text").first
        before = await tick.evaluate("(one) => one.style.fill")
        await page.emulate_media(color_scheme="dark")
        await page.wait_for_function(
            """(before) => document.querySelector("memstream-chart .ytick text")
                .style.fill !== before""",
            arg=before,
        )
        soft = "getComputedStyle(document.querySelector('figcaption')).color"
        assert await tick.evaluate("(one) => one.style.fill") == await page.evaluate(soft)
        await page.set_viewport_size(SMALL)
        await page.wait_for_function("() => document.querySelector('.main-svg').clientWidth < 330")
        assert (await drawn(page, "Reward"))["shown"]["dots"] == 60
        await is_well(page)
