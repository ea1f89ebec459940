"""Owners' own measurements of the slowdown: they update the belief that ratio advice rests on."""

import hashlib
import json
import math
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import AwareDatetime, Field

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import ASKED, Described
from tierscope.domain.slowdown import PREDICTION_STANDARD_ERROR
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.fleet.events import remember_answer, remembered_answer
from tierscope.storage.slowdown import points as stored
from tierscope.storage.slowdown.points import SlowdownPointItem, Source
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import require_service

__all__ = ["SlowdownPointItem", "SlowdownPointRequest", "SlowdownPoints"]

MAX_POINTS = 100
MAX_NOTE_LENGTH = 500
MAX_KEY_LENGTH = 200


@dataclass(frozen=True, slots=True)
class SlowdownPointRequest:
    """A measurement. A prediction of the slowdown on slow memory alone is one at share 1; its error may be left out."""

    __pydantic_config__: ClassVar = ASKED

    share_on_slow: Annotated[float, Described("Share of memory accesses on slow memory, above 0, at most 1.")]
    loss: Annotated[float, Described("Loss of throughput, below 1; zero or less is kept and not used.")]
    loss_standard_error: Annotated[float | None, Field(default=None)]
    source: Annotated[Source, Field(default="ab_test")]
    measured_at: Annotated[AwareDatetime | None, Field(default=None, description="Absent = now.")]
    note: Annotated[str, Field(default="", max_length=MAX_NOTE_LENGTH)]


class SlowdownPoints(ClockedUseCase):
    """Measurements: list, add, remove."""

    def list(self, service_id: str) -> list[SlowdownPointItem]:
        """Measurements of a service, newest first.

        Raises:
            NotFound: there is no such service.
        """
        with self._database.read() as session:
            service = require_service(session, service_id)
            return stored.list_points(session, service.id)

    def create(
        self, service_id: str, point: SlowdownPointRequest, *, actor: str, idempotency_key: str | None
    ) -> SlowdownPointItem:
        """Store a measurement. The same key with the same content gives the first answer again and stores nothing.

        Raises:
            NotFound: there is no such service.
            Unprocessable: a value is not acceptable.
            Conflict: the key was used for something else, or the service has as many measurements as it may.
        """
        point = _checked(point, idempotency_key)
        content = ["slowdown-point", service_id, *map(str, asdict(point).values())]
        digest = hashlib.sha256(json.dumps(content).encode()).digest()
        with self._database.write() as transaction:
            if idempotency_key is not None:
                seen = remembered_answer(transaction, actor=actor, key=idempotency_key, request_hash=digest)
                if seen is not None:
                    return _again(*seen)
            made = self._insert(transaction, service_id, point, actor)
            if idempotency_key is not None and not remember_answer(
                transaction, actor=actor, key=idempotency_key, request_hash=digest, answer=_document(made)
            ):
                raise Conflict("the same Idempotency-Key is being used by another request now")
        return made

    def delete(self, point_id: str, *, actor: str) -> None:
        """Remove a measurement.

        Raises:
            NotFound: there is no such measurement.
        """
        with self._database.write() as transaction:
            gone = stored.take_point(transaction, point_id)
            if gone is None:
                raise NotFound(
                    f"there is no measurement {point_id[:80]!r}",
                    next_step="List them with GET /v1/services/{id}/slowdown-points.",
                )
            row = AuditRow(self._clock(), actor, "slowdown_point.delete", point_id, _document(gone))
            append_audit(transaction, row)

    def _insert(
        self, transaction: WriteTransaction, service_id: str, point: SlowdownPointRequest, actor: str
    ) -> SlowdownPointItem:
        service = require_service(transaction, service_id)
        if stored.count_points(transaction, service.id) >= MAX_POINTS:
            raise Conflict(
                f"the service has {MAX_POINTS} measurements, which is the most it may have",
                next_step="Remove those that newer ones replace.",
            )
        assert point.loss_standard_error is not None
        now = self._clock()
        made = copied(
            SlowdownPointItem,
            point,
            id="m" + secrets.token_hex(8),
            service_id=service.public_id,
            measured_at=point.measured_at or now,
            author=actor,
        )
        stored.insert_point(transaction, service.id, made)
        append_audit(transaction, AuditRow(now, actor, "slowdown_point.create", made.id, _document(made)))
        return made


def _checked(point: SlowdownPointRequest, key: str | None) -> SlowdownPointRequest:
    """The measurement with its error filled in; Unprocessable where a value is not acceptable."""
    if not (math.isfinite(point.share_on_slow) and 0.0 < point.share_on_slow <= 1.0):
        raise Unprocessable(f"the share of accesses on slow memory is above 0 and at most 1, not {point.share_on_slow}")
    if not (math.isfinite(point.loss) and -1.0 < point.loss < 1.0):
        raise Unprocessable(f"a loss is a share of throughput between -1 and 1, not {point.loss}")
    if point.source == "prediction" and point.share_on_slow < 1.0:
        raise Unprocessable("a prediction is of all memory on slow memory: its share of accesses is 1")
    error = point.loss_standard_error
    if error is None and point.source == "prediction":
        error = PREDICTION_STANDARD_ERROR
    if error is None:
        raise Unprocessable(
            "an A/B test needs the standard error of its loss",
            next_step="Take it from the experiment: the standard deviation over hosts divided by the root of their"
            " number.",
        )
    if not (math.isfinite(error) and 0.0 < error < 1.0):
        raise Unprocessable(f"the standard error of a loss is above 0 and below 1, not {error}")
    if point.measured_at is not None and point.measured_at.tzinfo is None:
        raise Unprocessable("the time has no zone")
    if len(point.note) > MAX_NOTE_LENGTH or "\0" in point.note:
        raise Unprocessable(f"the note has at most {MAX_NOTE_LENGTH} characters")
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise Unprocessable(f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters")
    return replace(point, loss_standard_error=error)


def _document(point: SlowdownPointItem) -> dict[str, Any]:
    return {**asdict(point), "measured_at": point.measured_at.isoformat()}


def _again(same: bool, document: dict[str, Any]) -> SlowdownPointItem:  # noqa: FBT001 - a pair read from storage
    if not same:
        raise Conflict("this Idempotency-Key was used with other content", next_step="Use a new key.")
    return SlowdownPointItem(**{**document, "measured_at": datetime.fromisoformat(document["measured_at"])})
