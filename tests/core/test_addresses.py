"""Which addresses may be called: public ones, and what the setting lists, in every way that one can be written."""

import pytest

from tierscope.core.addresses import is_public, parse_allowed, plain_address
from tierscope.core.errors import ConfigurationError

PUBLIC = ("8.8.8.8", "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:8.8.8.8", "64:ff9b::808:808")
INTERNAL = (
    "127.0.0.1",
    "127.255.0.9",
    "0.0.0.0",  # noqa: S104 - judged, not listened on
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.7.7",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.251",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
)


@pytest.mark.parametrize("text", PUBLIC)
def test_addresses_of_the_internet_are_public(text: str) -> None:
    assert is_public(plain_address(text))


@pytest.mark.parametrize("text", INTERNAL)
def test_addresses_of_the_inside_are_not(text: str) -> None:
    address = plain_address(text)
    assert not is_public(address)
    assert not parse_allowed(()).permits(address, "name", 443)


@pytest.mark.parametrize(
    ("allowed", "address", "host", "port", "expected"),
    [
        ("10.0.0.0/8", "10.1.2.3", "alerts", 443, True),
        ("10.0.0.0/8", "11.1.2.3", "alerts", 443, True),  # public anyway
        ("10.0.0.0/16", "10.1.2.3", "alerts", 443, False),
        ("127.0.0.1", "127.0.0.1", "localhost", 9093, True),
        ("127.0.0.1", "::ffff:127.0.0.1", "localhost", 9093, True),
        ("127.0.0.1", "127.0.0.2", "localhost", 9093, False),
        ("127.0.0.0/8", "::1", "localhost", 9093, False),
        ("::1", "::1", "localhost", 9093, True),
        ("alerts.internal:9093", "10.1.2.3", "alerts.internal", 9093, True),
        ("Alerts.Internal:9093", "10.1.2.3", "ALERTS.internal", 9093, True),
        ("alerts.internal:9093", "10.1.2.3", "alerts.internal", 9094, False),
        ("alerts.internal:9093", "10.1.2.3", "other.internal", 9093, False),
        ("[::1]:9093", "::1", "::1", 9093, True),
    ],
)
def test_the_setting_opens_what_it_lists_and_no_more(
    allowed: str, address: str, host: str, port: int, *, expected: bool
) -> None:
    assert parse_allowed([allowed]).permits(plain_address(address), host, port) is expected


@pytest.mark.parametrize("entry", ["alerts.internal", "10.0.0.1/8", "alerts:0", "alerts:70000", ":80", "alerts:http"])
def test_an_entry_that_is_none_of_these_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="OUTGOING__ALLOW"):
        parse_allowed([entry])
