//! Pressure stall information of the host: `/proc/pressure/*`.

use tierscope_rootfs::{Outcome, Reader, text};

/// Reads `/proc/pressure/<resource>` (`memory`, `cpu`, `io`, `irq`): `some_total_us` and `full_total_us`; `irq` has the
/// second alone. Absent or unreadable when the kernel was started without it.
pub fn read(reader: &mut Reader, resource: &str, emit: impl FnMut(&str, i64)) -> Outcome<()> {
    reader.parse_again(&format!("/proc/pressure/{resource}"), |text| {
        text::pressure_totals(text, emit)
    })
}
