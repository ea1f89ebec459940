"""Sweeps of the simulator: what was asked, its tasks and their results."""

from sqlalchemy import Table

SWEEPS: tuple[Table, ...] = ()
