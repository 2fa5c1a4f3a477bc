"""A browser that looks at the console, and what there is to see in it."""

import asyncio
from contextlib import asynccontextmanager

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import async_playwright, expect

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")

REFUSALS = """addEventListener("securitypolicyviolation", (one) =>
    console.error(`against the policy: ${one.violatedDirective} ${one.sample}`));"""

DRAWN = """(chart) => {
    const room = chart.getBoundingClientRect();
    const seen = (one) => {
        const {width, height, left, right} = one.getBoundingClientRect();
        return width * height > 0 && left >= room.left - 1 && right <= room.right + 1;
    };
    const groups = [...chart.querySelectorAll(".trace")];
    const shown = (trace) => {
        const group = groups.find((one) => one.__data__?.[0]?.trace.index === trace);
        return [...group?.querySelectorAll("path.point, .point > path") ?? []].filter(seen).length;
    };
    const named = (of) => chart.data.reduce((all, one, at) => {
        const name = one.name ?? "";
        return {...all, [name]: (all[name] ?? 0) + of(one, at)};
    }, {});
    return {
        points: named((one) => one.x.length),
        shown: named((_, at) => shown(at)),
        shapes: chart.layout.shapes?.map((one) => one.name) ?? [],
        names: [...chart.querySelectorAll(".annotation-text, .ytick text")].map((one) =>
            one.textContent),
    };
}"""
"""Of an element with a chart: points given and points visible by trace, shapes, names of rows."""

expect.set_options(timeout=20_000)  # a busy machine is no reason for a test to fail


@asynccontextmanager
async def opened(chromium, *, size=DESKTOP, scheme="light"):
    """A page, and what went wrong in it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            context = await browser.new_context(
                viewport=size, color_scheme=scheme, timezone_id="UTC", reduced_motion="reduce"
            )
            page = await context.new_page()
            page.wrong, page.asked = [], []
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("console", lambda told: told.type == "error" and page.wrong.append(told.text))
            page.on("dialog", lambda dialog: page.wrong.append(dialog.message))
            page.on("request", lambda asked: page.asked.append(asked.url))
            page.on(
                "request",
                lambda asked: "//127.0.0.1:" in asked.url or page.wrong.append(asked.url),
            )
            await page.add_init_script(REFUSALS)
            yield page
        finally:
            await browser.close()


async def api(page, path):
    return await page.evaluate(
        """async (path) => (await fetch(`/api/${path}`, {headers: {
            authorization: `Bearer ${sessionStorage.getItem("memstream-token")}`}})).json()""",
        path,
    )


async def look(page, hash_, heading):
    await page.evaluate("(to) => { location.hash = to; }", hash_)
    await expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    await expect(page.get_by_text("Loading …")).to_have_count(0)


async def is_well(page):
    """No script ran, nothing failed, nothing sticks out, and everybody can use it."""
    assert page.wrong == []
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("main img, main script, dialog img").count() == 0
    width = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"{page.url} is wider than its window: {width}"
    found = (await Axe().run(page)).response
    assert len(found["passes"]) > 10
    bad = [
        (one["id"], one["nodes"][0]["html"])
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]
    assert bad == [], page.url


async def drawn(page, name):
    """What of a chart its library was given, and what of that is to be seen, trace by trace."""
    chart = page.locator(f'memstream-chart[data-key="chart/{name}"][data-drawn]')
    await expect(chart).to_have_attribute("role", "img")
    assert (await chart.get_attribute("aria-label")).startswith(name)
    return await chart.evaluate(DRAWN)


async def draws(page, name, count):
    """Wait until a chart shows so many points: a page may not have asked again yet."""
    async with asyncio.timeout(20):
        while sum((await drawn(page, name))["shown"].values()) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
