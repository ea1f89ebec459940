"""Traces that people upload: kept, replayed and removed, and refused by the row that is wrong."""

import io

import pytest

from factories.sampled_services import now
from factories.sweeps import TRACE, reads, start, upload, work_through
from fixtures.elsewhere import long
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.simulate.sources import SimulatorReads
from tierscope.usecases.simulate.uploads import TraceUploads
from tierscope.usecases.simulate.writes import SweepWrites

pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def test_an_uploaded_trace_is_kept_replayed_and_removed(database: Database) -> None:
    upload_id = upload(database, TRACE.read_bytes())
    listed = SimulatorReads(ReadContext(database, now, Settings(_env_file=None))).sources().uploads
    assert [(item.id, item.name, item.bytes) for item in listed] == [(upload_id, "sqlite", TRACE.stat().st_size)]
    view = start(database, {"kind": "upload", "upload_id": upload_id})
    work_through(database)
    found = reads(database).results(view.id)
    assert (found.pages, found.intervals) == (listed[0].pages, listed[0].intervals)
    assert reads(database).show(view.id).status == "done"
    uploads, writes = TraceUploads(database, clock=now), SweepWrites(database, clock=now)
    with pytest.raises(Conflict, match="'a sweep' replays this trace"):
        uploads.delete(upload_id, actor="ann")
    writes.delete(view.id, actor="ann")
    uploads.delete(upload_id, actor="ann")
    with pytest.raises(NotFound):
        uploads.delete(upload_id, actor="ann")
    with pytest.raises(NotFound):
        reads(database).results(view.id)


def parquet(rows: list[tuple[int, int, int, int, str]]) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="pyarrow writes the traces of this test")
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes the traces of this test")
    interval, page, loads, stores, kind = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {
            "interval": pa.array(interval, pa.int32()),
            "page": pa.array(page, pa.uint64()),
            "loads": pa.array(loads, pa.uint32()),
            "stores": pa.array(stores, pa.uint32()),
            "kind": kind,
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([(1, 5, 1, 0, "heap"), (0, 5, 1, 0, "heap")], "row 2"),
        ([(0, 5, 1, 0, "heap"), (0, 5, 1, 0, "wine")], "row 2"),
        ([(0, 1 << 60, 1, 0, "heap")], "row 1"),
        ([(0, 5, 2**32 - 1, 2**32 - 1, "heap")], "row 1"),
    ],
)
def test_bad_traces_are_refused_by_row(
    database: Database, rows: list[tuple[int, int, int, int, str]], cause: str
) -> None:
    with pytest.raises(Unprocessable, match=cause) as raised:
        upload(database, parquet(rows))
    assert "/tmp" not in raised.value.detail
    assert "docs/simulate-json.md" in raised.value.next_step


@long
def test_what_is_no_parquet_and_more_rows_than_the_limit_are_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for body in (b"", b"PAR1 but not really", b"\0" * 1000):
        with pytest.raises(Unprocessable):
            upload(database, body)
    monkeypatch.setattr("tierscope.usecases.simulate.uploads.MAX_UPLOAD_ROWS", 10)
    with pytest.raises(Unprocessable, match="rows"):
        upload(database, TRACE.read_bytes())
    monkeypatch.undo()
    monkeypatch.setattr("tierscope.usecases.simulate.uploads.MAX_UPLOADS", 1)
    upload(database, TRACE.read_bytes())
    with pytest.raises(Conflict, match="the most there may be"):
        upload(database, TRACE.read_bytes())
