"""Stored tiles of a service on one host in the JSON of `damo record`, for `damo report`."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tierscope.core.errors import BadRequest, NotFound, Unprocessable
from tierscope.domain.base.words import number_text
from tierscope.domain.tiles.damo_records import Record, most_active, record_of_tiles
from tierscope.domain.tiles.levels import Scale
from tierscope.storage.base.subjects import hosts_by_id
from tierscope.storage.tiles.damo_records import write_damo_records
from tierscope.storage.tiles.grids import list_epochs, tile_spans
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.tiles.reads import pick_host
from tierscope.usecases.tiles.sources import collect_intervals

_SHARE = "active_share"
_PLACED = (
    "Where mappings lay on the host is not stored: they stand one after another, each from a multiple of 2 MiB. Checks"
    " are in hundredths of an interval."
)


@dataclass(frozen=True, slots=True)
class TileRecords:
    """Records of the process groups of a service on a host, one target each, with the groups' names by target."""

    host: str
    records: tuple[Record, ...]
    targets: tuple[tuple[int, str], ...]
    notes: tuple[str, ...]

    def pack(self) -> bytes:
        """All of them as damo writes them by default: compressed.

        Raises:
            Unprocessable: they have too many regions.
        """
        body = BytesIO()
        try:
            write_damo_records(self.records, body, compressed=True)
        except ValueError as error:
            raise too_long(error) from error
        return body.getvalue()


class TileRecordReads(ContextUseCase):
    """Tiles as records of damo."""

    def read(
        self, service_id: str, *, host: str | None, group: str | None, from_: str | None, to: str | None
    ) -> TileRecords:
        """All single intervals of the window; `group` None for all process groups.

        Raises:
            NotFound: no such service; no tiles of that host or group in the window.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        records, notes = [], []
        with self._context.database.read() as session:
            service = require_service(session, service_id)
            hosts = hosts_by_id(session, list(tile_spans(session, service.id, window.start, window.end)))
            chosen = pick_host(hosts, host)
            epochs = list_epochs(session, service.id, chosen.id, window.start, window.end)
            names = sorted({epoch.group_name for epoch in epochs if group in (None, epoch.group_name)})
            if not names:
                raise NotFound(
                    f"there are no tiles of group {group!r} in the window",
                    next_step="Leave out the group, or ask for longer.",
                )
            for target, name in enumerate(names):
                own = [epoch for epoch in epochs if epoch.group_name == name]
                rows, columns, told = collect_intervals(session, service.id, own, None, window)
                scale = Scale(own[0].cell_log2_base, own[0].cell_unit)
                full = 1.0
                if own[0].cell_measure != _SHARE:
                    full = most_active(columns, scale)
                    greatest = f"{number_text(full)} {own[0].cell_measure}"
                    notes.append(f"Group {name}: 100 checks are its greatest activity, {greatest}.")
                records.append(record_of_tiles(rows, columns, own[0].interval_ns, scale, full, target))
                notes += told
        return TileRecords(chosen.name, tuple(records), tuple(enumerate(names)), (_PLACED, *dict.fromkeys(notes)))


def write_records(records: Iterable[Record], target: Path, *, compressed: bool) -> int:
    """Write records into a file, whole or not at all, and return the number of regions.

    Raises:
        BadRequest: `target` cannot be written.
        Unprocessable: they have too many regions.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        try:
            with partial.open("wb") as file:
                regions = write_damo_records(records, file, compressed=compressed)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise BadRequest(
            f"{target} cannot be written: {error.strerror}", next_step="Name a file in a directory of yours."
        ) from error
    except ValueError as error:
        raise too_long(error) from error
    return regions


def too_long(error: ValueError) -> Unprocessable:
    """For records with more regions than a file may have."""
    return Unprocessable(str(error), next_step="Export a shorter recording or window.")
