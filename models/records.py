"""The rules every record shares: frozen, strict about types, deaf to unknown fields."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable message or part of one."""

    model_config = ConfigDict(
        frozen=True,
        # Newer writers may add fields; an older reader must go on working.
        extra="ignore",
        # "10" is not 10 and true is not 1: guessing would hide a client's mistake from it.
        strict=True,
        # JSON has no NaN or Infinity, so a record holding one could not be sent.
        allow_inf_nan=False,
        # Attribute docstrings are the descriptions in the JSON Schemas and in AsyncAPI.
        use_attribute_docstrings=True,
        # Every field of a record is written, so readers of the schema may count on it.
        json_schema_serialization_defaults_required=True,
    )
