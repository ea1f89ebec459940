"""A server of S3 that lies, hangs or leads elsewhere: what it says is refused, in bounded memory and time."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from factories.api_watch import memory_bytes
from factories.loopback import LOOPBACK, KeepAliveHandler, listening
from factories.object_stores import BUCKET, s3_settings
from tierscope.core.errors import ObjectMissing, Unavailable
from tierscope.core.objects import s3
from tierscope.core.objects.s3 import S3Store
from tierscope.core.objects.store import ObjectReader, checksum

BODY = b"what was put"
KEY = f"tiles/day=2026-11-21/service=s/host=h/01-{checksum(BODY)}.tiles"
_PAGE = """<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
<IsTruncated>{more}</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>{items}</ListBucketResult>"""
_ITEM = "<Contents><Key>{key}</Key><LastModified>2026-11-21T01:00:00.000Z</LastModified><Size>{size}</Size></Contents>"
_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 if n else str()};" * 40}">' for n in range(7))
    + "]><ListBucketResult><Contents><Key>&a6;</Key></Contents></ListBucketResult>"
)


class Answers(KeepAliveHandler):
    """Of one lie."""

    say: Callable[["Answers"], None]

    def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
        type(self).say(self)

    def do_PUT(self) -> None:  # noqa: N802 - likewise
        """Takes what comes, and keeps nothing."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send(b"")

    def do_HEAD(self) -> None:  # noqa: N802 - likewise
        """As it says it of a read."""
        type(self).say(self)

    def send(self, body: bytes, length: int | None = None, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def lying(say: Callable[[Answers], None], **place: object) -> Iterator[S3Store]:
    with listening(type("Lying", (Answers,), {"say": say})) as port:
        settings = s3_settings(f"http://{LOOPBACK}:{port}")
        yield S3Store(settings.objects.model_copy(update={"read_seconds": 1.0, **place}), settings.outgoing)


def endless(answer: Answers) -> None:
    """A body that says that it is of 8 GiB, and has as much as anybody reads."""
    answer.send(b"", length=8 << 30)
    part = bytes(1 << 20)
    for _ in range(8 << 10):
        answer.wfile.write(part)


def undeclared(answer: Answers) -> None:
    """The same without a word of its length."""
    answer.send_response(200)
    answer.send_header("Connection", "close")
    answer.end_headers()
    for _ in range(8 << 10):
        answer.wfile.write(bytes(1 << 20))


LIES: dict[str, Callable[[Answers], None]] = {
    "another object": lambda answer: answer.send(b"another object"),
    "less than it says": lambda answer: answer.send(BODY, length=4096),
    "more than it says": lambda answer: answer.send(BODY, length=4),
    "nothing": lambda answer: answer.send(b""),
    "without end": endless,
    "without a length": undeclared,
    "an error that is no XML": lambda answer: answer.send(b"<", status=403),
    "an error without end": lambda answer: answer.send(b"<a>" * 100_000, status=404),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_object_that_is_not_what_was_put_is_refused(monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    monkeypatch.setattr(s3, "MOST_OBJECT_BYTES", 8 << 20)
    before, _ = memory_bytes(os.getpid())
    with lying(LIES[lie]) as objects, pytest.raises(Unavailable):
        objects.get(KEY)
    after, _ = memory_bytes(os.getpid())
    assert after - before < 64 << 20


@pytest.mark.parametrize("status", [200, 403, 404])
def test_a_server_that_takes_everything_and_keeps_nothing_is_not_believed(status: int) -> None:
    page = b"<html>Welcome</html>"
    with lying(lambda answer: answer.send(page, status=status)) as objects, pytest.raises(Unavailable):
        objects.put(KEY, BODY)


def test_what_is_there_was_put() -> None:
    with lying(lambda answer: answer.send(BODY)) as objects:
        objects.put(KEY, BODY)


def test_what_was_put_is_read() -> None:
    with lying(lambda answer: answer.send(BODY)) as objects:
        assert objects.get(KEY) == BODY


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nobody_is_led_elsewhere(status: int) -> None:
    asked: list[str] = []

    def note(answer: Answers) -> None:
        asked.append(answer.path)
        answer.send(BODY)

    with listening(type("Elsewhere", (Answers,), {"say": note})) as port:
        there = {"Location": f"http://{LOOPBACK}:{port}/{BUCKET}/x", "x-amz-bucket-region": "eu-west-1"}
        with lying(lambda answer: answer.send(b"", 0, status, **there)) as objects, pytest.raises(Unavailable):
            objects.get(KEY)
    assert asked == []


def test_a_server_that_says_nothing_is_given_up_and_not_asked_by_each_reader() -> None:
    asked: list[str] = []
    go_on = threading.Event()

    def hang(answer: Answers) -> None:
        asked.append(answer.path)
        go_on.wait()

    now = [0.0]
    with lying(hang, read_seconds=0.2) as objects:
        reader = ObjectReader(objects, clock=lambda: now[0])
        try:
            for _ in range(5):
                with pytest.raises(Unavailable, match="cannot be reached") as told:
                    reader.get(KEY)
                assert told.value.retry_after_seconds is not None
            assert len(asked) == 1
            now[0] += 60.0
            with pytest.raises(Unavailable):
                reader.get(KEY)
            assert len(asked) == 2
        finally:
            go_on.set()


def test_one_object_that_is_missing_says_nothing_of_others() -> None:
    bodies = iter([b"another", BODY])
    with lying(lambda answer: answer.send(next(bodies))) as objects:
        reader = ObjectReader(objects)
        with pytest.raises(ObjectMissing):
            reader.get(KEY)
        assert reader.get(KEY) == BODY


def test_a_listing_names_what_was_asked_for_alone() -> None:
    names = ("fleet/tiles/day=2026-11-21/a", "fleet/../other/a", "other/tiles/day=2026-11-21/a", "fleet/traces/a", "")
    items = "".join(_ITEM.format(key=name, size=1) for name in names)
    page = _PAGE.format(more="false", token="", items=items).encode()
    with lying(lambda answer: answer.send(page)) as objects:
        assert [one.key for one in objects.list("tiles/")] == ["tiles/day=2026-11-21/a"]


@pytest.mark.parametrize("lie", ["without end", "bomb", "no size", "no XML"])
def test_a_listing_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    monkeypatch.setattr(s3, "MOST_LISTED", 3_000)
    tokens = count()
    items = "".join(_ITEM.format(key=f"fleet/tiles/{n}", size=1) for n in range(1000))

    def say(answer: Answers) -> None:
        bodies = {
            "without end": _PAGE.format(more="true", token=next(tokens), items=items),
            "bomb": _BOMB,
            "no size": _PAGE.format(more="false", token="", items=_ITEM.format(key="fleet/tiles/a", size="many")),
            "no XML": "{}",
        }
        answer.send(bodies[lie].encode())

    with lying(say) as objects, pytest.raises(Unavailable):
        list(objects.list("tiles/"))
