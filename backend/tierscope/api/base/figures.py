"""What bodies that people send are made of, and the answer to a request that fails."""

from pydantic import BaseModel, ConfigDict

MAX_COUNT = 2**31 - 1
"""The largest count, version or number of seconds that a stored integer holds."""


class Model(BaseModel):
    """Base of all request and response bodies: unknown fields are refused, nothing has a hidden default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Model):
    """RFC 9457 problem details: the cause and the next step."""

    type: str
    title: str
    status: int
    detail: str
    next_step: str
    instance: str | None = None
