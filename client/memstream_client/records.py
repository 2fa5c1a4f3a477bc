"""What every message is made of: frozen records, and the limits of their fields."""

import json
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from memstream_client.errors import InvalidRequestError, RequestError, TooLargeError

MAX_LIMIT: Final = 100
MAX_JSON_BYTES: Final = 16 * 1024
MAX_SHOWN_CHARACTERS: Final = 100
"""Of what was got, in a complaint: enough to recognise it."""

_TOO_LARGE: Final = frozenset({"string_too_long", "too_long", "json_too_large"})
_NO_CONTROL_CHARACTERS: Final = r"^[^\u0000-\u001f\u007f-\u009f]*$"
_NO_NUL: Final = r"^[^\u0000]*$"
_PATTERNS: Final = {
    _NO_CONTROL_CHARACTERS: "should have no control characters",
    _NO_NUL: "should not contain U+0000",
}

Layer = Literal["agent", "user", "session", "project", "team", "org", "company"]
Kind = Literal["fact", "rule", "episode"]
Mode = Literal["hybrid", "semantic", "keyword"]
Fusion = Literal["auto", "rrf", "weighted"]
Strategy = Literal["exhaustive", "targeted", "semantic-only"]


def _bounded(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    except UnicodeEncodeError:
        raise PydanticCustomError("surrogate", "should not contain lone surrogates") from None
    if size > MAX_JSON_BYTES:
        raise PydanticCustomError(
            "json_too_large",
            "should have at most {limit} bytes as JSON, not {size}",
            {"limit": MAX_JSON_BYTES, "size": size},
        )
    return value


Identifier = Annotated[str, Field(min_length=1, max_length=256, pattern=_NO_CONTROL_CHARACTERS)]
EchoedIdentifier = Annotated[str, Field(max_length=256, pattern=_NO_CONTROL_CHARACTERS)]
"""An id of a request in its answer; empty when the request was too broken to read it from."""
Query = Annotated[str, Field(min_length=1, max_length=8_192, pattern=_NO_NUL)]
OptionalQuery = Annotated[str, Field(max_length=8_192, pattern=_NO_NUL)]
Content = Annotated[str, Field(min_length=1, max_length=65_536, pattern=_NO_NUL)]
SourcePath = Annotated[str, Field(min_length=1, max_length=4_096, pattern=_NO_NUL)]
UnitInterval = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Moment = AwareDatetime
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_bounded)]
Layers = Annotated[tuple[Layer, ...], Field(min_length=1, strict=False)]
MemoryIds = Annotated[tuple[Identifier, ...], Field(strict=False)]


class Record(BaseModel):
    """An immutable message or part of one; what a newer service adds is ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


R = TypeVar("R", bound=Record)


def called(model: type[R], fields: dict[str, Any]) -> R:
    """Build a record from a call's arguments: a name that it does not know is a mistake."""
    if unknown := fields.keys() - model.model_fields.keys():
        raise TypeError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    return checked(model, fields)


def checked(model: type[R], fields: dict[str, Any]) -> R:
    """Build a record; what the service would refuse raises the error it would answer with."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise _complaint(error) from None


def _complaint(error: ValidationError) -> RequestError:
    faults = error.errors(include_url=False)
    size = all(fault["type"] in _TOO_LARGE for fault in faults)
    kind = TooLargeError if size else InvalidRequestError
    return kind("; ".join(_line(fault) for fault in faults))


def _line(fault: Any) -> str:
    if not fault["loc"]:
        return str(fault["msg"])
    field = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"{field}: missing"
    allowed = _PATTERNS.get(fault.get("ctx", {}).get("pattern"), fault["msg"])
    got = repr(fault["input"])
    shown = got if len(got) <= MAX_SHOWN_CHARACTERS else f"{got[: MAX_SHOWN_CHARACTERS - 1]}…"
    return f"{field}: got {shown}; {allowed[0].lower()}{allowed[1:]}"
