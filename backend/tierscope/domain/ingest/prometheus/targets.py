"""Whom a series is about: the target that its labels name.

Prometheus makes `instance` of the address that it scrapes, `name:port`; but any text may stand there. Only what must be
an address loses its port, so that no two hosts become one because their labels look like parts of an address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address, ip_address

INSTANCE = "instance"
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://([^/?#]*)")
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\](?::\d{1,5})?")
_WITH_PORT = re.compile(r"([^:]+):\d{1,5}")
_HOST_NAME = re.compile(r"[a-zA-Z0-9_.-]+")


@dataclass(frozen=True, slots=True, order=True)
class TargetName:
    """A machine or service as Prometheus knows it. `name` is empty for series that name none."""

    cluster: str
    name: str


_OWN_LABELS: Mapping[str, tuple[str, ...]] = {
    "telegraf": ("exported_host", "host"),
    "pcp": ("exported_hostname", "hostname"),
}
"""What names the host in series of programs that name it themselves, whoever passes them on and has an `instance`."""
_SCRAPED_LABELS: Mapping[str, tuple[str, ...]] = {"node_exporter": ("url",), "cadvisor": ("url",)}
"""Where Telegraf (`inputs.prometheus`) says which page it read: its `host` is where it runs itself."""
_OTHER_LABELS = ("host_name", "host", "hostname")
"""The same where nothing else does."""


def find_target(
    labels: Mapping[str, str], *, host_label: str, cluster_label: str, sender: str | None = None
) -> TargetName:
    """The target of a series: its host label without scheme and port, and its cluster label where it has one.

    `sender`: the program that prints it, where that is known. A label that is set to name hosts goes before what a
    program calls them. What a Prometheus that passes series on calls `exported_instance` was the host's. The machine
    that a program runs on (`localhost`) is another one for each program, so that any other label goes before it.
    """
    own, scraped = _OWN_LABELS.get(sender or "", ()), _SCRAPED_LABELS.get(sender or "", ())
    order = (*own, f"exported_{INSTANCE}", INSTANCE) if host_label == INSTANCE else (host_label, *own)
    names = [strip_port(labels[one]) for one in (*order, *scraped, *_OTHER_LABELS) if labels.get(one)]
    name = next((one for one in names if not is_loopback(one)), names[0] if names else "")
    return TargetName(labels.get(cluster_label, ""), name)


def own_label(labels: Mapping[str, str], name: str) -> str:
    """A label that a series has from its exporter: with `exported_` before it where its target has one too."""
    return labels.get(f"exported_{name}") or labels.get(name, "")


@lru_cache(maxsize=4096)
def is_loopback(name: str) -> bool:
    """Whether a name means the machine that says it (RFC 6761, RFC 1122, RFC 4291)."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name in ("localhost", "localhost.localdomain") or name.endswith(".localhost")


@lru_cache(maxsize=4096)
def strip_port(instance: str) -> str:
    """The host that a label names: `db1` of `db1:9100` and of `http://db1:9100/metrics`, `::1` of `[::1]:9100`.

    All other texts are names as they are: `fd00::11`, which has no port (RFC 3986 has IPv6 in brackets), `prod/db1`,
    `a:b:c`. Names of hosts and addresses are of one case (RFC 4343, RFC 5952).
    """
    url = _URL.match(instance)
    if url is not None:
        # Who logs in is no part of whom a URL names; `%` stands as `%25` there (RFC 6874).
        address = _without_port(url[1].rpartition("@")[2].replace("%25", "%"))
        return address or instance
    return _without_port(instance)


def _without_port(text: str) -> str:
    bracketed = _IN_BRACKETS.fullmatch(text)
    if bracketed is not None and _is_ipv6(bracketed[1]):
        return bracketed[1].lower()
    ported = _WITH_PORT.fullmatch(text)
    name = text if ported is None else ported[1]
    return name.lower() if _HOST_NAME.fullmatch(name) or _is_ipv6(name) else name


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
