"""Stored rows that cannot be read are quarantined, so that the others work: named, with the reason and a way out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tierscope.core.database import ReadSession
from tierscope.core.errors import TierscopeError
from tierscope.domain.alerts.files import read_rule
from tierscope.domain.alerts.problems import RuleError
from tierscope.domain.base.stored_documents import describe_problem
from tierscope.domain.notifications import stored_routing
from tierscope.storage.notifications.silences import read_stored_matchers
from tierscope.storage.operate.set_aside import Kind, Stamp, StoredBody, read_stamps, read_stored
from tierscope.usecases.reports.schedules import problem_of_body
from tierscope.usecases.simulate.spec import read_spec
from tierscope.usecases.tco.scenario_files import parse_scenario


@dataclass(frozen=True, slots=True)
class SetAside:
    """A stored row that cannot be read; `way_out` removes or replaces it."""

    kind: Kind
    name: str
    reason: str
    way_out: str


class StoredRows:
    """Judges stored rows. Each state of a row is read once in this process."""

    def __init__(self) -> None:
        self._judged: dict[Stamp, SetAside | None] = {}
        self._generation = -1

    def set_aside(self, session: ReadSession, now: datetime) -> list[SetAside]:
        """The rows that cannot be read now, by kind."""
        stamps = read_stamps(session, now)
        known = self._judged if self._generation == session.generation else {}
        new = read_stored(session, [stamp for stamp in stamps if stamp not in known])
        judged = {stamp: known[stamp] for stamp in stamps if stamp in known} | {row.stamp: _judge(row) for row in new}
        self._judged, self._generation = judged, session.generation
        return [found for found in judged.values() if found is not None]


def _judge(row: StoredBody) -> SetAside | None:
    reason = _reason(row)
    if reason is None:
        return None
    kind = row.stamp.kind
    return SetAside(kind, row.name or row.public_id, reason, _WAYS_OUT[kind].format(id=row.public_id))


def _reason(row: StoredBody) -> str | None:
    try:
        return _READERS[row.stamp.kind](row.body)
    except RuleError as error:
        return str(error)
    except TierscopeError as error:
        return error.detail
    except Exception as error:  # noqa: BLE001 - a body may have any shape; whatever reading it brings about is the finding
        return describe_problem(error)


def _rule(body: Any) -> str | None:  # noqa: ANN401 - whatever the database holds
    read_rule(body)
    return None


def _silence(body: Any) -> str | None:  # noqa: ANN401 - likewise
    return read_stored_matchers(body)[1]


def _routes(body: Any) -> str | None:  # noqa: ANN401 - likewise
    return "; ".join(stored_routing.read_stored(body)[1]) or None


def _scenario(body: Any) -> str | None:  # noqa: ANN401 - likewise
    parse_scenario(body)
    return None


def _sweep(body: Any) -> str | None:  # noqa: ANN401 - likewise
    read_spec(body)
    return None


def _mark(body: Any) -> str | None:  # noqa: ANN401 - likewise
    del body
    return "its timestamp is out of range"


_READERS: Mapping[Kind, Callable[[Any], str | None]] = {
    "alert rule": _rule,
    "silence": _silence,
    "alert routes": _routes,
    "scenario": _scenario,
    "sweep": _sweep,
    "report": problem_of_body,
    "mark": _mark,
}
_WAYS_OUT: Mapping[Kind, str] = {
    "alert rule": "DELETE /v1/rules/{id}",
    "silence": "POST /v1/silences/{id}/expire",
    "alert routes": "PUT /v1/alert-routes without it",
    "scenario": "DELETE /v1/scenarios/{id}",
    "sweep": "DELETE /v1/sweeps/{id}",
    "report": "DELETE /v1/reports/{id}",
    "mark": "DELETE /v1/events/{id}",
}
