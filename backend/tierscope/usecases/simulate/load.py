"""From what a sweep replays to traces of hosts, with what is to be said of them."""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import Unprocessable
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.curve.page_traces import make_trace
from tierscope.domain.simulate import compile_trace, of_page_trace, of_recording, workload_columns
from tierscope.domain.simulate.bands import Bands, cut_bands
from tierscope.domain.simulate.replay import INTERVAL_SECONDS
from tierscope.domain.simulate.sampled import LEAD_INTERVALS, SampledTrace
from tierscope.domain.simulate.sweep_replay import HostTrace, oracle_ratio
from tierscope.storage.base.subjects import hosts_by_id
from tierscope.storage.curve.page_traces import read_page_trace
from tierscope.storage.simulate.sweeps import SweepRow
from tierscope.storage.simulate.trace_uploads import read_upload
from tierscope.usecases.simulate.samples import ChosenSamples, choose_samples, read_traces
from tierscope.usecases.simulate.spec import StoredSpec

MAX_UPLOAD_ROWS = 10_000_000
NO_INTERVAL = f"The trace does not say how long its intervals are: {INTERVAL_SECONDS:g} s unless interval_s is set."


@dataclass(frozen=True, slots=True)
class Facts:
    """What the traces of a sweep are. `method`: how pages were observed, None of a synthetic workload.

    `sampled_ratio` None where every page is in the trace; `coverage`: observed intervals of the window's, the mean over
    hosts. `oracle`: the bound by DRAM share. `host_name`: whose heat is shown, of several.
    """

    peak_bytes: float
    pages: int
    intervals: int
    interval_s: float
    sampled_ratio: float | None
    n_hosts: int
    n_samples: int
    method: str | None
    coverage: float | None
    oracle: tuple[tuple[float, float | None], ...]
    host_name: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Traces ready to be replayed, and the heat of one of them."""

    traces: tuple[HostTrace, ...]
    facts: Facts
    bands: Bands


def load_source(
    database: Database, row: SweepRow, spec: StoredSpec, *, now: datetime, beat: Callable[[], None] = lambda: None
) -> Loaded:
    """Read what a sweep replays. `beat` is called between parts, and may raise to give up.

    Raises:
        Unprocessable: it is not there any more, or too little of it is.
        RuntimeError: the compiled core is not built.
    """
    try:
        if spec.source.kind == "service":
            with database.read() as session:
                return _load_service(session, row, spec, now, beat)
        if spec.source.kind == "upload":
            with database.read() as session:
                body = None if row.upload_id is None else read_upload(session, row.upload_id)
            if body is None:
                raise Unprocessable("the uploaded trace is not there any more")
            return _load_upload(body, spec)
        return _load_workload(spec)
    except ValueError as error:
        raise Unprocessable(str(error)) from error


def _load_service(
    session: ReadSession, row: SweepRow, spec: StoredSpec, now: datetime, beat: Callable[[], None]
) -> Loaded:
    window = spec.source.window
    assert row.service_id is not None
    assert window is not None
    chosen = choose_samples(session, row.service_id, window, host_id=row.host_id)
    lacking = "The page samples have left the store." if chosen is None else chosen.missing()
    if chosen is None or lacking is not None:
        raise Unprocessable(lacking or "", next_step="Choose a window in which hosts sent more page samples.")
    sampled = read_traces(session, row.service_id, chosen, window, now=now, beat=beat)
    if not sampled:
        raise Unprocessable("none of the hosts has page samples that were observed")
    names = {host.id: host.name for host in hosts_by_id(session, list(sampled))}
    traces = tuple(HostTrace.of_sample(one, lead_intervals=LEAD_INTERVALS) for one in sampled.values())
    shown = max(sampled, key=lambda host: sampled[host].n_pages)
    possible = max(window.seconds / chosen.interval_s, 1.0)
    facts = Facts(
        peak_bytes=sum(trace.trace.peak_units / trace.sampled_ratio for trace in traces)
        / len(traces)
        * MODEL_PAGE_BYTES,
        pages=sum(one.n_pages for one in sampled.values()),
        intervals=max(one.n_intervals for one in sampled.values()),
        interval_s=chosen.interval_s,
        sampled_ratio=math.exp(sum(math.log(one.sampled_ratio) for one in sampled.values()) / len(sampled)),
        n_hosts=len(sampled),
        n_samples=sum(one.n_samples for one in sampled.values()),
        method=chosen.method.family,
        coverage=sum(min(one.n_intervals / possible, 1.0) for one in sampled.values()) / len(sampled),
        oracle=_oracle(traces, spec),
        host_name=names.get(shown) if len(sampled) > 1 else None,
        notes=_notes(chosen, sampled),
    )
    bands = cut_bands(sampled[shown].columns, lead_intervals=LEAD_INTERVALS)
    return Loaded(traces, facts, bands)


def _notes(chosen: ChosenSamples, sampled: dict[int, SampledTrace]) -> tuple[str, ...]:
    notes = [
        "Pages that were there when the window began are placed in random order: their real one is not known.",
        "Hosts are replayed apart and joined: rates are those of the mean host, scaled up from its sampled pages.",
    ]
    if not chosen.counts:
        notes.append(
            "Accessed bits tell whether a page was active in an interval, not how often it was accessed: an active"
            " interval counts as one access, and a hint fault comes after half an interval. Thresholds of hot-page"
            " selection below that promote nothing, on other data they might."
        )
    if chosen.method.is_sampler:
        notes.append("Hardware samples: loads alone are counted, and which pages were written is not known.")
    if chosen.dropped_hosts:
        notes.append(f"{len(sampled)} of {len(sampled) + chosen.dropped_hosts} hosts with page samples were taken.")
    if chosen.others:
        notes.append(f"There are page samples of other back ends, too: {', '.join(chosen.others)}.")
    if any(len(one.numbers) < one.numbers[-1] - one.numbers[0] + 1 for one in sampled.values()):
        notes.append("Stretches that were not observed are cut out: what follows them comes at once.")
    return tuple(notes)


def _load_upload(body: bytes, spec: StoredSpec) -> Loaded:
    with tempfile.TemporaryDirectory(prefix="tierscope-") as folder:
        path = Path(folder) / "trace.parquet"
        path.write_bytes(body)
        recording = read_page_trace(path, max_rows=MAX_UPLOAD_ROWS)
    trace = HostTrace.of_whole(of_recording(recording), page_bytes=recording.page_size_bytes)
    interval, kind, page, loads, stores = recording.rows()
    columns = of_page_trace(
        make_trace(
            intervals=recording.intervals,
            page_size_bytes=recording.page_size_bytes,
            interval=interval,
            kind=kind,
            page=page,
            accesses=loads + stores,
        )
    )
    interval_s = recording.interval_seconds
    notes = (
        "Every page and access of the trace counts; a page is resident from its first access to the end.",
        NO_INTERVAL if interval_s is None else f"The trace says that its intervals take {interval_s:g} s.",
    )
    facts = _whole_facts(trace, spec, "trace", notes, interval_s=interval_s or INTERVAL_SECONDS)
    return Loaded((trace,), facts, cut_bands(columns))


def _load_workload(spec: StoredSpec) -> Loaded:
    pages, intervals = spec.source.workload_size
    columns = workload_columns(spec.source.workload or "", seed=spec.seed or 0, pages=pages, intervals=intervals)
    trace = HostTrace.of_whole(compile_trace(columns))
    notes = ("The workload is synthetic: it stands for a behaviour, and no service was measured.",)
    return Loaded((trace,), _whole_facts(trace, spec, None, notes), cut_bands(columns))


def _whole_facts(
    trace: HostTrace,
    spec: StoredSpec,
    method: str | None,
    notes: tuple[str, ...],
    *,
    interval_s: float = INTERVAL_SECONDS,
) -> Facts:
    return Facts(
        peak_bytes=float(trace.trace.peak_units * trace.page_bytes),
        pages=trace.trace.pages,
        intervals=trace.trace.intervals,
        interval_s=interval_s,
        sampled_ratio=None,
        n_hosts=1,
        n_samples=trace.trace.accesses,
        method=method,
        coverage=None,
        oracle=_oracle((trace,), spec),
        host_name=None,
        notes=notes,
    )


def _oracle(traces: tuple[HostTrace, ...], spec: StoredSpec) -> tuple[tuple[float, float | None], ...]:
    shares = sorted({run.dram_ratio for run in spec.runs()}, reverse=True)
    return tuple((share, oracle_ratio(traces, share)) for share in shares)
