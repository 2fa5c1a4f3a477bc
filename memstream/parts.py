"""Opens the parts that the settings name: store, embedder, language model."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from memstream.addresses import sqlite_path
from memstream.embedded.process import PartError
from memstream.settings import Settings
from retrieval.embedding import Embedder, open_embedder
from retrieval.language import CircuitBreaker, GuardedModel, LanguageModel, LanguageModelError
from storage import Store


async def open_store(settings: Settings) -> Store:
    """Open the configured store; a server must be running and migrated."""
    if settings.database == "embedded":
        from storage.sqlite import SqliteStore

        return await SqliteStore.open(sqlite_path(settings))
    if settings.database == "embedded-postgres":
        raise PartError(
            "embedded-postgres runs inside `memstream up --database embedded-postgres`; "
            "start that first, or set MEMSTREAM_DATABASE to a postgresql:// URL"
        )
    from storage.postgres import PostgresStore  # asyncpg is slow to import

    return await PostgresStore.open(settings.database)


async def open_configured_embedder(
    settings: Settings, progress: Callable[[str], None] | None = None
) -> Embedder | None:
    """Open the configured embedder, telling what takes long; None if there is to be none."""
    key = settings.embedder_api_key
    return await open_embedder(
        settings.embedder,
        cache_dir=settings.data_dir / "models",
        api_key=key.get_secret_value() if key else None,
        http_model=settings.embedder_model,
        progress=progress,
    )


def open_language_model(settings: Settings) -> LanguageModel | None:
    """Make the configured language model, behind its breaker; None if there is to be none.

    Nothing is asked of it yet: the service works without it, so it may come up later.
    """
    if settings.llm_base_url is None:
        return None
    from retrieval.language.chat import chat_completions  # httpx is slow to import

    key = settings.llm_api_key
    try:
        model = chat_completions(
            settings.llm_base_url, api_key=key.get_secret_value() if key else None
        )
    except LanguageModelError as error:
        raise PartError(str(error)) from None
    return GuardedModel(model, CircuitBreaker(time.monotonic))


class Models(NamedTuple):
    """What understands texts, as far as it is configured."""

    embedder: Embedder | None
    language_model: LanguageModel | None


@asynccontextmanager
async def open_models(settings: Settings) -> AsyncIterator[Models]:
    """Open the configured models, and let go of them afterwards."""
    async with AsyncExitStack() as stack:
        language_model = open_language_model(settings)
        if language_model is not None:
            stack.push_async_callback(language_model.close)
        embedder = await open_configured_embedder(settings)
        if embedder is not None:
            stack.push_async_callback(embedder.close)
        yield Models(embedder, language_model)


async def migrate_store(settings: Settings) -> list[str]:
    """Bring the configured store's schema up to date and return what was applied."""
    if settings.database.startswith("postgres"):
        from storage.postgres import migrate

        return await migrate(settings.database)
    # The embedded store brings itself up to date whenever it is opened.
    store = await open_store(settings)
    await store.close()
    return []
