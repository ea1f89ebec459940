"""What a release promises to programs: operations and fields of the API, metrics, fields of the wire, SQL views.

    .venv/bin/python contract/promises.py             compares with the last release (contract/released.tsv)
    .venv/bin/python contract/promises.py --record    writes contract/released.tsv, as the last step of a release

A promise is a name and what it is: `api GET /v1/hosts` is `current`, `schema HostAnswer.id` is `string`. A later
release may add promises. It may drop only what the release before had marked `deprecated`, and change none
(docs/operating/releases.md).
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RELEASED = HERE / "released.tsv"
_METHODS = ("get", "put", "post", "patch", "delete")
_DEPRECATED = " deprecated"
_REQUIRED = " required"

Promises = dict[str, str]
Schema = Mapping[str, Any]


def promises_now() -> Promises:
    """Return every promise of this tree, by name."""
    from tierscope.domain._generated.catalogue import METRICS

    api = json.loads((HERE / "openapi.json").read_text(encoding="utf-8"))
    metrics = {
        f"metric {metric.source} {metric.name} {scope}": f"{metric.unit} {metric.kind}"
        for metric in METRICS
        for scope in metric.scopes
    }
    return {**api_promises(api), **metrics, **_wire_promises(), **_view_promises()}


def broken(before: Promises, now: Promises) -> list[str]:
    """Return what programs written for `before` no longer find in `now`, one sentence each."""
    found = []
    for name, kind in before.items():
        if name not in now:
            if not kind.endswith(_DEPRECATED):
                found.append(f"{name} is gone, and was not deprecated in the release before")
        elif _plain(now[name]) != _plain(kind) and not _is_relaxed(kind, now[name]):
            found.append(f"{name} was {kind} and is {now[name]}")
    # A new operation or schema may ask for what it likes; one that is known may not ask for more.
    known = {_owner(name) for name in before} | before.keys()
    found += [
        f"{name} is new and required: callers of the last release do not send it"
        for name, kind in now.items()
        if name not in before and kind.endswith(_REQUIRED) and _owner(name) in known
    ]
    return sorted(found)


def _owner(name: str) -> str:
    """Return the operation of a parameter, the schema of a field."""
    return name.rpartition("." if name.startswith("schema ") else " ")[0]


def _plain(kind: str) -> str:
    return kind.removesuffix(_DEPRECATED)


def _is_relaxed(before: str, now: str) -> bool:
    """Whether something that callers had to send may now be left out."""
    return before.removesuffix(_REQUIRED) == _plain(now)


def api_promises(api: Mapping[str, Any]) -> Promises:
    """Return the promises of an OpenAPI document: operations, parameters, bodies, fields of schemas."""
    schemas: Mapping[str, Schema] = api["components"]["schemas"]
    found: Promises = {}
    sent: set[str] = set()
    for path, operations in api["paths"].items():
        for method in _METHODS:
            if method not in operations:
                continue
            operation, name = operations[method], f"api {method.upper()} {path}"
            found[name] = "current" + (_DEPRECATED if operation.get("deprecated") else "")
            for parameter in operation.get("parameters", ()):
                kind = _kind(parameter["schema"]) + (_REQUIRED if parameter.get("required") else "")
                found[f"{name} {parameter['in']}:{parameter['name']}"] = kind
            for media, body in operation.get("requestBody", {}).get("content", {}).items():
                found[f"{name} body:{media}"] = _kind(body.get("schema", {}))
                sent |= set(_named(body.get("schema", {}), schemas))
            for status, answer in operation["responses"].items():
                for media, body in answer.get("content", {}).items():
                    found[f"{name} {status}:{media}"] = _kind(body.get("schema", {}))
    for schema_name, schema in schemas.items():
        asked = set(schema.get("required", ())) if schema_name in sent else set()
        for field, of in schema.get("properties", {}).items():
            kind = _kind(of) + (_REQUIRED if field in asked else "") + (_DEPRECATED if of.get("deprecated") else "")
            found[f"schema {schema_name}.{field}"] = kind
    return found


def _kind(schema: Schema) -> str:
    """Return a type as text; its limits, choices and descriptions are no part of it."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return "|".join(sorted({_kind(one) for one in schema[choice]}))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"array<{_kind(schema.get('items', {}))}>"
    inner = schema.get("additionalProperties")
    if kind == "object" and isinstance(inner, Mapping):
        return f"map<{_kind(inner)}>"
    if "const" in schema or "enum" in schema:
        return str(kind if kind != "any" else "string")
    return "|".join(sorted(kind)) if isinstance(kind, list) else str(kind)


def _named(schema: Any, schemas: Mapping[str, Schema], seen: frozenset[str] = frozenset()) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield the names of all schemas within one, at any depth."""
    if isinstance(schema, Mapping):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            yield name
            yield from _named(schemas[name], schemas, seen | {name})
        for part in schema.values():
            yield from _named(part, schemas, seen)
    elif isinstance(schema, list):
        for part in schema:
            yield from _named(part, schemas, seen)


def _wire_promises() -> Promises:
    from google.protobuf.descriptor import Descriptor

    from tierscope.wire._generated import batch_pb2, counters_pb2, heat_pb2, inventory_pb2, tiles_pb2, traces_pb2

    def fields(message: Descriptor) -> Iterator[tuple[str, str]]:
        for field in message.fields:
            kind = field.message_type.name if field.message_type else str(field.type)
            repeated = " repeated" if field.is_repeated else ""
            # The number is what travels: a field may be renamed on the wire, but nothing that is promised may.
            yield f"wire {message.full_name}.{field.name}", f"{field.number} {kind}{repeated}"
        for inner in message.nested_types:
            yield from fields(inner)

    files = (batch_pb2, counters_pb2, heat_pb2, inventory_pb2, tiles_pb2, traces_pb2)
    messages = [message for file in files for message in file.DESCRIPTOR.message_types_by_name.values()]
    return {name: kind for message in messages for name, kind in fields(message)}


def _view_promises() -> Promises:
    from tierscope.storage.tables.views import SCHEMA, VIEWS

    return {f"sql {SCHEMA}.{view.name}.{column.name}": column.type for view in VIEWS for column in view.columns}


def read_released(text: str) -> tuple[str, Promises]:
    """Return version and promises of a recorded release.

    Raises:
        ValueError: the text is none; the message says how to write one.
    """
    head, *lines = text.splitlines() or [""]
    if not head.startswith("# Tierscope "):
        raise ValueError("no recorded release: write one with `python contract/promises.py --record`")
    return head.removeprefix("# Tierscope "), dict(line.split("\t", 1) for line in lines)  # type: ignore[misc]


def write_released(version: str, promises: Promises) -> str:
    """Return the text of a recorded release, one promise on a line in order of names."""
    return "\n".join([f"# Tierscope {version}", *(f"{name}\t{kind}" for name, kind in sorted(promises.items()))]) + "\n"


def main() -> int:
    """Compare or record; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compare what programs rely on with the last release.")
    parser.add_argument("--record", action="store_true", help="make this tree the last release")
    if parser.parse_args().record:
        import tierscope

        text = write_released(tierscope.__version__, promises_now())
        RELEASED.write_text(text, encoding="utf-8")
        print(f"{RELEASED.relative_to(HERE.parent)}: {text.count(chr(10)) - 1} promises of {tierscope.__version__}")
        return 0
    version, before = read_released(RELEASED.read_text(encoding="utf-8"))
    now = promises_now()
    faults = broken(before, now)
    for fault in faults:
        print(fault)
    added = len(now.keys() - before.keys())
    print(f"against {version}: {len(before)} promises, {len(faults)} broken, {added} added")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
