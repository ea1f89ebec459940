"""Releases of agents side by side, as they stand during a rolling upgrade."""

from dataclasses import dataclass
from datetime import datetime

import tierscope
from tierscope.domain.base.copying import copied
from tierscope.domain.base.pages import Page
from tierscope.domain.fleet.agent_versions import Standing, is_supported, oldest_supported, read_release, standing
from tierscope.storage.fleet import agent_versions as stored
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.wire.decode import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    version: str | None
    last_seen: datetime | None
    standing: Standing
    supported: bool
    protocol: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVersion(_Release):
    """A release in use. Version null: hosts that have sent nothing yet.

    `behind` is supported; `too_old`, `ahead` (newer than the service) and `unknown` are not. `hosts` is a count now.
    """

    hosts: int
    first_seen: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAgentVersion(_Release):
    """The release of one host's agent.

    `refused_at`: when its newest batch was refused because the service cannot read its `protocol`; it keeps its spool.
    """

    host_id: str
    name: str
    since: datetime | None
    outdated: bool
    refused_at: datetime | None


@dataclass(frozen=True, slots=True)
class AgentVersions:
    """Releases in use, newest first, and hosts by name. `protocol`: what this service reads."""

    service_version: str
    protocol: int
    oldest_supported: str | None
    refused_hosts: int
    versions: tuple[AgentVersion, ...]
    hosts: Page[HostAgentVersion]


class AgentVersionReads:
    """Reads of agents' releases."""

    def __init__(self, context: ReadContext) -> None:
        self._database = context.database
        self._service = tierscope.__version__

    def read(self, *, version: str | None, outdated: bool | None, limit: int, cursor: str | None) -> AgentVersions:
        """Releases in use, and hosts: all, those of one release, or those that are behind (or are not).

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        after = None
        if cursor is not None:
            name, number = decode_cursor(cursor, (str, int))
            after = (str(name), int(number))
        with self._database.read() as session:
            rows = stored.list_versions(session)
            wanted = self._wanted(rows, version, outdated=outdated)
            hosts = stored.list_host_versions(session, versions=wanted, after=after, limit=limit + 1)
            refused = stored.count_refused(session)
        more = encode_cursor(hosts[limit - 1].name, hosts[limit - 1].number) if len(hosts) > limit else None
        ordered = sorted(rows, key=lambda row: (read_release(row.version) or (-1, 0, 0), row.version or ""))
        return AgentVersions(
            service_version=self._service,
            protocol=SCHEMA_VERSION,
            oldest_supported=oldest_supported(self._service),
            refused_hosts=refused,
            versions=tuple(self._version(row) for row in reversed(ordered)),
            hosts=Page(tuple(self._host(row) for row in hosts[:limit]), more),
        )

    def _wanted(
        self, rows: list[stored.VersionRow], version: str | None, *, outdated: bool | None
    ) -> list[str | None] | None:
        if version is None and outdated is None:
            return None
        return [
            row.version
            for row in rows
            if version in (None, row.version) and outdated in (None, self._is_outdated(row.version))
        ]

    def _is_outdated(self, version: str | None) -> bool:
        return standing(version, self._service) in ("behind", "too_old")

    def _version(self, row: stored.VersionRow) -> AgentVersion:
        found = standing(row.version, self._service)
        return copied(
            AgentVersion,
            row,
            standing=found,
            supported=is_supported(found),
            protocol=None if row.version is None else SCHEMA_VERSION,
        )

    def _host(self, row: stored.HostVersionRow) -> HostAgentVersion:
        found = standing(row.version, self._service)
        known = None if row.version is None else SCHEMA_VERSION
        return copied(
            HostAgentVersion,
            row,
            standing=found,
            outdated=self._is_outdated(row.version),
            supported=is_supported(found) and row.refused_protocol is None,
            protocol=known if row.refused_protocol is None else row.refused_protocol,
        )
