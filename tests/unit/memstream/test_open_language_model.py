"""The language model that the settings name: none, one, or one that is away."""

import asyncio

import pytest

from memstream.embedded.process import PartError
from memstream.parts import open_language_model
from memstream.settings import Settings, load_settings
from retrieval.language import LanguageModelFailedError, LanguageModelOpenError
from tests.language_model import local_language_model


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMSTREAM_{name.upper()}", raising=False)


@pytest.mark.requirement("RX-7")
def test_without_an_endpoint_there_is_none():
    assert open_language_model(load_settings(root_model="large")) is None


@pytest.mark.requirement("RX-7")
async def test_it_asks_the_configured_endpoint_with_its_key():
    async with local_language_model(api_key="sk-secret") as server:
        settings = load_settings(
            llm_base_url=f"{server.url}/v1/", llm_api_key="sk-secret", root_model="large"
        )
        model = open_language_model(settings)
        done = await model.complete(settings.root_model, "", "Who?", timeout_s=20, max_tokens=9)
        await model.close()
        assert (done.text, server.by_model) == ("Who?", {"large": 1})


@pytest.mark.requirement("RR-8")
async def test_one_that_is_away_is_an_error_and_then_not_even_tried(unused_tcp_port):
    address = f"http://127.0.0.1:{unused_tcp_port}"
    model = open_language_model(load_settings(llm_base_url=address, root_model="large"))
    ends = await asyncio.gather(
        *(model.complete("large", "", "Who?", timeout_s=20, max_tokens=9) for _ in range(20)),
        return_exceptions=True,
    )
    assert {type(end) for end in ends} == {LanguageModelFailedError}
    with pytest.raises(LanguageModelOpenError):
        await model.complete("large", "", "Who?", timeout_s=20, max_tokens=9)
    await model.close()


def test_an_address_that_cannot_be_used_is_said():
    with pytest.raises(PartError, match="cannot be used"):
        open_language_model(load_settings(llm_base_url="http://h:port", root_model="large"))
