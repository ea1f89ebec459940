"""Making the service call what only it can reach: no receiver and no report leads to an internal address."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from attack.assault import Assault
from core.test_addresses import INTERNAL
from factories.loopback import LOOPBACK
from factories.receivers import WebReceiver, web_receiver

_REFUSED = (400, 422)
_TESTED = (200, 400, 404, 422, 502)
_NOWHERE = "192.0.2.1"
"""Of no machine: what hides behind it is refused, and so is it."""
_CALLS = 10
"""Of a receiver that is allowed, until it was reached."""
_KINDS = ("webhook", "slack", "alertmanager", "apprise")


def attack(assault: Assault) -> None:
    """Each way to write each address, then redirects of a receiver that is allowed."""
    with web_receiver() as inside:
        for url in assault.some(_urls(inside.port), 24):
            for kind in assault.some(_KINDS, 1):
                _as_receiver(assault, url, kind)
            _as_report(assault, url)
        _by_redirect(assault, inside)
        if inside.requests:
            assault.found(f"an internal server was asked for {[request.path for request in inside.requests[:5]]}")
    assault.ask("PUT", "/v1/alert-routes", headers=assault.arena.admin, json={}, expect=(200,))


def _as_receiver(assault: Assault, url: str, kind: str) -> None:
    admin = assault.arena.admin
    body = {"receivers": [{"name": "r", "kind": kind, "settings": {"url": url}}]}
    stored = assault.ask("PUT", "/v1/alert-routes", headers=admin, json=body, expect=(200, *_REFUSED))
    if stored is None or stored.status_code != 200:
        return
    said = f"a test of {kind} to {url!r}"
    tested = assault.ask(
        "POST", "/v1/alert-routes/test", headers=admin, json={"receiver": "r"}, expect=_TESTED, what=said
    )
    if tested is not None and tested.status_code == 200 and tested.json()["delivered"]:
        assault.found(f"{said} was delivered")


def _as_report(assault: Assault, url: str) -> None:
    admin = assault.arena.admin
    body = {"name": "ssrf", "every_days": 1, "to": {"webhook": url}}
    made = assault.ask("POST", "/v1/reports", headers=admin, json=body, what=f"a report to {url!r}")
    if made is not None and made.status_code == 201:
        assault.found(f"a report may go to {url!r}")
        assault.ask("DELETE", f"/v1/reports/{made.json()['id']}", headers=admin, expect=(204,))


def _by_redirect(assault: Assault, inside: WebReceiver) -> None:
    """A receiver that may be called says to call another one, in all the ways there are."""
    redirecting = assault.arena.redirecting
    before = len(redirecting.requests)
    places = [inside.url, f"http://localhost:{inside.port}/x", f"//{LOOPBACK}:{inside.port}/x", "file:///etc/passwd"]
    asked = 0
    for status in assault.some((301, 302, 303, 307, 308, 300, 201), 3):
        for place in assault.some(places, 2):
            redirecting.headers = {"Location": place, "Refresh": f"0; url={place}", "Content-Location": place}
            redirecting.statuses = [status] * 10
            asked += 1
            # On a busy machine a call may take longer than the instance allows: then it is made again.
            for _ in range(_CALLS):
                if len(redirecting.requests) < before + asked:
                    _as_receiver_that_may(assault, redirecting.url)
    redirecting.statuses, redirecting.headers = [], {}
    if len(redirecting.requests) < before + asked:
        assault.found("the receiver that is allowed was not called, so that redirects were not tried")


def _as_receiver_that_may(assault: Assault, url: str) -> None:
    body = {"receivers": [{"name": "r", "kind": "webhook", "settings": {"url": url}}]}
    assault.ask("PUT", "/v1/alert-routes", headers=assault.arena.admin, json=body, expect=(200,))
    tried = {"receiver": "r"}
    assault.ask("POST", "/v1/alert-routes/test", headers=assault.arena.admin, json=tried, expect=(200, 502))


def _urls(port: int) -> Iterator[str]:
    """Internal addresses in all writings, with things around them that hide them."""
    for text in INTERNAL:
        address = ip_address(text.partition("%")[0])
        yield f"http://[{text}]:{port}/" if isinstance(address, IPv6Address) else f"http://{text}:{port}/"
        if isinstance(address, IPv4Address):
            for host in _written(address):
                yield f"http://{host}:{port}/"
    yield from _hidden(port)


def _written(address: IPv4Address) -> Iterator[str]:
    """One IPv4 address as resolvers of several ages take it."""
    number, parts = int(address), str(address).split(".")
    yield str(number)
    yield hex(number)
    yield f"0{number:o}"
    yield ".".join(f"0{int(part):o}" for part in parts)
    yield ".".join(hex(int(part)) for part in parts)
    yield f"{parts[0]}.{number & 0xFFFFFF}"
    yield f"{parts[0]}.{parts[1]}.{number & 0xFFFF}"
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]"
    yield f"[64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}]"
    yield f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::]"
    yield f"{address}."


def _hidden(port: int) -> Iterator[str]:
    here = f"{LOOPBACK}:{port}"
    yield f"http://localhost:{port}/"
    yield f"http://LOCALHOST.:{port}/"
    yield f"http://user:secret@{here}/"
    yield f"http://{_NOWHERE}@{here}/"
    yield f"http://{_NOWHERE}:80@{here}/"
    yield f"http://{here}#@{_NOWHERE}/"
    yield f"http://{here}\\@{_NOWHERE}/"
    yield f"http://{_NOWHERE}\\@{here}/"
    yield f"http:\\\\{here}/"
    yield f"http:///{here}/"
    yield f"http:{here}/"
    yield f"http://%31%32%37.0.0.1:{port}/"
    yield f"http://127。0。0。1:{port}/"
    yield f"http://①②⑦.⓪.⓪.①:{port}/"
    yield f"http://127.0.0.1%00.nowhere.invalid:{port}/"
    yield f"http://127.0.0.1%2523@{_NOWHERE}:{port}/"
    yield f"http://{here}\r\nHost: nowhere.invalid/"
    yield f"http://{here}\t/"
    yield f"  http://{here}/"
    yield f"http://[::1%25lo]:{port}/"
    yield f"http://[0:0:0:0:0:ffff:7f00:0001]:{port}/"
    yield f"HTTP://{here}/"
    yield f"gopher://{here}/"
    yield "file:///etc/passwd"
    yield f"ftp://{here}/"
    yield f"unix:///run/{port}.sock"
    yield f"dict://{here}/"
    yield f"json://{here}/"
    yield f"http://{'a' * 300}.{here}/"
    yield f"http://{here}:99999/"
    yield "http://"
    yield ""
