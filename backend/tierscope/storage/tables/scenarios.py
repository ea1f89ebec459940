"""Scenarios of cost and the price book."""

from sqlalchemy import Table

SCENARIOS: tuple[Table, ...] = ()
