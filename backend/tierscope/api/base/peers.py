"""Who is at the other end of a connection: the peer, or whom a trusted proxy says it stands for."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

from tierscope.core.settings import Settings

FORWARDED_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
_IPV6_SITE_BITS = 64


def on_plain_loopback(settings: Settings, headers: Headers) -> bool:
    """Whether only this machine can be asking: loopback, no proxy configured, and no header that a proxy leaves."""
    return (
        settings.listens_on_loopback
        and not settings.trusted_proxies
        and not any(name in headers for name in FORWARDED_HEADERS)
    )


def client_address(scope: Scope, settings: Settings) -> str:
    """Returns the address that requests are counted by.

    `X-Forwarded-For` is believed from trusted proxies alone, from its end: the last entry that is none of them. An IPv6
    address counts as its /64, since one machine has all of that.
    """
    client = scope.get("client")
    peer = str(client[0]) if client else "local"
    trusted = _networks(settings.trusted_proxies)
    if not _inside(peer, trusted):
        return _counted(peer)
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
    for entry in reversed([part.strip() for part in forwarded if part.strip()]):
        peer = entry
        if not _inside(entry, trusted):
            break
    return _counted(peer)


@lru_cache(maxsize=8)
def _networks(trusted: Sequence[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """The proxies that are given as address or network; names are none that a connection has."""
    found = []
    for entry in trusted:
        try:
            found.append(ip_network(entry, strict=False))
        except ValueError:
            continue
    return tuple(found)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _inside(text: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    found = _address(text)
    return found is not None and any(found in network for network in networks if network.version == found.version)


def _counted(text: str) -> str:
    found = _address(text)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, _IPV6_SITE_BITS), strict=False))
    return text[:100] if found is None else str(found)
