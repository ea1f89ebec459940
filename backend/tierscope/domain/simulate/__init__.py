"""Placement policies replayed over a page trace: what would happen on other hardware and other kernels."""

from tierscope.domain.simulate.claims import Claim, Ends, claim_replay
from tierscope.domain.simulate.costs import Costs, Loss, Stall, estimate_loss, stall_time
from tierscope.domain.simulate.machine import Machine, split_machine
from tierscope.domain.simulate.policies import (
    POLICIES,
    POLICY_NAMES,
    Policy,
    PolicyName,
    SettingsError,
    make_policy,
    parse_settings,
)
from tierscope.domain.simulate.presets import WORKLOADS, Workload, find_workload
from tierscope.domain.simulate.replay import Figures, GroupEvent, Outcome, TenantSetting, Totals, replay
from tierscope.domain.simulate.service_workloads import (
    SERVICES,
    WORKLOAD_INTERVALS,
    WORKLOAD_PAGES,
    WORKLOAD_SEED,
    Service,
    make_workload,
    workload_columns,
)
from tierscope.domain.simulate.trace import (
    TimedSample,
    TraceColumns,
    compile_trace,
    of_page_trace,
    of_recording,
    of_sampled_pages,
)
from tierscope.domain.simulate.workloads import PATTERNS, Pattern, Population, generate, make_pattern

__all__ = [
    "PATTERNS",
    "POLICIES",
    "POLICY_NAMES",
    "SERVICES",
    "WORKLOADS",
    "WORKLOAD_INTERVALS",
    "WORKLOAD_PAGES",
    "WORKLOAD_SEED",
    "Claim",
    "Costs",
    "Ends",
    "Figures",
    "GroupEvent",
    "Loss",
    "Machine",
    "Outcome",
    "Pattern",
    "Policy",
    "PolicyName",
    "Population",
    "Service",
    "SettingsError",
    "Stall",
    "TenantSetting",
    "TimedSample",
    "Totals",
    "TraceColumns",
    "Workload",
    "claim_replay",
    "compile_trace",
    "estimate_loss",
    "find_workload",
    "generate",
    "make_pattern",
    "make_policy",
    "make_workload",
    "of_page_trace",
    "of_recording",
    "of_sampled_pages",
    "parse_settings",
    "replay",
    "split_machine",
    "stall_time",
    "workload_columns",
]
