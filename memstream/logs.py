"""Logs: readable for people, JSON for machines; Faust's and ours alike."""

import logging
import sys
from typing import Literal

import structlog

# Faust and aiokafka tell of every rebalance step at INFO; warnings are what concerns an operator.
_CHATTY = (
    "faust",
    "mode",
    "aiokafka",
    "kafka",
    "asyncio",
    "httpx",
    "aiohttp",
    "memstream.transport",
)


def set_up_logs(log_format: Literal["console", "json"]) -> None:
    """Send every log line to standard error in one format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    final: list[structlog.typing.Processor]
    if log_format == "json":
        final = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        final = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    # While PostgreSQL is away the pool tells so with a traceback at each attempt; whoever needs a
    # connection meanwhile tells it in a line.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
