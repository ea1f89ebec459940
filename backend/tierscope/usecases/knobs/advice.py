"""Advice cards: what was advised to whom, by proven gain, then by what is at stake, and what people decided on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from tierscope.core.database import ReadSession
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.pages import Page
from tierscope.domain.fleet.gain import ServiceGain, read_gain
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.knobs import advice as stored
from tierscope.storage.knobs.advice import GroupRow, Kind, Status
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.fleet.tags import read_tagged

__all__ = ["Advice", "AdviceCard", "AdviceDetail", "Decision", "Kind", "Status"]

MAX_NOTE_LENGTH = 500
Decision = Literal["adopted", "dismissed", "open"]


@dataclass(frozen=True, slots=True)
class AdviceCard:
    """One card. `host_id` and `service_id` name the subject where it is one; `hosts` counts those that it concerns."""

    id: str
    kind: Kind
    key: Annotated[str, Described("`ratio`, or the rule of a knob.")]
    title: str
    sentence: str
    host_id: str | None
    service_id: str | None
    subject_name: str
    origin: Origin
    hosts: Annotated[int, Described("Hosts that it concerns.")]
    host_ids: tuple[str, ...]
    advice_ids: Annotated[
        tuple[str, ...], Described("All cards that are shown as this one; a decision on it is one on all.")
    ]
    stake_bytes: Annotated[float | None, Described("Hot bytes outside DRAM and cold bytes in DRAM that it concerns.")]
    gain: Annotated[ServiceGain | None, Described("Of a ratio: what it saves a year.")]
    status: Status
    created_at: datetime
    refreshed_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    note: str | None


@dataclass(frozen=True, slots=True)
class AdviceDetail(AdviceCard):
    """A card that is opened: the answer that it was made from."""

    body: Annotated[Mapping[str, Any], Described("The ratio answer, or the knob advice with what it rests on.")]


class Advice(ClockedUseCase):
    """Cards and decisions."""

    def list(
        self,
        *,
        kind: Kind | None,
        status: Status | None,
        service: str | None,
        host: str | None,
        tags: Sequence[str] = (),
        limit: int,
        cursor: str | None,
    ) -> Page[AdviceCard]:
        """Cards, the highest proven gain first, then the most at stake; what is gone only where it is asked for.

        Raises:
            BadRequest: the cursor is not one of ours, or a tag not `key=value`.
        """
        after = 0 if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._database.read() as session:
            rows = stored.list_groups(
                session,
                kind=kind,
                status=status,
                service=service,
                host=host,
                tagged=read_tagged(session, tags),
                after=after,
                limit=limit + 1,
            )
        more = encode_cursor(after + limit) if len(rows) > limit else None
        return Page(tuple(AdviceCard(**_fields(row)) for row in rows[:limit]), more)

    def read(self, advice_id: str) -> AdviceDetail:
        """One card, opened.

        Raises:
            NotFound: there is no such advice.
        """
        with self._database.read() as session:
            return _detail(session, advice_id)

    def decide(self, advice_id: str, decision: Decision, *, note: str, actor: str) -> AdviceDetail:
        """Record what was decided, for all pieces of the card.

        Raises:
            NotFound: there is no such advice.
            Conflict: it is gone.
            Unprocessable: the note is not acceptable.
        """
        if len(note) > MAX_NOTE_LENGTH or "\0" in note:
            raise Unprocessable(f"the note has at most {MAX_NOTE_LENGTH} characters")
        now = self._clock()
        with self._database.write() as transaction:
            card = _detail(transaction, advice_id)
            if card.status == "gone":
                raise Conflict("this advice no longer holds", next_step="Look at the open cards: GET /v1/advice.")
            stored.decide_advice(transaction, card.advice_ids, decision, actor=actor, note=note, now=now)
            detail = {"decision": decision, "note": note, "title": card.title, "advice_ids": list(card.advice_ids)}
            append_audit(transaction, AuditRow(now, actor, "advice.decide", advice_id, detail))
            return _detail(transaction, advice_id)


def _detail(session: ReadSession, advice_id: str) -> AdviceDetail:
    row = stored.find_group(session, advice_id)
    if row is None:
        raise NotFound(f"there is no advice {advice_id[:80]!r}", next_step="List it with GET /v1/advice.")
    return AdviceDetail(**_fields(row), body=stored.read_body(session, advice_id).get("answer") or {})


def _fields(row: GroupRow) -> dict[str, Any]:
    """What a card shows of a group."""
    hosts = len(row.host_ids)
    return {
        "id": row.advice_ids[0],
        "kind": row.kind,
        "key": row.key,
        "title": row.title,
        "sentence": row.sentence or row.title,
        "host_id": row.host_ids[0] if hosts == 1 else None,
        "service_id": row.service_ids[0] if len(row.service_ids) == 1 else None,
        "subject_name": _name(row),
        "origin": row.origin,
        "hosts": hosts,
        "host_ids": row.host_ids,
        "advice_ids": row.advice_ids,
        "stake_bytes": row.stake_bytes,
        "gain": None if row.gain is None else read_gain(row.gain),
        "status": row.status,
        "created_at": row.created_at,
        "refreshed_at": row.refreshed_at,
        "expires_at": row.expires_at,
        "decided_by": row.decided_by,
        "decided_at": row.decided_at,
        "note": row.note,
    }


def _name(row: GroupRow) -> str:
    if not row.host_ids:
        return row.service_names[0] if row.service_names else ""
    if len(row.host_ids) == 1:
        return row.host_names[0]
    of = f" of {', '.join(row.service_names)}" if row.service_names else ""
    return f"{len(row.host_ids)} hosts{of}"
