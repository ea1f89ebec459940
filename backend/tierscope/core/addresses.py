"""Which network addresses the service may call: public ones, and those that its settings list.

The refused networks are those of the IANA special-purpose registries, spelt out rather than taken from `ipaddress`,
whose answers differ between versions of Python, and the metadata addresses of clouds that lie in public space.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from tierscope.core.errors import ConfigurationError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind carriers' NAT; the metadata address of one cloud is in it
        "127.0.0.0/8",
        "168.63.129.16/32",  # the metadata and DNS address of another cloud, in public space
        "169.254.0.0/16",  # link-local, with the usual metadata address
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, with Teredo, which carries IPv4 addresses
        "2001:db8::/32",
        "2002::/16",  # 6to4, which carries IPv4 addresses
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def plain_address(text: str) -> Address:
    """The address of a text; an IPv6 form that stands for an IPv4 address (mapped, NAT64) is that IPv4 address.

    Raises:
        ValueError: it is no address.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Address) -> bool:
    """Whether an address is one of the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    return address in _PUBLIC_V6 and not any(address in network for network in _REFUSED_V6)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting lists: networks, and places (host in lower case, port) whatever their address is."""

    networks: tuple[Network, ...] = ()
    places: frozenset[tuple[str, int]] = frozenset()

    def permits(self, address: Address, host: str, port: int) -> bool:
        """Whether an address that `host` stands for may be called."""
        if is_public(address) or (host.lower(), port) in self.places:
            return True
        return any(address in network for network in self.networks if network.version == address.version)


def parse_allowed(entries: Iterable[str]) -> Allowed:
    """Reads a list of networks (`10.0.0.0/8`), addresses (`::1`) and places (`alerts.internal:9093`, `[::1]:9093`).

    Raises:
        ConfigurationError: an entry is none of these.
    """
    networks: list[Network] = []
    places: set[tuple[str, int]] = set()
    for entry in entries:
        try:
            networks.append(ip_network(entry))
        except ValueError:
            host, separator, port = entry.rpartition(":")
            if not (separator and host and port.isdigit() and 0 < int(port) < 1 << 16):
                raise ConfigurationError(
                    f"TIERSCOPE_OUTGOING__ALLOW: {entry!r} is no network, address or host:port",
                    next_step="Write 10.0.0.0/8, 192.168.1.5 or alerts.internal:9093, separated by commas.",
                ) from None
            places.add((host.strip("[]").lower(), int(port)))
    return Allowed(tuple(networks), frozenset(places))
