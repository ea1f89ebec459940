"""Starting, cancelling, resuming and removing sweeps. Workers do the rest."""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import BadRequest, Conflict, NotFound, Unprocessable
from tierscope.domain.base.figures import Window
from tierscope.domain.simulate import WORKLOADS, SettingsError, find_workload
from tierscope.domain.simulate.sweep import SweepRun
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.base.subjects import find_host
from tierscope.storage.curve.page_samples import newest_sample
from tierscope.storage.simulate import sweeps as stored
from tierscope.storage.simulate.sweeps import SweepRow
from tierscope.storage.simulate.trace_uploads import find_upload
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.repeated_requests import made_before, note_made
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_instant
from tierscope.usecases.simulate.progress import view_sweep
from tierscope.usecases.simulate.samples import MAX_TOUCHED, choose_samples
from tierscope.usecases.simulate.spec import NewSweep, StoredSource, StoredSpec, SweepSourceRequest
from tierscope.usecases.simulate.views import Sweep

SPAN = timedelta(days=1)
MAX_OPEN = 20
MAX_WORK = 5_000_000_000
"""Touched pages that one sweep replays: some minutes of one core, up to half an hour."""
MAX_CELLS = 12_000_000
"""Pages x intervals of a workload: a worker needs about 100 bytes for each while it is made."""


class SweepWrites(ClockedUseCase):
    """Starts and ends of sweeps."""

    def create(self, new: NewSweep, *, actor: str, idempotency_key: str | None = None) -> Sweep:
        """Store a sweep with a task for each policy; the same key with the same content stores it once.

        Raises:
            BadRequest: a policy, share, setting or time cannot be.
            NotFound: there is no such service, host, workload or trace.
            Unprocessable: there is too little or too much to replay.
            Conflict: too many sweeps wait already, or the key was used for something else.
        """
        if "\0" in new.name:
            raise Unprocessable("a name is text without NUL characters")
        now = self._clock()
        public_id = "w" + secrets.token_hex(8)
        content = ["sweep", asdict(new)]
        with self._database.write() as transaction:
            before = made_before(transaction, actor=actor, key=idempotency_key, content=content)
            if before is not None:
                return _view(transaction, before)
            if stored.count_open_sweeps(transaction) >= MAX_OPEN:
                raise Conflict(
                    f"{MAX_OPEN} sweeps wait or run, which is the most there may be",
                    next_step="Wait for one of them, or cancel it.",
                )
            source, ids, touched = self._find_source(transaction, new.source)
            spec = StoredSpec.of(new, source)
            runs = _expand(spec)
            _check_work(touched * (2 if source.kind == "service" else 1), runs)
            values = {
                "public_id": public_id,
                "name": new.name,
                "spec": spec.document(),
                "author": actor,
                "created_at": now,
                **ids,
            }
            stored.insert_sweep(transaction, values, Counter(run.policy for run in runs))
            detail = {"name": new.name, "source": source.name, "runs": len(runs)}
            append_audit(transaction, AuditRow(now, actor, "sweep.create", public_id, detail))
            note_made(transaction, actor=actor, key=idempotency_key, content=content, made=public_id)
        return self._show(public_id)

    def cancel(self, sweep_id: str, *, actor: str) -> Sweep:
        """Stop a sweep between its runs. One that has ended stays as it is.

        Raises:
            NotFound: there is no such sweep.
        """
        now = self._clock()
        with self._database.write() as transaction:
            row = _require(transaction, sweep_id)
            if row.status in ("queued", "running"):
                stored.cancel_sweep(transaction, row.id, now)
                append_audit(transaction, AuditRow(now, actor, "sweep.cancel", sweep_id, {"name": row.name}))
        return self._show(sweep_id)

    def resume(self, sweep_id: str, *, actor: str) -> Sweep:
        """Let cancelled and failed policies go on; finished runs are not repeated.

        Raises:
            NotFound: there is no such sweep.
            Conflict: nothing of it was cancelled or failed, or too many sweeps wait already.
        """
        now = self._clock()
        with self._database.write() as transaction:
            row = _require(transaction, sweep_id)
            if not any(task.status in ("cancelled", "failed") for task in row.tasks):
                raise Conflict(f"the sweep is {row.status}: nothing of it was cancelled or failed")
            if stored.count_open_sweeps(transaction) >= MAX_OPEN:
                raise Conflict(f"{MAX_OPEN} sweeps wait or run, which is the most there may be")
            stored.resume_sweep(transaction, row.id)
            append_audit(transaction, AuditRow(now, actor, "sweep.resume", sweep_id, {"name": row.name}))
        return self._show(sweep_id)

    def delete(self, sweep_id: str, *, actor: str) -> None:
        """Remove a sweep with its results; a worker that is at it stops.

        Raises:
            NotFound: there is no such sweep.
        """
        now = self._clock()
        with self._database.write() as transaction:
            row = _require(transaction, sweep_id)
            stored.delete_sweep(transaction, row.id)
            append_audit(transaction, AuditRow(now, actor, "sweep.delete", sweep_id, {"name": row.name}))

    def _show(self, sweep_id: str) -> Sweep:
        with self._database.read() as session:
            return _view(session, sweep_id)

    def _find_source(
        self, session: ReadSession, asked: SweepSourceRequest
    ) -> tuple[StoredSource, dict[str, int | None], int]:
        """The source, the numbers of what it is of, and the touched pages that one replay works through."""
        if asked.kind == "service":
            return self._find_service(session, asked)
        if asked.kind == "upload":
            upload = find_upload(session, asked.upload_id or "")
            if upload is None:
                raise NotFound(f"there is no uploaded trace {(asked.upload_id or '')[:80]!r}")
            source = StoredSource("upload", upload.name, upload_id=upload.public_id)
            return source, {"upload_id": upload.id}, upload.holds.touched_pages
        return _find_workload(asked)

    def _find_service(
        self, session: ReadSession, asked: SweepSourceRequest
    ) -> tuple[StoredSource, dict[str, int | None], int]:
        service = require_service(session, asked.service_id or "")
        host = None if asked.host_id is None else find_host(session, asked.host_id)
        if asked.host_id is not None and host is None:
            raise NotFound(f"there is no host {asked.host_id[:80]!r}")
        host_id = None if host is None else host.id
        window = self._window(session, service.id, host_id, asked)
        chosen = choose_samples(session, service.id, window, host_id=host_id)
        lacking = "There are no page samples in the window." if chosen is None else chosen.missing()
        if chosen is None or lacking is not None:
            raise Unprocessable(
                lacking or "", next_step="GET /v1/simulator/sources says which hosts sampled pages, and when."
            )
        if chosen.touched > MAX_TOUCHED:
            raise Unprocessable(
                f"the page samples hold {chosen.touched} touched pages; {MAX_TOUCHED} are the most that are replayed",
                next_step="Choose a shorter window, or one host.",
            )
        name = f"{service.namespace}/{service.name}" + ("" if host is None else f" on {host.name}")
        source = StoredSource(
            "service",
            name,
            service_id=service.public_id,
            host_id=None if host is None else host.public_id,
            start=window.start,
            end=window.end,
        )
        return source, {"service_id": service.id, "host_id": host_id}, chosen.touched

    def _window(self, session: ReadSession, service_id: int, host_id: int | None, asked: SweepSourceRequest) -> Window:
        """The window asked for; without one, the day up to the newest sample."""
        now = self._clock()
        newest = newest_sample(session, service_id, host_id) or now
        end = newest if asked.to is None else parse_instant(asked.to, now=now)
        start = end - SPAN if asked.from_ is None else parse_instant(asked.from_, now=now)
        if start >= end:
            raise BadRequest(f"the window is empty: from {start.isoformat()} to {end.isoformat()}")
        return Window(start, end)


