"""Tier moves: the ledger of promotions and demotions, normalised over kernel dialects, and what it says."""

from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMN_KEYS, COLUMNS, Column, Dialect, Trust
from tierscope.domain.ledger.ledger import Ledger, block_ledger, build_ledger, concatenate
from tierscope.domain.ledger.outcome import CHANCE
from tierscope.domain.ledger.ping_pong import (
    Bounded,
    Measured,
    bound_churn,
    bound_moves,
    count_returns,
    cpu_core_ratio,
    follow_states,
    measure_tpp,
    move_bytes_per_s,
    traffic_holds,
)
from tierscope.domain.ledger.plan import ColumnPlan, Plan, Tiers, find_dialect, plan_host, plan_service
from tierscope.domain.ledger.promotion_limit import count_promotion_nodes, limited_bytes_per_s
from tierscope.domain.ledger.verdict import Context, Sign, Verdict, Word, judge, steady_intervals

__all__ = [
    "CHANCE",
    "COLUMNS",
    "COLUMN_INDEX",
    "COLUMN_KEYS",
    "Bounded",
    "Column",
    "ColumnPlan",
    "Context",
    "Dialect",
    "Ledger",
    "Measured",
    "Plan",
    "Sign",
    "Tiers",
    "Trust",
    "Verdict",
    "Word",
    "block_ledger",
    "bound_churn",
    "bound_moves",
    "build_ledger",
    "concatenate",
    "count_promotion_nodes",
    "count_returns",
    "cpu_core_ratio",
    "find_dialect",
    "follow_states",
    "judge",
    "limited_bytes_per_s",
    "measure_tpp",
    "move_bytes_per_s",
    "plan_host",
    "plan_service",
    "steady_intervals",
    "traffic_holds",
]
