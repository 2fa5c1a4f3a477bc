"""The server that other tests rely on: told at run time, the same again from a seed."""

import httpx
import pytest

from tests.language_model import Behaviour, local_language_model

MIXTURE = Behaviour(
    "mixture", shares={"fail": 0.1, "close": 0.1, "nonsense": 0.1}, seed=7, text="Yes."
)
BODY = {"model": "small", "messages": [{"role": "user", "content": "Who?"}]}


async def kinds(count: int) -> list[str]:
    async with local_language_model(MIXTURE) as server, httpx.AsyncClient() as client:
        for _ in range(count):
            try:
                async with client.stream("POST", f"{server.url}/v1/chat/completions", json=BODY):
                    pass
            except httpx.TransportError:
                pass
        return [prompt.behaviour for prompt in server.prompts]


async def test_a_mixture_is_the_same_each_time_and_has_its_shares() -> None:
    seen = await kinds(200)
    assert seen == await kinds(200)
    assert 0.6 < seen.count("answer") / 200 < 0.8
    assert {"fail", "close", "not-json", "wrong-shape", "stream", "huge"} < set(seen)


async def test_it_can_be_told_and_asked_while_it_runs() -> None:
    async with local_language_model() as server, httpx.AsyncClient(base_url=server.url) as client:
        told = {"kind": "answer", "answers": {"Who": "Ada."}}
        assert (await client.post("/behaviour", json=told)).is_success
        answer = (await client.post("/v1/chat/completions", json=BODY)).json()
        assert answer["choices"][0]["message"]["content"] == "Ada."
        assert (await client.post("/behaviour", json={"kind": "sing"})).status_code == 400
        assert (await client.post("/behaviour", json={"tune": 1})).status_code == 400
        assert (await client.post("/v1/chat/completions", json={})).status_code == 400
        calls = (await client.get("/calls")).json()
    assert (calls["calls"], calls["by_model"]) == (1, {"small": 1})
    assert calls["prompts"][0]["user"] == "Who?"


async def test_it_answers_by_a_script_and_asks_for_its_key() -> None:
    async with (
        local_language_model(answers=lambda prompt: prompt.model.upper(), api_key="k") as server,
        httpx.AsyncClient(base_url=server.url) as client,
    ):
        assert (await client.post("/v1/chat/completions", json=BODY)).status_code == 401
        key = {"authorization": "Bearer k"}
        answer = await client.post("/v1/chat/completions", json=BODY, headers=key)
        assert answer.json()["choices"][0]["message"]["content"] == "SMALL"


def test_shares_are_shares() -> None:
    with pytest.raises(ValueError, match="not more than 1"):
        Behaviour("mixture", shares={"fail": 0.6, "stall": 0.5})
