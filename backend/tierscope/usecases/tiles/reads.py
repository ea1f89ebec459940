"""Reads of heat tiles: activity of one process group on one host by time and address region."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound
from tierscope.domain.base.figures import Origin, Window
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, PAGE_KINDS
from tierscope.domain.tiles.grid import Grid, build_grid
from tierscope.domain.tiles.levels import Scale
from tierscope.domain.tiles.rows import Row
from tierscope.storage.base.subjects import SubjectHost, SubjectService, hosts_by_id
from tierscope.storage.tiles.grids import EpochInWindow, list_epochs, tile_spans
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.tiles.sources import Collected, collect_columns

_EPOCH_BITS = 2**64


@dataclass(frozen=True, slots=True)
class TileRow:
    """One row of the grid: a stretch of a mapping, or of neighbouring ones where rows are merged."""

    kind: PageKind
    mapping: str
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TileGrid:
    """A grid of cells by row. Codes: 0 idle, 1-250 log scale, 253 unsampled, 254 not resident, 255 not collected."""

    service_id: str
    host_id: str
    group: str
    origin: Origin
    backend: str
    granularity: str
    window: Window
    level: int
    column_seconds: float
    column_ends: tuple[float, ...]
    epoch_ids: tuple[str, ...]
    region_bytes: int
    rows_per_cell: int
    cell_measure: str
    cell_unit: float
    cell_log2_base: float
    rows: tuple[TileRow, ...]
    cells: tuple[tuple[int, ...], ...]
    known_share: tuple[float, ...]
    groups: tuple[str, ...]
    hosts: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackedGrid:
    """A grid whose cells stand apart, one byte each, row by row: a day has more than a million."""

    header: TileGrid
    cells: bytes

    def unpack(self) -> TileGrid:
        """The grid with its cells in it."""
        width = len(self.header.column_ends)
        rows = (self.cells[at : at + width] for at in range(0, len(self.cells), max(1, width)))
        return replace(self.header, cells=tuple(tuple(row) for row in rows))


class TileReads(ContextUseCase):
    """Grids of tiles."""

    def grid(
        self,
        service_id: str,
        *,
        host: str | None,
        group: str | None,
        kind: str | None,
        from_: str | None,
        to: str | None,
        max_rows: int,
        max_columns: int,
    ) -> PackedGrid:
        """The newest list of rows in the window and its past, as a grid of at most `max_rows` by `max_columns`.

        Raises:
            NotFound: no such service; no tiles of that host or group in the window.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            hosts = _list_hosts(session, service, window)
            if not hosts and host is None and group is None:
                return PackedGrid(_nothing(service, window), b"")
            of_host = list_epochs(session, service.id, pick_host(hosts, host).id, window.start, window.end)
            of_group = _pick_group(of_host, group)
            found = collect_columns(session, service.id, of_group, kind, window, max_columns=max_columns)
        newest = of_group[0]
        grid = build_grid(
            found.columns,
            np.array([size for _, _, _, size in found.rows], np.float64),
            found.shape,
            scale=Scale(newest.cell_log2_base, newest.cell_unit),
            max_rows=max_rows,
            before=found.merged,
        )
        view = _view(service, hosts, of_host, found=found, grid=grid, window=window)
        return PackedGrid(view, np.ascontiguousarray(grid.cells.T).tobytes())


def _list_hosts(session: ReadSession, service: SubjectService, window: Window) -> list[SubjectHost]:
    """Hosts with tiles: those whose columns span most of the window first, in quarters of it, then by name.

    So the order does not change with every column that arrives, nor while the window moves.
    """
    spans = tile_spans(session, service.id, window.start, window.end)

    def quarters(host: SubjectHost) -> int:
        first, last = spans[host.id]
        return round(4 * (last - first).total_seconds() / window.seconds)

    return sorted(hosts_by_id(session, list(spans)), key=quarters, reverse=True)


def pick_host(hosts: Sequence[SubjectHost], wanted: str | None) -> SubjectHost:
    """The host asked for, by default the first: of those whose tiles span most of the window the first by name."""
    found = [host for host in hosts if wanted in (None, host.public_id)]
    if not found:
        raise _no_tiles("" if wanted is None else f" of host {wanted}")
    return found[0]


def _pick_group(epochs: Sequence[EpochInWindow], wanted: str | None) -> list[EpochInWindow]:
    """Epochs of the group, newest first; by default of the group with most bytes in its newest epoch."""
    if wanted is None and epochs:
        newest = {epoch.group_name: epoch.bytes for epoch in reversed(epochs)}
        wanted = max(newest, key=lambda name: newest[name])
    found = [epoch for epoch in epochs if epoch.group_name == wanted]
    if not found:
        raise _no_tiles("" if wanted is None else f" of group {wanted!r}")
    return found


def _no_tiles(what: str) -> NotFound:
    return NotFound(f"there are no tiles{what} in the window", next_step="Leave out host and group, or ask for longer.")


def _view(
    service: SubjectService,
    hosts: Sequence[SubjectHost],
    of_host: Sequence[EpochInWindow],
    *,
    found: Collected,
    grid: Grid,
    window: Window,
) -> TileGrid:
    epoch = found.epochs[0]
    notes = list(found.notes)
    if grid.rows_per_cell > 1:
        notes.append(f"{grid.rows_per_cell} neighbouring rows make one cell.")
    return TileGrid(
        service_id=service.public_id,
        host_id=next(host.public_id for host in hosts if host.id == epoch.host_id),
        group=epoch.group_name,
        origin=service.origin,
        backend=_name(BACKENDS, epoch.backend),
        granularity=_name(GRANULARITIES, epoch.granularity),
        window=window,
        level=grid.level,
        column_seconds=grid.column_seconds,
        column_ends=grid.column_ends_s,
        epoch_ids=tuple(f"{used.epoch_id % _EPOCH_BITS:016x}" for used in found.epochs),
        region_bytes=epoch.region_bytes,
        rows_per_cell=grid.rows_per_cell,
        cell_measure=epoch.cell_measure,
        cell_unit=epoch.cell_unit,
        cell_log2_base=epoch.cell_log2_base,
        rows=tuple(_merge_rows(found.rows, grid.rows_per_cell)),
        cells=(),
        known_share=grid.known,
        groups=tuple(sorted({other.group_name for other in of_host})),
        hosts=tuple(host.public_id for host in hosts),
        notes=tuple(notes),
    )


def _merge_rows(rows: Sequence[Row], per_cell: int) -> list[TileRow]:
    merged = []
    for at in range(0, len(rows), per_cell):
        some = rows[at : at + per_cell]
        names = list(dict.fromkeys(mapping for _, mapping, _, _ in some))
        name = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        kind, _, offset, _ = some[0]
        merged.append(TileRow(PAGE_KINDS[kind - 1], name, offset, sum(size for _, _, _, size in some)))
    return merged


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else "unknown"


def _nothing(service: SubjectService, window: Window) -> TileGrid:
    """An empty grid: nobody measured tiles of this service in the window."""
    return TileGrid(
        service_id=service.public_id,
        host_id="",
        group="",
        origin=service.origin,
        backend="none",
        granularity="none",
        window=window,
        level=0,
        column_seconds=60.0,
        column_ends=(),
        epoch_ids=(),
        region_bytes=0,
        rows_per_cell=1,
        cell_measure="none",
        cell_unit=1.0,
        cell_log2_base=2.0,
        rows=(),
        cells=(),
        known_share=(),
        groups=(),
        hosts=(),
        notes=("No tiles were collected for this service in the window.",),
    )
