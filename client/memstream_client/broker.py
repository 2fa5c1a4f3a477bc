"""The broker: how clients of it are opened, and what is told when it fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    RecordTooLargeError,
)

from memstream_client.errors import BrokerError, TooLargeError
from memstream_client.security import Security, refusal

_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError, RecordTooLargeError)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker at ``host:port[,host:port…]``."""

    address: str
    security: Security

    def options(self) -> dict[str, Any]:
        """Return what every client of aiokafka is opened with."""
        return {"bootstrap_servers": self.address, **self.security.options()}

    @asynccontextmanager
    async def within(self, timeout_s: float, complaint: str) -> AsyncIterator[None]:
        """Turn what aiokafka raises, or that it takes too long, into an error of ours."""
        try:
            async with asyncio.timeout(timeout_s):
                yield
        except TimeoutError as error:
            told = f"the broker at {self.address} {complaint} ({timeout_s:.1f} s)"
            raise BrokerError(told) from error
        except _TOO_LARGE as error:
            raise TooLargeError(f"the message is larger than the broker takes: {error}") from error
        except KafkaConnectionError as error:
            raise await self._unreachable(error) from error
        except KafkaError as error:
            raise BrokerError(f"the broker at {self.address} {complaint} ({error!r})") from error

    async def _unreachable(self, error: KafkaError) -> BrokerError:
        refused = await refusal(self.address, self.security)
        if refused is None:
            return BrokerError(f"the broker at {self.address} does not answer: {error}")
        return BrokerError(f"{refused.reason}: check {', '.join(refused.check)}", refused)
