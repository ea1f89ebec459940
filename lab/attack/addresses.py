"""Paths, ids, cursors and queries that nobody means: no fault, no file of the machine, nothing of others."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from attack import application, wires
from attack.assault import Assault

_SECRETS = (b"root:x:0:0", b"[Service]", b"create_app", b"BEGIN PRIVATE KEY")
_PATHS = (
    "%00",
    "a%00.js",
    "..",
    "../../../../etc/passwd",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e%252f%252e%252e%252fetc%252fpasswd",
    "..%c0%af..%c0%afetc/passwd",
    "....//....//etc/passwd",
    "..\\..\\..\\etc\\passwd",
    "..;/..;/etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "C:\\boot.ini",
    "x" * 255,
    "x" * 5000,
    "x/" * 2500,
    "../" * 1600,
    "%ff%fe",
    "%ed%a0%80",
    "%e2%80%ae%e2%80%8b",
    "con",
    ".",
    "%",
    "%zz",
    "index.html/..",
    "~root",
    "%0d%0aSet-Cookie:%20x=y",
    "?" * 100,
    "*",
)
_BASES = ("/assets/", "/", "/v1/hosts/", "/v1/services/", "/v1/", "/api/")
_VALUES = (
    "'",
    '"',
    "' OR '1'='1",
    "'; DROP TABLE hosts; --",
    "\x00",
    "a\x00b",
    "x" * 10_000,
    "-1",
    "0",
    "99999999999999999999999999",
    "-9223372036854775809",
    "1e309",
    "NaN",
    "1.5",
    "2026-13-45T25:61:61Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "10000-01-01T00:00:00Z",
    "-999999999999d",
    "-1h-1h",
    "now-99999999999y",
    "2026-11-22",
    "\u202e\ud7ff\u0301" * 20,
    "%",
    "_",
    "\\",
    "$(id)",
    "{{7*7}}",
    "[]",
    "",
    "eyJhIjoxfQ==",
    "////",
    "gAAAAABk",
    "\r\nX: y",
)


def attack(assault: Assault) -> None:
    """Files, then every parameter of every operation that reads."""
    for base in assault.some(_BASES, 2):
        for path in assault.some(_PATHS, 12):
            said = assault.exchange([_get(base + path)], f"GET {base}{path[:60]}")
            if any(secret in said for secret in _SECRETS):
                assault.found(f"GET {base}{path[:60]}: a file of the machine was answered")
            if b"\r\nset-cookie: x=y" in said.lower():
                assault.found(f"GET {base}{path[:60]}: a header of one's own was answered")
    for path, name, place in assault.some(_parameters(), 20):
        for value in assault.some(_VALUES, 1):
            _read(assault, path, name, place, value)
    _cursors(assault)


def _get(target: str) -> bytes:
    return wires.head("GET", target.replace(" ", "%20"), "Connection: close")


def _parameters() -> Iterator[tuple[str, str, str]]:
    """Path, name and place of each parameter of each operation that reads."""
    for path, methods in application.document()["paths"].items():
        if "get" in methods:
            for parameter in methods["get"].get("parameters", []):
                yield path, parameter["name"], parameter["in"]


def _read(assault: Assault, path: str, name: str, place: str, value: str) -> None:
    ids = assault.arena.made.ids
    parts = []
    for part in path.split("/"):
        wanted = part.strip("{}")
        known = ids.get(wanted, ["none"])[0]
        parts.append(
            part if not part.startswith("{") else quote(value if place == "path" and wanted == name else known, safe="")
        )
    target = "/".join(parts) + (f"?{urlencode({name: value})}" if place == "query" else "")
    headers = _asking(assault, path)
    answer = assault.ask("GET", target, headers=headers, may_break=False, what=f"GET {path} with {name}={value[:30]!r}")
    if answer is not None and value in ("' OR '1'='1", "%", "_") and place == "query" and _has_items(answer.text, name):
        assault.found(f"GET {path} with {name}={value!r} answered things of others")


def _asking(assault: Assault, path: str) -> dict[str, str]:
    if path.startswith("/v1/agent/"):
        return {"Authorization": f"Bearer {assault.arena.host.credential}"}
    if path.startswith("/v1/login/"):
        return {}
    return assault.arena.admin


def _has_items(text: str, name: str) -> bool:
    """Whether a filter by an id that nobody has let something through."""
    return name in ("host", "service", "rule", "alert") and '"items":[{' in text


def _cursors(assault: Assault) -> None:
    """A cursor of one list in another, and one that was changed."""
    made: list[str] = []
    paged = sorted({path for path, name, _ in _parameters() if name == "cursor" and "{" not in path})
    for path in paged:
        answer = assault.ask("GET", f"{path}?limit=1", headers=assault.arena.admin, expect=(200, 422))
        document: dict[str, Any] = answer.json() if answer is not None else {}
        if document.get("next_cursor"):
            made.append(document["next_cursor"])
    for path in paged:
        for cursor in assault.some(_beyond(), 4):
            query = urlencode({"cursor": cursor, "match": "m"})
            said = f"{path} with the cursor {cursor[:40]}"
            assault.ask("GET", f"{path}?{query}", headers=assault.arena.admin, expect=(200, 400, 422), what=said)
    for path in assault.some(paged, 4):
        for cursor in assault.some(made, 2):
            changed = cursor[:-2] + assault.dice.choice("ABCxyz") + cursor[-1:]
            for sent in (cursor, changed, cursor * 3, cursor[: len(cursor) // 2]):
                query = urlencode({"cursor": sent})
                assault.ask("GET", f"{path}?{query}", headers=assault.arena.admin, expect=(200, 400, 422))


def _beyond() -> Iterator[str]:
    """Cursors of all kinds with numbers beyond any id."""
    for digits in ("9" * 30, "-" + "9" * 30):
        yield digits
        yield f"1.0-{digits}"
        yield f"{digits}.0-1"
        for text in (f"2026-01-01T00:00:00+00:00|{digits}", f"[{digits}]", f'["x", {digits}]', f'[{digits}, "x"]'):
            yield base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
