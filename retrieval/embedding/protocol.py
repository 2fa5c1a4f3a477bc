"""What every embedder promises, and the one error it raises."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class EmbedderError(Exception):
    """An embedder cannot be opened or cannot answer; the message is one clear sentence."""


class EmbedderUnavailableError(EmbedderError):
    """An embedder cannot be reached right now; the same call may work later."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one vector space."""

    @property
    def name(self) -> str:
        """The vector space, stored beside each vector so that two spaces are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length per text, in the order of the texts."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of threads, memory and connections."""
        ...
