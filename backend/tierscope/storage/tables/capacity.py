"""Capacity: forecasts, plans and scheduled reports."""

from sqlalchemy import Table

CAPACITY: tuple[Table, ...] = ()
