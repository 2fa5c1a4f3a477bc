"""Makes the pictures in docs/images: ``python -m docs.screenshots``.

It runs `make demo` for two minutes, keeps what the terminal shows as one moving picture, and takes
pictures of the console with Chromium.
"""

import asyncio
import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from playwright.async_api import async_playwright

from docs.recording import animated, frame
from memstream.broker import Broker
from memstream.demo.demonstration import demonstration
from memstream.demo.view import view
from topics import Topic, TopicNames

IMAGES = Path(__file__).parent / "images"
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
TALL = {"width": 1280, "height": 1010}
PICTURES: dict[str, tuple[str, dict[str, int], str]] = {
    "console-overview": ("#/", DESKTOP, "light"),
    "console-tenant": ("#/tenant?tenant=depot", DESKTOP, "dark"),
    "console-weights": ("#/tenant?tenant=clinic", DESKTOP, "light"),
    "console-trajectory": ("", TALL, "light"),
    "console-policy": ("#/policy?tenant=depot", DESKTOP, "light"),
    "console-dead-letters": ("#/dead-letters", DESKTOP, "light"),
    "console-phone": ("#/tenant?tenant=clinic", PHONE, "dark"),
}
FRAMES_AT = (4, 15, 30, 45, 60, 75, 90, 105, 120)
"""Seconds after the beginning of which a frame is kept."""
PARTS = {"console-weights": "Learned weights"}
"""Of these pages only the card of this name."""
RISING_AT = 60
"""When the rise is in the middle of the picture: later, only what came after it is still shown."""
DRAWN = "() => !document.querySelector('memstream-chart:not([data-drawn])')"
"""Whether every chart of a page is there."""
TOKEN = secrets.token_urlsafe()
BEARER = {"Authorization": f"Bearer {TOKEN}"}


async def main() -> None:
    """Run the demonstration, keep what it shows, and take the pictures."""
    async with demonstration(_say) as shown, async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        # The console reads what becomes of searches only while somebody looks.
        looking = await browser.new_page(extra_http_headers=BEARER)
        await looking.goto(f"{shown.runtime.web}/api/overview")
        await _break(Broker(shown.runtime.broker), TopicNames())
        frames = []
        started = time.monotonic()
        for at in FRAMES_AT:
            await asyncio.wait({shown.work}, timeout=started + at - time.monotonic())
            if shown.work.done():
                shown.work.result()
            frames.append(frame(view(shown.stories, time.monotonic() - started), f"t{at}"))
            await looking.reload()
            if at == RISING_AT:
                await _picture(browser, shown.runtime.web, "console-tenant")
                await _picture(browser, shown.runtime.web, "console-phone")
        (IMAGES / "demo.svg").write_text(animated(frames), encoding="utf-8")
        for name in PICTURES.keys() - {"console-tenant", "console-phone"}:
            await _picture(browser, shown.runtime.web, name)
        await browser.close()
        _say(json.dumps([story.report() for story in shown.stories]))


def _say(step: str) -> None:
    sys.stderr.write(f"{step}\n")


async def _break(broker: Broker, names: TopicNames) -> None:
    """Send what cannot be handled."""
    async with AIOKafkaProducer(**broker.options()) as producer:
        for topic, value in (
            (Topic.ITEMS, b'{"event_id": "e1", "tenant_id": "clinic", "content": 7}'),
            (Topic.SEARCH_REQUESTS, b'{"request_id": "r1", "tenant_id": "depot", "limit": 1000}'),
            (Topic.FEEDBACK, b"quality: good"),
        ):
            await producer.send_and_wait(names.name(topic), value, key=b"clinic/s")


async def _picture(browser: Any, url: str, name: str) -> None:
    page, size, scheme = PICTURES[name]
    context = await browser.new_context(viewport=size, color_scheme=scheme)
    await context.add_init_script(f"sessionStorage.setItem('memstream-token', '{TOKEN}')")
    tab = await context.new_page()
    await tab.goto(f"{url}/{page or '#/trajectories?tenant=platform&outcome=result_used'}")
    await tab.wait_for_selector(".body table", state="attached")
    if not page:
        await tab.locator(".body tbody a").first.click()
        await tab.wait_for_selector(".story .signal", timeout=60_000)
    await tab.wait_for_function(DRAWN)
    await tab.evaluate("document.fonts.ready")
    shot = tab.get_by_role("region", name=PARTS[name], exact=True) if name in PARTS else tab
    await shot.screenshot(path=IMAGES / f"{name}.png")
    await context.close()
    _say(f"{name}.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MEMSTREAM_DATA_DIR": folder, "MEMSTREAM_WEB_PORT": "0"}
        os.environ["MEMSTREAM_WEB_TOKEN"] = TOKEN
        asyncio.run(main())
