"""MiniLM-L6-v2 on onnxruntime: the embedder of the default install."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from retrieval.embedding.model_cache import ModelCache
from retrieval.embedding.protocol import EmbedderError, Vectors
from retrieval.embedding.token_batches import BatchRules, TokenBatch, token_batches
from retrieval.embedding.vectors import no_rows, well_formed
from retrieval.embedding.weights import ModelFiles, installed_model

# What the model was trained with; the shipped tokenizer says 128 and pads every text to it.
MAX_TOKENS = 256
DIMENSIONS = 384

# Measured on two cores with 200 generated texts, 32 tokens on average: budgets of 256 and 512
# tokens give 232 and 238 texts/s, 1,024 gives 214, 2,048 gives 191 and 4,096 gives 134, as the
# activations outgrow the processor's cache. A batch costs about 1.1 ms + 0.13 ms a token, so eight
# tokens of padding are what another batch would cost; without that rule, calls of 16 mixed texts
# run at 168 texts/s instead of 207.
_RULES = BatchRules(budget=512, padding=8)

# One thread gives 131 texts/s on two free cores, two give 254; more would take cores from the
# agents and the store.
_THREADS = 2


class MiniLM:
    """Embeds texts in one worker thread, which leaves the event loop free."""

    def __init__(self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="minilm")
        self._closed = False

    @property
    def name(self) -> str:
        """The vector space."""
        return "all-MiniLM-L6-v2"

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length per text; what else is in the call does not matter."""
        if self._closed:
            raise EmbedderError("The MiniLM embedder is closed.")
        if not texts:
            return no_rows(DIMENSIONS)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._rows, list(texts))

    async def close(self) -> None:
        """Wait for the worker thread to finish."""
        self._closed = True
        await asyncio.to_thread(self._worker.shutdown)

    def _rows(self, texts: list[str]) -> Vectors:
        # The batch call of the tokenizer, unlike the single one, runs without the interpreter lock.
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(well_formed(texts))]
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for batch in token_batches(tokens, _RULES):
            rows[batch.positions] = self._run(batch)
        return rows

    def _run(self, batch: TokenBatch) -> Vectors:
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        (rows,) = self._session.run(None, inputs)
        return np.asarray(rows, dtype=np.float32)


def load_minilm(
    cache_dir: Path, progress: Callable[[str], None], files: ModelFiles | None = None
) -> MiniLM:
    """Open MiniLM from its installed package, converting it if this was not done before."""
    files = files or installed_model()
    files.check(files.tokenizer)
    path = ModelCache(cache_dir, files).path(progress)
    progress("loading MiniLM")
    return MiniLM(_session(path), _tokenizer(files.tokenizer))


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _THREADS
    options.inter_op_num_threads = 1
    # Threads that spin while they wait answer a query in 2.6 ms instead of 3.3 when both cores are
    # free, but in 8 to 12 ms instead of 5.4, for up to twice the CPU time, when both are busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The memory arena and pattern stay on: 600 mixed texts took 4.5 to 5.0 s of CPU time with them
    # and 5.3 to 5.8 s without, and 256 long texts peaked at 200 to 210 MB of RSS with them and at
    # 242 to 260 MB without. The token budget is what keeps the arena small.
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
