"""Tier moves of all hosts together, by ten minutes: what the fleet page draws over days."""

from sqlalchemy import Column, Double, Index, Integer, Table
from sqlalchemy.dialects.postgresql import ARRAY

from tierscope.storage.tables.plain import Instant, metadata

RATES = ("promoted", "demoted", "psi")
"""Columns begin with these; psi is the share of time that some task waited for memory."""

fleet_moves = Table(
    # ts = the start of ten minutes. Arrays run over its minutes, by the minute in which an interval ends.
    "fleet_moves",
    metadata,
    Column("ts", Instant, nullable=False),
    *(
        column
        for name in RATES
        for column in (
            Column(f"{name}_per_s", ARRAY(Double), nullable=False),  # rates of hosts, added up
            Column(f"{name}_hosts", ARRAY(Integer), nullable=False),  # that counted it in the minute
            Column(f"{name}_known", Integer, nullable=False),  # hosts that counted it in any of the minutes
        )
    ),
    Index(None, "ts"),
)
