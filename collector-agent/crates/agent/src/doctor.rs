//! What stands in the way of good tiering on this host, each with its cause, what to do, and how sure that is.

mod command;
mod facts;
mod file_problems;
mod hazards;
pub(crate) mod leftovers;
mod link_errors;
mod rules;
mod served;
mod tiering;

pub(crate) use command::Examined;
pub use command::{DoctorArgs, run};
pub(crate) use facts::Facts;
pub(crate) use file_problems::file_problems;
pub(crate) use hazards::{heeds_cpusets, zram_name};
pub(crate) use link_errors::LinkErrors;
pub(crate) use tiering::{Moves, Tiering, judge};

use tierscope_rootfs::Reader;
use tierscope_sample::inventory::{FileProblem, Finding, Inventory};

use tierscope_host::services::Discovered;

/// Findings of a host, worst first, and what was wrong with the files that they stand on. `errors` remembers errors of
/// links between examinations.
pub(crate) fn examine(
    reader: &mut Reader,
    inventory: &Inventory,
    discovered: &Discovered,
    errors: &mut LinkErrors,
) -> (Vec<Finding>, Vec<FileProblem>) {
    let mut facts = Facts::read(reader, inventory, discovered);
    facts.devices.risen = errors.look(&facts.devices.cxl);
    (rules::all(&facts), facts.problems)
}
