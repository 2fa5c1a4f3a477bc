"""The models: the embedder, and the language model if there is one."""

import asyncio
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from memstream.doctor.finding import Finding, fail, ok
from memstream.embedded.process import PartError
from memstream.parts import open_configured_embedder, open_language_model
from memstream.settings import Settings
from retrieval.embedding import Embedder, EmbedderError
from retrieval.embedding.minilm import load_minilm
from retrieval.embedding.model_cache import ModelCache
from retrieval.embedding.weights import installed_model
from retrieval.language import LanguageModel, LanguageModelError

EMBEDDER: Final = "embedder"
MODEL: Final = "language model"
ANSWER_S: Final = 5.0

_REFUSED: Final = re.compile(r"answered 40[13]\b")
_MINILM_REMEDY: Final = "`rm -r .venv`, then `make setup`; or choose another MEMSTREAM_EMBEDDER"


async def examine_embedder(settings: Settings) -> Sequence[Finding]:
    """Tell whether texts can be embedded."""
    chosen = settings.embedder
    if chosen == "none":
        return [ok(EMBEDDER, "none is wanted: everything is found by words, nothing by meaning")]
    if chosen == "onnx":
        return [await _minilm(settings)]
    if chosen.startswith("sentence-transformers:"):
        # To load it takes longer than anyone waits for a doctor, and may download it.
        if find_spec("sentence_transformers"):
            return [ok(EMBEDDER, f"{chosen} is loaded at the start")]
        remedy = "`uv sync --extra sentence-transformers`, or choose another MEMSTREAM_EMBEDDER"
        return [fail(EMBEDDER, "sentence-transformers is not installed", remedy)]
    try:
        embedder = await open_configured_embedder(settings)
    except EmbedderError as error:
        wrong = "_API_KEY" if _REFUSED.search(str(error)) else ""
        return [fail(EMBEDDER, str(error), f"start it, or correct MEMSTREAM_EMBEDDER{wrong}")]
    return [await _embeds(embedder)]


async def _minilm(settings: Settings) -> Finding:
    """Tell whether MiniLM is whole; to convert it is left to who needs it."""
    folder = settings.data_dir / "models"
    try:
        files = installed_model()
        if await asyncio.to_thread(ModelCache(folder, files).sound_file) is None:
            every = (files.weights, files.tokenizer, files.config)
            await asyncio.to_thread(files.check, *every)
            return ok(EMBEDDER, "MiniLM is whole, and is converted at the first start")
        return await _embeds(await asyncio.to_thread(load_minilm, folder, _say_nothing))
    except EmbedderError as error:
        return fail(EMBEDDER, str(error), _MINILM_REMEDY)


async def _embeds(embedder: Embedder | None) -> Finding:
    assert embedder is not None
    try:
        vectors = await embedder.embed(["a memory"])
    finally:
        await embedder.close()
    return ok(EMBEDDER, f"{embedder.name}, {vectors.shape[1]} dimensions")


async def examine_language_model(settings: Settings) -> Sequence[Finding]:
    """Tell whether each of the models answers a word, asked as the service asks."""
    if settings.llm_base_url is None:
        return [ok(MODEL, "none is wanted: questions are taken apart by rules")]
    try:
        model = open_language_model(settings)
    except PartError as error:
        return [fail(MODEL, str(error), "correct MEMSTREAM_LLM_BASE_URL")]
    assert model is not None
    names = dict.fromkeys([settings.root_model or "", settings.sub_call_model or ""])
    try:
        return await asyncio.gather(*(_answers(model, name) for name in names))
    finally:
        await model.close()


async def _answers(model: LanguageModel, name: str) -> Finding:
    try:
        await model.complete(
            name, "Answer with one word.", "Are you there?", timeout_s=ANSWER_S, max_tokens=8
        )
    except LanguageModelError as error:
        remedy = "start it, or correct MEMSTREAM_LLM_BASE_URL and the names of the models"
        if _REFUSED.search(str(error)):
            remedy = "correct MEMSTREAM_LLM_API_KEY"
        return fail(MODEL, f"{name}: {error}", remedy)
    return ok(MODEL, f"{name} answers")


def _say_nothing(_: str) -> None:
    return None
