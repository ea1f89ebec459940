"""JSON, forms, YAML, CSV and Parquet that are too large, too deep, or not what they say."""

import io
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attack import application, wires
from attack.assault import Assault
from factories.populated import TRACE

_MIB = 1 << 20
_ANNOUNCED_BYTES = 600 * _MIB
_ENDLESS_BYTES = 80 * _MIB
_ID = "attack"
_TEXTS = ("\x00", "\ud800", "x" * 100_000, "'; DROP TABLE hosts; --", "\u202e\u0007", "{{7*7}}", "${jndi:ldap://x}")
_NUMBERS = (1e308, -1, 2**63, 2**64, -(2**63) - 1, 10**400)
_PUBLIC = ("/v1/session", "/v1/agents/enrol", "/login", "/login/password")
_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path with ids put in, and schema of every operation that takes JSON."""
    for path, methods in application.document()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                yield method.upper(), _named(path), content["application/json"]["schema"]


def _named(path: str) -> str:
    return "/".join(_ID if part.startswith("{") else part for part in path.split("/"))


def attack(assault: Assault) -> None:
    """Public routes first: nobody needs to be known for them."""
    _too_long(assault)
    malformed = list(_malformed())
    for method, path, schema in assault.some(operations(), 12):
        for name, body in assault.some(malformed, 3):
            headers = assault.arena.admin | _JSON
            assault.ask(method, path, headers=headers, content=body, may_break=True, what=f"{method} {path}: {name}")
        for body in _filled(schema, assault):
            assault.ask(method, path, headers=assault.arena.admin | _JSON, content=body)
    for path in _PUBLIC:
        for name, body in assault.some(malformed, 3):
            assault.ask("POST", path, headers=_JSON, content=body, may_break=True, what=f"POST {path}: {name}")
    for name, form in _forms():
        for path in ("/login", "/login/password"):
            assault.ask("POST", path, headers=_FORM, content=form, may_break=True, what=f"POST {path}: {name}")
    _yaml(assault)
    _files(assault)


def _too_long(assault: Assault) -> None:
    """Announced and not sent; sent and not announced. Each is refused before it is held."""
    everywhere = {("POST", path) for path in _PUBLIC} | {(method, path) for method, path, _ in operations()}
    for method, path in assault.some(sorted(everywhere), 8):
        announced = wires.head(method, path, "Content-Type: application/json", f"Content-Length: {_ANNOUNCED_BYTES}")
        said = assault.exchange([announced, b"[" * 1000], f"{method} {path}: announced 600 MiB")
        if wires.statuses(said) != [413]:
            assault.found(f"{method} {path}: 600 MiB announced and answered {wires.statuses(said)}")
    for path in assault.some([*_PUBLIC, "/v1/rules/backtest", "/v1/tco/sheet", "/v1/simulator/uploads?name=x"], 3):
        lines = ("Content-Type: application/json", "Transfer-Encoding: chunked")
        bearer = f"Authorization: {assault.arena.admin['Authorization']}"
        parts = wires.chunks(b"[" * 65_536, _ENDLESS_BYTES)
        said = assault.exchange([wires.head("POST", path, bearer, *lines), *parts], f"POST {path}: without end")
        # The answer may be lost where the connection is reset under what was still being sent.
        if set(wires.statuses(said)) - {413}:
            assault.found(f"POST {path}: a body without end was answered {wires.statuses(said)}")


def _malformed() -> Iterator[tuple[str, bytes]]:
    """Bodies that no JSON is, or none that anybody means."""
    yield "deep lists", b"[" * (_MIB - 1)
    yield "deep lists that end", b"[" * 400_000 + b"]" * 400_000
    yield "deep objects", b'{"a":' * 150_000
    yield "a number of 100,000 digits", b'{"days":' + b"9" * 100_000 + b"}"
    yield "a number of 100,000 digits alone", b"9" * 100_000
    yield "an exponent", b'{"days":1e' + b"9" * 1000 + b"}"
    yield "many keys", json.dumps({f"k{number}": 0 for number in range(80_000)}).encode()[: _MIB - 1]
    yield "a million empty lists", b"[" + b"[]," * 300_000 + b"[]]"
    yield "not a number", b'{"days":NaN,"hours":Infinity,"uses":-Infinity}'
    yield "half a surrogate", b'{"name":"\\ud800","link":"\\udfff","\\ud800":1}'
    yield "keys twice", b'{"role":"viewer","role":"admin","name":"a","name":"b","link":"x","link":"y"}'
    yield "no UTF-8", b'{"name":"\xff\xfe\x00"}'
    yield "UTF-16", json.dumps({"name": "x"}).encode("utf-16")
    yield "a mark of byte order", b"\xef\xbb\xbf{}"
    yield "NUL", b'{"name":"\\u0000","link":"\\u0000","join_token":"\\u0000","hostname":"\\u0000"}'
    yield "nothing", b""
    yield "null", b"null"
    yield "a text", b'"' + b"x" * (_MIB - 10) + b'"'
    yield "prototype", b'{"__proto__":{"role":"admin"},"constructor":{"prototype":{}}}'
    yield "comments", b"{}//" + b"x" * 1000


def _forms() -> Iterator[tuple[str, bytes]]:
    yield "many fields", b"&".join(b"a=1" for _ in range(1000))
    yield "one name many times", b"link=x&" * 500
    yield "percents", b"link=" + b"%" * 3000
    yield "no UTF-8", b"link=%ff%fe%00&password=%ff"
    yield "over the limit", b"link=" + b"x" * 100_000
    yield "a surrogate", b"link=%ed%a0%80"


def _filled(schema: Mapping[str, Any], assault: Assault) -> Iterator[bytes]:
    """Bodies that have all fields of a schema, of the right kinds, with values nobody wants."""
    for text in assault.some(_TEXTS, 2):
        value = assault.dice.choice(_NUMBERS)
        yield json.dumps(_example(schema, text, value, 0)).encode()


def _example(schema: Mapping[str, Any], text: str, value: float, depth: int) -> Any:  # noqa: ANN401
    if "$ref" in schema:
        return _example(
            application.document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], text, value, depth
        )
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _example(schema[choice][0], text, value, depth)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        if depth > 6:
            return {}
        made = {name: _example(inner, text, value, depth + 1) for name, inner in properties.items()}
        if isinstance(schema.get("additionalProperties"), dict):
            made[text[:100]] = _example(schema["additionalProperties"], text, value, depth + 1)
        return made
    if kind == "array":
        return [] if depth > 6 else [_example(schema.get("items", {}), text, value, depth + 1)]
    if kind in ("integer", "number"):
        return value
    if kind == "boolean":
        return True
    return text[: min(schema.get("maxLength", 100_000), 100_000)]


def _yaml(assault: Assault) -> None:
    """Nine lists, each nine times the one before: a billion in a few lines; and other things that YAML can say."""
    names = "abcdefghi"
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]" for p, n in pairwise(names)]
    laughs = "\n".join(lines)
    texts = (
        laughs,
        laughs + "\ngroups: *i\n",
        "groups: &g [*g]\n",
        "groups:\n- &a\n  name: x\n  rules: [*a]\n",
        "? " * 50_000,
        "[" * 100_000,
        "- " * 100_000,
        "!!python/object/apply:os.system ['touch /tmp/tierscope-attack']\n",
        "x: !!binary " + "A" * 100_000,
        "x: " + "9" * 100_000,
        "x: 1" + "_0" * 50_000,
        "x: 190:20:30" + ":10" * 10_000,
        "<<: [" + "{a: 1}," * 20_000 + "]",
        "\x00",
        "--- a\n" * 20_000,
        "k: &x\n  <<: *x\n",
    )
    for text in assault.some(texts, 6):
        for path in ("/v1/rules/import", "/v1/scenarios"):
            said = f"{path}: YAML {text[:30]!r}"
            assault.ask("POST", path, headers=assault.arena.admin, json={"yaml": text}, expect=(400, 422), what=said)
        sheet = {"yaml": text}
        assault.ask("POST", "/v1/tco/evaluate", headers=assault.arena.admin, json=sheet, expect=(400, 422))


def _files(assault: Assault) -> None:
    headers = {**assault.arena.admin, "Content-Type": "application/octet-stream"}
    for name, body in assault.some(_traces(assault), 8):
        path = "/v1/simulator/uploads?name=attack"
        said = f"an upload: {name}"
        answer = assault.ask("POST", path, headers=headers, content=body, expect=(201, 400, 409, 413, 422), what=said)
        if answer is not None and answer.status_code == 201:
            made = answer.json()["id"]
            assault.ask("DELETE", f"/v1/simulator/uploads/{made}", headers=assault.arena.admin, expect=(204, 409))
    headers["Content-Type"] = "text/csv"
    for name, body in assault.some(_tables(), 4):
        said = f"labels: {name}"
        for path in ("/v1/hosts/labels?dry_run=true", "/v1/hosts/labels"):
            assault.ask("POST", path, headers=headers, content=body, expect=(200, 400, 413, 422), what=said)


def _traces(assault: Assault) -> Iterator[tuple[str, bytes]]:
    """Parquet that lies, and other things in its place."""
    good = TRACE.read_bytes()
    for length in (0, 1, 1 << 16, (1 << 31) - 1, (1 << 32) - 1, len(good) + 1):
        yield f"a footer of {length}", good[:-8] + length.to_bytes(4, "little") + b"PAR1"
    yield "magic alone", b"PAR1PAR1"
    yield "encrypted", good[:-4] + b"PARE"
    yield "a zip", b"PK\x03\x04" + b"\x00" * 100
    yield "an XLSX bomb", b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + b"\xff" * 1000
    footer = int.from_bytes(good[-8:-4], "little")
    for number in range(assault.of(120, 12)):
        changed = bytearray(good)
        for _ in range(1 + number % 4):
            place = assault.dice.randrange(len(good) - 8 - footer, len(good) - 8)
            changed[place] = assault.dice.randrange(256)
        yield "a footer with other bytes", bytes(changed)
    for _ in range(assault.of(30, 3)):
        changed = bytearray(good)
        place = assault.dice.randrange(4, max(5, len(good) - 8 - footer))
        changed[place : place + 8] = assault.dice.randbytes(8)
        yield "pages with other bytes", bytes(changed)
    yield "rows without end", _many_rows(assault.of(60, 2))
    yield "half a megabyte of noise", b"PAR1" + assault.dice.randbytes(1 << 19) + b"PAR1"


def _many_rows(millions: int) -> bytes:
    """The columns of a page trace, each the same value a million times over."""
    schema = pq.read_schema(TRACE)
    made = io.BytesIO()
    ones = np.ones(1_000_000, np.int64)
    columns = []
    for column in schema:
        try:
            columns.append(pa.array(ones).cast(column.type))
        except pa.ArrowInvalid:
            columns.append(pa.nulls(len(ones), column.type))
    table = pa.Table.from_arrays(columns, schema=schema)
    with pq.ParquetWriter(made, schema, compression="zstd") as writer:
        for _ in range(millions):
            writer.write_table(table)
    return made.getvalue()


def _tables() -> Iterator[tuple[str, bytes]]:
    yield "one line", b"x" * (15 * _MIB)
    yield "a cell that does not end", b'host,rack\nnode-0,"' + b"x" * (15 * _MIB)
    yield "columns without end", b"host," + b"a," * 500_000 + b"\n" + b"node-0\n"
    yield "a million rows", b"host,rack\n" + b"node-0,x\n" * 1_000_000
    yield "NUL", b"host,rack\nnode-0,\x00\n"
    yield "no UTF-8", b"host,rack\nnode-0,\xff\xfe\n"
    yield "formulas", b"host,rack\nnode-0,=cmd|'/c calc'!A0\n"
    yield "names that deceive", "host,rack\nnode-0,a\u202eb\n".encode()
    yield "the same column twice", b"host,rack,rack\nnode-0,a,b\n"
    yield "nothing", b""
