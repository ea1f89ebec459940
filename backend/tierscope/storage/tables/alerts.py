"""Alert rules, their states and history, and the packed minutes that backtests read."""

from sqlalchemy import Table

ALERTS: tuple[Table, ...] = ()
