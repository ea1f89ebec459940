"""Hosts and services that tags pick: `service`, `owner`, `kernel`, or a label of hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from tierscope.core.database import ReadSession

Tags = Mapping[str, Sequence[str]]
"""Values by key: a host or service has one of the values of each key."""
_NAMES = {"service": "s.name = ANY(:{0}) OR s.namespace || '/' || s.name = ANY(:{0})", "owner": "t.name = ANY(:{0})"}
_SERVICES = (
    " FROM host_services x JOIN services s ON s.id = x.service_id LEFT JOIN teams t ON t.id = s.owner_team_id WHERE "
)
_KERNEL = "EXISTS (SELECT FROM unnest(CAST(:{0} AS text[])) AS k WHERE r.kernel = k OR starts_with(r.kernel, k || '.'))"
_CHOICES = f"""
SELECT key, value, count(DISTINCT host_id) AS hosts FROM (
  SELECT 'service' AS key, s.name AS value, x.host_id{_SERVICES} true
  UNION ALL SELECT 'owner', t.name, x.host_id{_SERVICES} t.name IS NOT NULL
  UNION ALL SELECT 'kernel', r.kernel, r.host_id FROM host_recent r WHERE r.kernel IS NOT NULL
  UNION ALL SELECT l.key, l.value, h.id FROM hosts h, jsonb_each_text(h.labels) AS l
) AS tags JOIN hosts h ON h.id = tags.host_id WHERE h.retired_at IS NULL AND h.revoked_at IS NULL
GROUP BY key, value ORDER BY key, hosts DESC, value
"""  # noqa: S608 - texts of our own


@dataclass(frozen=True, slots=True)
class Tagged:
    """Hosts that have all tags, and the services on them, those named where services are."""

    hosts: tuple[int, ...]
    services: tuple[int, ...]
    host_ids: tuple[str, ...]
    service_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TagValue:
    """A value of a tag, and how many hosts have it."""

    key: str
    value: str
    hosts: int


def find_tagged(session: ReadSession, tags: Tags) -> Tagged:
    """The hosts in service that have all tags, and their services."""
    values: dict[str, object] = {}
    of_hosts, of_services = ["h.revoked_at IS NULL"], ["true"]
    for place, (key, wanted) in enumerate(tags.items()):
        name = f"v{place}"
        values[name] = list(wanted)
        if key in _NAMES:
            of_services.append(f"({_NAMES[key].format(name)})")
        elif key == "kernel":
            of_hosts.append(_KERNEL.format(name))
        else:
            of_hosts.append(f"h.labels->>CAST(:k{place} AS text) = ANY(:{name})")
            values[f"k{place}"] = key
    if len(of_services) > 1:
        of_hosts.append(f"h.id IN (SELECT x.host_id{_SERVICES}{' AND '.join(of_services)})")
    found = text(
        "SELECT h.id, h.public_id FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id"  # noqa: S608 - our own
        f" WHERE {' AND '.join(of_hosts)} ORDER BY h.id"
    )
    hosts = session.execute(found, values).all()
    numbers = tuple(row.id for row in hosts)
    on_them = text(
        f"SELECT DISTINCT s.id, s.public_id{_SERVICES}x.host_id = ANY(:on) AND {' AND '.join(of_services)}"
        " ORDER BY s.id"
    )
    services = session.execute(on_them, values | {"on": list(numbers)}).all()
    return Tagged(
        numbers,
        tuple(row.id for row in services),
        tuple(row.public_id for row in hosts),
        tuple(row.public_id for row in services),
    )


def list_tags(session: ReadSession) -> list[TagValue]:
    """All tags of hosts in service, by key, then the commonest first."""
    return [TagValue(*row) for row in session.execute(text(_CHOICES))]
