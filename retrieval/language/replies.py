"""Reads what a language model was asked to say in JSON."""

import json
from typing import TypeVar

from pydantic import BaseModel

from retrieval.language.protocol import LanguageModel, LanguageModelNonsenseError

R = TypeVar("R", bound=BaseModel)


async def ask(
    model: LanguageModel,
    name: str,
    system: str,
    user: str,
    reply: type[R],
    *,
    timeout_s: float,
    max_tokens: int,
) -> tuple[R, int]:
    """Return a model's reply and what it cost; one that is not as asked for is an error."""
    completion = await model.complete(
        name,
        system,
        user,
        timeout_s=timeout_s,
        max_tokens=max_tokens,
        check=lambda text: read_reply(reply, text),
    )
    return read_reply(reply, completion.text), completion.tokens


def read_reply(reply: type[R], text: str) -> R:
    """Return the JSON object in a text: models like to say something before and after it."""
    start = text.find("{")
    try:
        said, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else (None, 0)
        return reply.model_validate(said)
    except (ValueError, RecursionError) as error:
        what = "no JSON object" if isinstance(error, json.JSONDecodeError) else "not as asked for"
        raise LanguageModelNonsenseError(f"The language model's reply is {what}.") from error
