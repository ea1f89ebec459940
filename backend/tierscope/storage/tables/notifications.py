"""Silences, routes, acknowledgements and notifications of alerts."""

from sqlalchemy import Table

NOTIFICATIONS: tuple[Table, ...] = ()
