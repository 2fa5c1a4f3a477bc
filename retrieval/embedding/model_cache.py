"""The converted model on disk: written whole or not at all, and checked before every use."""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from retrieval.embedding.protocol import EmbedderError
from retrieval.embedding.weights import MINILM_SHA256, ModelFiles, sha256_of

# Raised whenever convert.py writes another graph, so that an old file is never taken for a new one.
_CONVERTER_VERSION = 1
# A conversion takes a second or two; a temporary file this old was left by a process that died.
_ABANDONED_AFTER_S = 3600.0


@dataclass(frozen=True)
class ModelCache:
    """Keeps the ONNX form of MiniLM in a folder, under a name that carries its own hash."""

    folder: Path
    files: ModelFiles

    def path(self, progress: Callable[[str], None]) -> Path:
        """Return a whole ONNX file, converting the weights if there is none."""
        try:
            return self.sound_file() or self._convert(progress)
        except OSError as error:
            raise EmbedderError(
                f"The converted model cannot be kept in {self.folder}: {error.strerror}."
            ) from error

    def sound_file(self) -> Path | None:
        """Return the ONNX file if there is a whole one."""
        # The digest is in the name: one rename publishes both, no second file can disagree. A torn
        # file stays where it is, as removing it could hit the good one another process just put
        # in its place; the conversion, which always gives the same bytes, replaces it.
        for path in sorted(self.folder.glob(f"{self._stem()}-*.onnx")):
            if path == self._named(sha256_of(path)):
                return path
        return None

    def _convert(self, progress: Callable[[str], None]) -> Path:
        progress("checking weights")
        self.files.check(self.files.weights, self.files.config)
        progress("converting MiniLM to ONNX (only once)")
        # Imported here because a start from the cache has no use for onnx.
        from retrieval.embedding.convert import converted

        self.folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        return self._store(converted(self.files))

    def _store(self, model: bytes) -> Path:
        # The digest of the bytes in memory, and no fsync: whatever the disk makes of them, a file
        # that differs fails its digest at the next start and is converted again.
        target = self._named(hashlib.sha256(model).hexdigest())
        handle, name = tempfile.mkstemp(".tmp", self._stem(), self.folder)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(model)
            temporary.replace(target)
        except BaseException:
            temporary.unlink()
            raise
        return target

    def _sweep(self) -> None:
        for path in self.folder.glob(f"{self._stem()}*.tmp"):
            # Another process may sweep at the same moment.
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                    path.unlink()

    def _named(self, digest: str) -> Path:
        return self.folder / f"{self._stem()}-{digest}.onnx"

    def _stem(self) -> str:
        weights = MINILM_SHA256[self.files.weights.name][:12]
        return f"all-MiniLM-L6-v2-{weights}-v{_CONVERTER_VERSION}"
