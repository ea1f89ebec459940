//! The placement-policy simulator: a page trace replayed under a policy and a split of memory into DRAM, a slower tier
//! and swap. Pure: no input or output, no clock; one seed gives one result.
//!
//! All amounts are in units, which are base pages; a huge page is as many units as it has base pages. An interval is one
//! row of output. Its steps, in order (see `run`): deaths, births, accesses scored where their page is, faults from swap,
//! hint faults, promotions, demotions, offloading, the threshold, checks.

mod births;
mod demote;
mod group;
mod hints;
mod inactive;
mod kernel_lru;
mod kswapd;
mod lists;
mod metrics;
mod offload;
mod oracle;
mod page;
mod params;
mod pieces;
mod promote;
mod run;
mod scanner;
mod state;
mod swap;
mod tenant;
mod tenants;
mod trace;
mod victims;

pub use metrics::{Interval, Outcome, Place, SwapEvent};
pub use oracle::oracle_accesses;
pub use page::Kind;
pub use params::{
    GroupEvent, HintTime, HotPageSelection, Interleave, Kswapd, Lru, Memory, Offload, Params,
    ParamsError, Policy, Scan, Swap, SwapDevice, Tpp, Watermarks,
};
pub use run::{IdentityError, simulate, simulate_with_swap};
pub use swap::{offload_units, writes_of_evictions};
pub use tenant::{Tenant, TenantInterval};
pub use trace::{Pages, Rows, Trace, TraceError};

pub use hints::{adjusted_threshold, expected_hint_seconds, first_access};
