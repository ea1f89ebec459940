//! Swap devices under load: a block SSD behind a flash translation layer, a zoned SSD that the host reclaims, and pages
//! compressed in DRAM. Pure: no input or output, no clock; one seed gives one result.
//!
//! Threads of tenants access pages in a closed loop (see `run`). A page that is not in memory is read from the device
//! after another one left memory for it. The traffic of a replay is played in its own order and time (see `play`). Devices are smaller than real ones by a factor; ratios, not sizes, decide.

mod block;
mod clusters;
mod compressed;
mod dies;
mod log;
mod memory;
mod outcome;
mod params;
mod play;
mod random;
mod run;
mod store;
mod zoned;

pub use clusters::{FINE_TRIM_SLOTS, SWAP_FULL_RATIO, frees_slot_at_swap_in};
pub use outcome::{Counts, Outcome, TenantOutcome};
pub use params::{
    Backend, Block, CLUSTER_SLOTS, Compression, Flash, PAGE_BYTES, Params, SwapError, Tenant, Trim,
    ZonePolicy, Zoned,
};
pub use play::{Event, Played, Step, Traffic, play};
pub use run::run;
