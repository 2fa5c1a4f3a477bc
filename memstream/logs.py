"""Logs: readable for people, one JSON object a line for machines; Faust's and ours alike.

Lines about a message carry the ids of its tenant and request, and of its trace if there is one.
What tenants ask and remember is in no line at info level: neither in our own, nor in the messages
of exceptions that rise while a message is handled, nor in the local variables of a traceback.
"""

import logging
import sys
import traceback
from types import TracebackType
from typing import Literal

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from topics.traces import trace_ids

log = structlog.get_logger(__name__)

# Faust and aiokafka tell of every rebalance step at INFO, the SDK of MCP what was asked; warnings
# are what concerns an operator.
_CHATTY = (
    "faust",
    "mode",
    "aiokafka",
    "kafka",
    "asyncio",
    "httpx",
    "httpcore",
    "aiohttp",
    "memstream.transport",
    "memstream.stream_metrics",
    "mcp",
    "uvicorn",
    "opentelemetry",
    "urllib3",
)


def set_up_logs(
    log_format: Literal["console", "json"], level: Literal["debug", "info", "warning"] = "info"
) -> None:
    """Send every log line to standard error in one format."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _add_trace,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    final: list[Processor] = [_Exceptions(with_messages=level == "debug")]
    if log_format == "json":
        final.append(structlog.processors.JSONRenderer())
    else:
        final.append(
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
        )
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    # While PostgreSQL is away the pool tells so with a traceback at each attempt; whoever needs a
    # connection meanwhile tells it in a line.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    sys.excepthook = _log_last_words


def _log_last_words(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Tell what ends the process as everything else is told."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        log.critical("ended by an error", exc_info=error)


def _add_trace(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    return {**line, **trace_ids()}


class _Exceptions:
    """Writes exceptions out as tracebacks, one string a line of the log."""

    def __init__(self, *, with_messages: bool) -> None:
        self._with_messages = with_messages

    def __call__(self, _: WrappedLogger, __: str, line: EventDict) -> EventDict:
        info = line.pop("exc_info", None)
        raised = _raised(info)
        if raised is not None:
            # While a tenant's message is handled an exception may quote it; the dead letter tells.
            quotes = "tenant_id" in line and not self._with_messages
            line["exception"] = _stacks(raised) if quotes else _whole(raised)
        return line


def _raised(info: ExcInfo | BaseException | bool | None) -> BaseException | None:
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple):
        return info[1]
    return sys.exc_info()[1] if info else None


def _whole(raised: BaseException) -> str:
    return "".join(traceback.format_exception(raised)).rstrip()


def _stacks(raised: BaseException) -> str:
    """Return where it happened and what kind of error each was, without what they say."""
    before = raised.__cause__ or (None if raised.__suppress_context__ else raised.__context__)
    earlier = f"{_stacks(before)}\n\n" if before is not None else ""
    frames = "".join(traceback.format_tb(raised.__traceback__))
    return f"{earlier}Traceback (most recent call last):\n{frames}{type(raised).__name__}"
