"""How many hosts an answer lacks, as the servers that hold them do not answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.domain.base.described import Described


@dataclass(frozen=True, slots=True)
class HostsAway:
    """Hosts that no count of the answer holds: those of database nodes that are away."""

    nodes: Annotated[tuple[str, ...], Described("Nodes that are away, by name; none where all answer.")]
    hosts_away: Annotated[
        int | None,
        Described(
            "Hosts on them, neither retired nor revoked, when they were last counted; null where one was never counted."
        ),
    ]
    counted_at: Annotated[
        datetime | None, Described("When that was, of the node that was counted longest ago; null without a count.")
    ]

    def tell(self) -> str | None:
        """`8 more hosts are on node n2, which is away (counted 2026-11-27 15:02 UTC)`; None where all nodes answer."""
        if not self.nodes:
            return None
        *others, last = self.nodes
        where = f"nodes {', '.join(others)} and {last}, which are away" if others else f"node {last}, which is away"
        if self.hosts_away is None:
            return f"how many more hosts are on {where}, is not known"
        more = "1 more host is" if self.hosts_away == 1 else f"{self.hosts_away:,} more hosts are"
        return f"{more} on {where} ({self._counted()})"

    def amount(self) -> str:
        """`8 hosts, counted 2026-11-27 15:02 UTC`, or that nobody knows."""
        if self.hosts_away is None:
            return "how many hosts is not known"
        return f"{self.hosts_away:,} host{'' if self.hosts_away == 1 else 's'}, {self._counted()}"

    def _counted(self) -> str:
        return "" if self.counted_at is None else f"counted {self.counted_at:%Y-%m-%d %H:%M} UTC"


NONE_AWAY = HostsAway((), 0, None)