def _find_workload(asked: SweepSourceRequest) -> tuple[StoredSource, dict[str, int | None], int]:
    try:
        name = find_workload(asked.workload or "")
    except ValueError as error:
        raise NotFound(
            f"there is no workload {(asked.workload or '')[:80]!r}", next_step=f"Choose one of {', '.join(WORKLOADS)}."
        ) from error
    source = StoredSource(
        "workload", WORKLOADS[name].label, workload=name, pages=asked.pages, intervals=asked.intervals
    )
    pages, intervals = source.workload_size
    if pages * intervals > MAX_CELLS:
        raise Unprocessable(
            f"{pages} pages over {intervals} intervals are more than {MAX_CELLS} pages x intervals",
            next_step="Ask for fewer of one of them.",
        )
    return source, {}, pages * intervals


def _expand(spec: StoredSpec) -> tuple[SweepRun, ...]:
    try:
        _ = spec.conditions(1.0)
        return spec.runs()
    except SettingsError as error:
        raise BadRequest(
            str(error), next_step="GET /v1/simulator/policies lists policies with their settings."
        ) from error
    except ValueError as error:
        raise BadRequest(str(error)) from error


def _check_work(touched: int, runs: Sequence[SweepRun]) -> None:
    if touched * len(runs) > MAX_WORK:
        raise Unprocessable(
            f"{len(runs)} runs of {touched} touched pages are {touched * len(runs)}; {MAX_WORK} are the most",
            next_step="Ask for fewer runs, a shorter window or a smaller trace.",
        )


def _view(session: ReadSession, sweep_id: str) -> Sweep:
    row = stored.find_sweep(session, sweep_id)
    if row is None:
        raise NotFound(f"there is no sweep {sweep_id[:80]!r}")
    return view_sweep(row)


def _require(transaction: WriteTransaction, sweep_id: str) -> SweepRow:
    row = stored.find_sweep(transaction, sweep_id, lock=True)
    if row is None:
        raise NotFound(f"there is no sweep {sweep_id[:80]!r}", next_step="List sweeps with GET /v1/sweeps.")
    return row
