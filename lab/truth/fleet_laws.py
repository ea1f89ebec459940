"""Laws of fleets: chosen hosts of those that come with the twin, with all that concerns them."""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from faults.programs import ROOT

DEFAULT = ROOT / "collector-agent" / "crates" / "twin" / "laws" / "default.toml"
SMALL_HOSTS = ("web-1", "web-3", "cache-graph-1", "cache-graph-2", "redis-2", "queue-1")
"""Four services, kernels 6.1 and 6.12, one memory tier and two."""
LIKE_HOSTS = ("web-3", "cache-graph-1", "queue-1")
"""Of three services: the ratio is advised for services with three hosts of one kind of hardware."""
FAULTS = frozenset({"resting_scanner", "failing_promotion", "binding_limiter", "degraded_link"})
"""Kinds of incidents in which hosts do not do what their settings say."""
TRIED_HOSTS = tuple(f"cache-graph-{number}" for number in range(3, 13))
_TABLE = re.compile(r"^(?=\[\[(?:service|host|incident)\]\]$)", re.MULTILINE)


def _block(text: str) -> tuple[str, Mapping[str, Any]]:
    """The name of a table of the array that begins a block, and what is in it."""
    parsed = tomllib.loads(text)
    ((kind, tables),) = parsed.items()
    return kind, tables[0]


def choose_hosts(text: str, hosts: Collection[str], *, unit_bytes: int | None = None) -> str:
    """Laws with these hosts alone, their services, and the incidents that need no others.

    Args:
        text: laws in TOML.
        hosts: names.
        unit_bytes: memory that a page of the twin stands for; as in the laws without.
    """
    head, *blocks = _TABLE.split(text)
    parsed = [(block, *_block(block)) for block in blocks]
    kept = {
        share["service"]
        for _, kind, table in parsed
        if kind == "host" and table["name"] in hosts
        for share in table["services"]
    }

    def stays(kind: str, table: Mapping[str, Any]) -> bool:
        if kind == "service":
            return table["name"] in kept
        if kind == "host":
            return table["name"] in hosts
        named = {*table.get("hosts", ()), *table.get("controls", ())}
        return named <= set(hosts) and table.get("service", next(iter(kept))) in kept

    if unit_bytes is not None:
        head = re.sub(r"^unit_bytes = \d+", f"unit_bytes = {unit_bytes}", head, flags=re.MULTILINE)
    return head + "".join(block for block, kind, table in parsed if stays(kind, table))


def first_hosts(text: str) -> str:
    """Laws with the first host of each service alone, without incidents."""
    first: dict[str, str] = {}
    for host in tomllib.loads(text)["host"]:
        for share in host["services"]:
            first.setdefault(share["service"], host["name"])
    return _without(choose_hosts(text, set(first.values())), lambda _incident: True)


def services_of(text: str) -> list[str]:
    return sorted({share["service"] for host in tomllib.loads(text)["host"] for share in host["services"]})


def without_faults(text: str) -> str:
    """Laws without the incidents in which a kernel or a link fails: advice on sizes is for hosts that work."""
    return _without(text, lambda incident: incident["change"]["kind"] in FAULTS)


def _without(text: str, goes: Callable[[Mapping[str, Any]], bool]) -> str:
    """Laws without some of their incidents."""
    head, *blocks = _TABLE.split(text)
    parsed = [(block, *_block(block)) for block in blocks]
    return head + "".join(block for block, kind, table in parsed if kind != "incident" or not goes(table))


def repeat_hosts(text: str, hosts: Collection[str], times: int) -> str:
    """Laws with these hosts alone, each of them `times` times in racks of their own, without incidents."""
    blocks = _TABLE.split(choose_hosts(text, hosts))
    made = []
    for block in blocks:
        kind, table = _block(block) if _TABLE.match(block) else ("head", {})
        if kind == "host":
            for number in range(1, times + 1):
                named = block.replace(f'name = "{table["name"]}"', f'name = "{table["name"]}-{number}"', 1)
                made.append(named.replace(f'rack = "{table["rack"]}"', f'rack = "r{number}"', 1))
        elif kind != "incident":
            made.append(block)
    return "".join(made)


def _tried() -> str:
    return choose_hosts(_default(), TRIED_HOSTS)


def _still() -> str:
    return _without(_tried(), lambda _incident: True)


def _default() -> str:
    return DEFAULT.read_text(encoding="utf-8")


def _small() -> str:
    return choose_hosts(_default(), SMALL_HOSTS)


def _alike() -> str:
    return repeat_hosts(_default(), LIKE_HOSTS, times=3)


NAMED: Mapping[str, Callable[[], str]] = {
    "default": _default,
    "small": _small,
    "alike": _alike,
    "tried": _tried,
    "still": _still,
}
"""Laws by name: those that come with the twin; six of their hosts; three services on three like hosts each; the ten
like hosts that experiments are made on, and the same ones without incidents."""


def read(name: str) -> str:
    """Laws by name, else those in a file.

    Raises:
        OSError: neither.
    """
    return NAMED[name]() if name in NAMED else Path(name).read_text(encoding="utf-8")
