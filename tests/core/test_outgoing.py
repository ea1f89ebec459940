"""Guarded calls: where they may lead, that the looked-up address is the one called, and that every call ends."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.loopback import LOOPBACK, free_port
from factories.receivers import WebReceiver, web_receiver
from tierscope.core.errors import OutgoingFailed, OutgoingRefused
from tierscope.core.outgoing import OutgoingCalls
from tierscope.core.settings import Outgoing


@pytest.fixture
def receiver() -> Iterator[WebReceiver]:
    with web_receiver() as running:
        yield running


class Names:
    """A resolver of a test's own; each look-up takes the next answer, the last one stays."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def calls(*allow: str, resolve: Names | None = None, **settings: object) -> OutgoingCalls:
    # Patient, as the machine may be busy; tests about time set their own limits.
    outgoing = Outgoing.model_validate({"allow": allow, "connect_seconds": 60, "total_seconds": 120, **settings})
    return OutgoingCalls(outgoing) if resolve is None else OutgoingCalls(outgoing, resolve=resolve)


def test_a_call_arrives_as_it_was_made(receiver: WebReceiver) -> None:
    answer = calls(receiver.place).send("POST", receiver.url + "?a=1", body=b"hello", headers={"X-Key": "k"})
    assert (answer.ok, answer.status_code, answer.body) == (True, 200, b"ok")
    (got,) = receiver.requests
    assert (got.method, got.path, got.body) == ("POST", "/hook?a=1", b"hello")
    assert got.headers["X-Key"] == "k"
    assert got.headers["Host"] == receiver.place


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0/",
        "http://0.0.0.0/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[2002:7f00:1::1]/",
        "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://user:secret@10.0.0.1/",
    ],
)
def test_internal_addresses_are_refused_however_they_are_written(url: str) -> None:
    with pytest.raises(OutgoingRefused, match="internal address") as refused:
        calls().send("POST", url)
    assert "OUTGOING__ALLOW" in refused.value.next_step
    assert "secret" not in refused.value.detail
    assert "latest" not in refused.value.detail


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "example.org", "http://", "", "http://0177.0.0.1/"]
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(OutgoingRefused, match="URL"):
        calls("0.0.0.0/0").send("POST", url)


@pytest.mark.parametrize(
    "answers",
    [
        ("93.184.215.14", "127.0.0.1"),
        ("127.0.0.1", "93.184.215.14"),
        ("::1", "8.8.8.8"),
        ("8.8.8.8", "64:ff9b::a00:1"),
        ("2606:2800:220:1::1", "::ffff:169.254.169.254"),
        ("8.8.8.8", "fe80::1%eth0"),
        ("8.8.8.8", "0.0.0.0"),  # noqa: S104 - an answer of a resolver
    ],
)
def test_a_name_that_stands_for_inside_and_outside_is_refused(answers: tuple[str, ...]) -> None:
    with pytest.raises(OutgoingRefused, match="internal address"):
        calls(resolve=Names(answers)).send("POST", "http://mixed.test/")


def test_the_address_that_was_judged_is_the_one_called(receiver: WebReceiver) -> None:
    names = Names((LOOPBACK,), ("192.0.2.1",))
    answer = calls("127.0.0.0/8", resolve=names).send("POST", f"http://moves.test:{receiver.port}/x")
    assert answer.ok
    assert names.asked == [("moves.test", receiver.port)]
    assert receiver.requests[0].headers["Host"] == f"moves.test:{receiver.port}"


def test_the_second_address_is_tried_where_the_first_takes_no_connection(receiver: WebReceiver) -> None:
    names = Names(("127.0.0.9", LOOPBACK))
    assert calls("127.0.0.0/8", resolve=names).send("POST", f"http://two.test:{receiver.port}/").ok


def test_redirects_are_not_followed(receiver: WebReceiver) -> None:
    receiver.statuses = [302]
    receiver.headers = {"Location": "http://169.254.169.254/"}
    answer = calls(receiver.place).send("POST", receiver.url)
    assert (answer.ok, answer.status_code) == (False, 302)
    assert len(receiver.requests) == 1


def test_proxies_of_the_environment_are_not_used(receiver: WebReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.9:9")
    assert calls(receiver.place).send("POST", receiver.url).ok


def test_no_more_of_an_answer_is_read_than_the_limit(receiver: WebReceiver) -> None:
    receiver.body = b"x" * 300_000
    assert calls(receiver.place, answer_bytes=1000).send("POST", receiver.url).body == b"x" * 1000


def test_the_number_of_seconds_to_wait_is_told(receiver: WebReceiver) -> None:
    receiver.statuses, receiver.headers = [429, 503], {"Retry-After": "17"}
    assert calls(receiver.place).send("POST", receiver.url).retry_after_seconds == 17
    receiver.headers = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert calls(receiver.place).send("POST", receiver.url).retry_after_seconds is None


def test_a_server_that_drips_its_answer_is_cut_off() -> None:
    """Each byte comes within the limit for one read; only the limit for the whole ends it."""
    done = threading.Event()
    with socket.create_server((LOOPBACK, 0)) as server:

        def drip() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # the limit ended before there was a connection
            with connection:
                connection.recv(65536)
                while not done.wait(0.02):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        place = f"{LOOPBACK}:{server.getsockname()[1]}"
        with pytest.raises(OutgoingFailed, match=r"longer than 0\.3 s"):
            calls(place, total_seconds=0.3).send("POST", f"http://{place}/secret-path")
        done.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_nobody_there_is_said_without_the_path() -> None:
    place = f"{LOOPBACK}:{free_port()}"
    with pytest.raises(OutgoingFailed) as failed:
        calls(place).send("POST", f"http://{place}/secret-path")
    assert failed.value.detail == f"{place}: no connection"


def test_a_name_without_an_address_is_said() -> None:
    with pytest.raises(OutgoingFailed, match="cannot be looked up"):
        calls().send("POST", "http://no-such-name.invalid/")
    with pytest.raises(OutgoingFailed, match="has no address"):
        calls(resolve=Names(())).send("POST", "http://empty.test/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for `alerts.test` that signs itself, with its key in the same file."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    key = path.with_name("key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-days", "2", "-subj", "/CN=alerts.test", "-addext", "subjectAltName=DNS:alerts.test"]
    subprocess.run([*made, *names, "-keyout", str(key), "-out", str(path)], check=True, capture_output=True)
    path.write_text(path.read_text(encoding="utf-8") + key.read_text(encoding="utf-8"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("host", "trusted", "ok"), [("alerts.test", True, True), ("other.test", True, False), ("alerts.test", False, False)]
)
def test_tls_is_checked_against_the_name_though_the_address_is_called(
    certificate: Path, host: str, *, trusted: bool, ok: bool
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with web_receiver(tls=context) as receiver:
        made = calls("127.0.0.1", resolve=Names((LOOPBACK,)), ca_file=certificate if trusted else None)
        if ok:
            assert made.send("POST", f"https://{host}:{receiver.port}/").ok
            return
        with pytest.raises(OutgoingFailed, match="certificate cannot be trusted"):
            made.send("POST", f"https://{host}:{receiver.port}/")
        assert receiver.requests == []
