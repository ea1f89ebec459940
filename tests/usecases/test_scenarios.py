"""Stored scenarios: as written, changed only from the version that was read, gone with a trace."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unprocessable, UnreadableScenario
from tierscope.usecases.tco.scenario_files import write_scenario
from tierscope.usecases.tco.scenarios import Scenarios, starting_point

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SPEC = starting_point().spec


@pytest.fixture
def store(database_url: str) -> Iterator[Scenarios]:
    with closing(Database(database_url)) as opened:
        yield Scenarios(opened)


def test_a_file_is_kept_as_written_and_values_as_a_file(store: Scenarios) -> None:
    written = "# from the buyer\n" + write_scenario(SPEC)
    kept = store.create(name=None, spec=None, yaml=written, actor="ann")
    assert (kept.yaml, kept.spec, kept.version) == (written, SPEC, 1)
    assert store.show(kept.id) == kept
    made = store.create(name="another", spec=SPEC, yaml=None, actor="bob")
    assert (made.name, made.spec.name, made.created_by) == ("another", "another", "bob")
    assert "name: another" in made.yaml
    assert [item.name for item in store.list(limit=10, cursor=None).items] == ["another", SPEC.name]


def test_a_change_from_an_old_version_is_refused(store: Scenarios) -> None:
    made = store.create(name=None, spec=SPEC, yaml=None, actor="ann")
    grown = SPEC.model_copy(update={"description": "grown"})
    changed = store.change(made.id, version=1, spec=grown, yaml=None, actor="bob")
    assert (changed.version, changed.changed_by, changed.spec.description) == (2, "bob", "grown")
    with pytest.raises(Conflict, match="version 2 by now, changed by bob"):
        store.change(made.id, version=1, spec=SPEC, yaml=None, actor="ann")
    assert store.show(made.id).spec.description == "grown"
    assert store.change(made.id, version=2, spec=None, yaml=write_scenario(SPEC), actor="ann").version == 3


def test_a_request_sent_again_stores_once(store: Scenarios) -> None:
    first = store.create(name="a", spec=SPEC, yaml=None, actor="ann", idempotency_key="k")
    assert store.create(name="a", spec=SPEC, yaml=None, actor="ann", idempotency_key="k") == first
    with pytest.raises(Conflict, match="other content"):
        store.create(name="b", spec=SPEC, yaml=None, actor="ann", idempotency_key="k")
    assert len(store.list(limit=10, cursor=None).items) == 1
    store.delete(first.id, actor="ann")
    with pytest.raises(NotFound):
        store.create(name="a", spec=SPEC, yaml=None, actor="ann", idempotency_key="k")


def test_pages_follow_each_other(store: Scenarios) -> None:
    for number in range(5):
        store.create(name=f"s{number}", spec=SPEC, yaml=None, actor="ann")
    first = store.list(limit=3, cursor=None)
    second = store.list(limit=3, cursor=first.next_cursor)
    assert [item.name for item in (*first.items, *second.items)] == ["s4", "s3", "s2", "s1", "s0"]
    assert second.next_cursor is None


def test_what_is_not_there_or_cannot_be_read_is_said(store: Scenarios) -> None:
    with pytest.raises(NotFound):
        store.show("t0")
    with pytest.raises(NotFound):
        store.change("t0", version=1, spec=SPEC, yaml=None, actor="ann")
    with pytest.raises(NotFound):
        store.delete("t0", actor="ann")
    with pytest.raises(Unprocessable, match="either as"):
        store.create(name=None, spec=None, yaml=None, actor="ann")
    with pytest.raises(UnreadableScenario, match="baseline: Field required"):
        store.create(name=None, spec=None, yaml="name: x", actor="ann")
    made = store.create(name=None, spec=SPEC, yaml=None, actor="ann")
    store.delete(made.id, actor="ann")
    with pytest.raises(NotFound):
        store.show(made.id)
