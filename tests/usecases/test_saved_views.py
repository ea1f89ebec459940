"""Saved views: whose they are, who sees and changes them, and what they may lead to."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from factories.people import make_user
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, Forbidden, NotFound, Unprocessable
from tierscope.domain.access.permissions import Role
from tierscope.domain.access.views import PAGES, problem_of_address
from tierscope.usecases.access.tokens import ANONYMOUS_CALLER, Caller
from tierscope.usecases.access.views import MAX_VIEWS, SavedViews, ViewRequest

ROUTER = Path(__file__).parents[2] / "frontend" / "src" / "router.tsx"
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
PRIVATE = ViewRequest("hot hosts", "/hosts?q=a%20b&from=-7d", shared=False)
SHARED = ViewRequest("fleet wall", "/", shared=True)
LINK = Caller(kind="session", name="admin", role="admin")


class People:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.views = SavedViews(database)
        self.ann = self._caller("ann", "viewer")
        self.ben = self._caller("ben", "operator")
        self.root = self._caller("root", "admin")

    def _caller(self, name: str, role: Role) -> Caller:
        return Caller(kind="session", name=name, role=role, user_id=make_user(self.database, name, role=role).id)

    def seen_by(self, caller: Caller) -> list[tuple[str, bool]]:
        """Names of the views that a caller sees, and whether they may change them."""
        page = self.views.list(caller=caller, limit=10, cursor=None)
        return [(view.name, view.changeable) for view in page.items]


@pytest.fixture
def people(database_url: str) -> Iterator[People]:
    with closing(Database(database_url)) as database:
        yield People(database)


@native
def test_a_view_is_its_owners_until_it_is_shared(people: People) -> None:
    made = people.views.create(PRIVATE, caller=people.ann)
    assert (made.address, made.created_by, made.changeable) == (PRIVATE.address, "ann", True)
    assert people.seen_by(people.ann) == [("hot hosts", True)]
    assert [people.seen_by(other) for other in (people.ben, people.root, LINK, ANONYMOUS_CALLER)] == [[], [], [], []]
    for other in (people.ben, people.root):
        with pytest.raises(NotFound):
            people.views.delete(made.id, caller=other)
    people.views.change(made.id, ViewRequest("hottest", "/hosts?q=b", shared=True), caller=people.ann)
    assert people.seen_by(people.ben) == people.seen_by(ANONYMOUS_CALLER) == [("hottest", False)]
    assert people.seen_by(people.root) == [("hottest", True)]


@native
def test_shared_views_are_changed_by_their_owner_and_administrators(people: People) -> None:
    made = people.views.create(SHARED, caller=people.ann)
    with pytest.raises(Forbidden, match="belongs to `ann`"):
        people.views.change(made.id, PRIVATE, caller=people.ben)
    with pytest.raises(Forbidden, match="belongs to `ann`"):
        people.views.delete(made.id, caller=people.ben)
    people.views.delete(made.id, caller=people.root)
    assert people.seen_by(people.ann) == []


@native
def test_what_is_saved_without_an_account_belongs_to_the_installation(people: People) -> None:
    with pytest.raises(Unprocessable, match="belongs to the installation"):
        people.views.create(PRIVATE, caller=LINK)
    made = people.views.create(SHARED, caller=LINK)
    assert people.seen_by(LINK) == people.seen_by(people.root) == [("fleet wall", True)]
    assert people.seen_by(people.ann) == [("fleet wall", False)]
    with pytest.raises(Unprocessable, match="belongs to the installation"):
        people.views.change(made.id, PRIVATE, caller=people.root)


@native
def test_a_token_changes_what_it_has_saved_and_no_other_tokens_views(people: People) -> None:
    mine, other = (Caller(kind="token", name=f"token:{name}", role="viewer") for name in ("wall", "ci"))
    made = people.views.create(SHARED, caller=mine)
    with pytest.raises(Forbidden, match="belongs to `token:wall`"):
        people.views.delete(made.id, caller=other)
    people.views.change(made.id, ViewRequest("hottest", "/hosts?q=b", shared=True), caller=mine)
    people.views.delete(made.id, caller=people.root)


@native
def test_each_person_has_room_for_so_many(people: People) -> None:
    for number in range(MAX_VIEWS):
        people.views.create(ViewRequest(f"view {number}", "/", shared=False), caller=people.ann)
    with pytest.raises(Conflict, match=f"{MAX_VIEWS} saved views"):
        people.views.create(PRIVATE, caller=people.ann)
    people.views.create(PRIVATE, caller=people.ben)
    first = people.views.list(caller=people.ann, limit=60, cursor=None)
    rest = people.views.list(caller=people.ann, limit=60, cursor=first.next_cursor)
    names = [view.name for page in (first, rest) for view in page.items]
    assert names == [f"view {number}" for number in reversed(range(MAX_VIEWS))]
    assert rest.next_cursor is None


@native
def test_the_audit_trail_keeps_what_a_view_was(people: People) -> None:
    made = people.views.create(SHARED, caller=people.ann)
    people.views.delete(made.id, caller=people.root)
    with people.database.read() as session:
        rows = session.execute(text("SELECT actor, action, subject, detail FROM audit WHERE action LIKE 'view.%'"))
        found = [tuple(row) for row in rows]
    detail = {"name": "fleet wall", "address": "/", "shared": True}
    assert found == [("ann", "view.create", made.id, detail), ("root", "view.delete", made.id, detail)]


@native
@pytest.mark.parametrize("name", ["", "   ", "a\nb", "a\0", "x" * 101])
def test_names_are_short_and_printable(people: People, name: str) -> None:
    with pytest.raises(Unprocessable):
        people.views.create(ViewRequest(name, "/", shared=False), caller=people.ann)


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?group=rack",
        "/hosts",
        "/services/s1?tab=heat&zoom=0~10~1~4",
        "/alerts/rules/r1",
        "/tco?a=%22",
        "/explore?expr=%5B%22up%22%5D",
    ],
)
def test_pages_of_the_dashboard_can_be_saved(address: str) -> None:
    assert problem_of_address(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "hosts",
        "https://example.org/",
        "//example.org/hosts",
        "/\\example.org",
        "/hosts//example.org",
        "/hosts/../v1/hosts",
        "javascript:alert(1)",
        "/hosts#top",
        "/hosts?q=<b>",
        "/hosts?q=a b",
        "/hosts\n",
        "/v1/hosts",
        "/login?next=/",
        "/metrics",
        "/nothing",
        "/hosts?q=" + "a" * 2000,
    ],
)
def test_nothing_else_can(address: str) -> None:
    assert problem_of_address(address) is not None


def test_the_pages_are_those_of_the_dashboard() -> None:
    paths = re.findall(r"path: '/([^'/]*)", ROUTER.read_text())
    assert set(paths) - {"login"} == PAGES
