"""The local language model beside a test that is not asynchronous itself."""

import asyncio
import threading
from contextlib import contextmanager

from tests.acceptance.service import wait_for
from tests.language_model import Behaviour, local_language_model

HELPFUL = Behaviour(text='{"why": "it says so"}')
"""An answer that fits every question memstream asks of a language model."""


class LanguageModel:
    """The server, and the loop of the thread in which it runs."""

    def __init__(self, server, loop):
        self._server = server
        self._loop = loop
        self.settings = {
            "llm_base_url": server.url,
            "root_model": "planner",
            "sub_call_model": "answerer",
        }

    def behave(self, behaviour):
        async def change():
            self._server.behave(behaviour)

        asyncio.run_coroutine_threadsafe(change(), self._loop).result(10)

    @property
    def calls(self):
        return self._server.calls

    def by_behaviour(self):
        return dict(self._server.by_behaviour)

    def wait_until_called(self, times):
        wait_for(lambda: self.calls >= times, f"{times} calls of the language model")


@contextmanager
def language_model(behaviour=HELPFUL):
    """Run the server in a thread of its own."""
    started, running = threading.Event(), []

    async def serve():
        async with local_language_model(behaviour) as server:
            done = asyncio.Event()
            running.append((server, asyncio.get_running_loop(), done))
            started.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(10), "the language model did not start"
    server, loop, done = running[0]
    try:
        yield LanguageModel(server, loop)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
