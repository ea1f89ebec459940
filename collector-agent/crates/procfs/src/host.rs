//! Facts of the host: boot id, uptime, kernel, name, CPUs.

use tierscope_rootfs::{Missing, Outcome, ParseError, Reader};

/// The kernel's random id of this boot.
pub fn boot_id(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/sys/kernel/random/boot_id").map(str::to_owned)
}

/// Time since boot, suspend included, in nanoseconds with a resolution of 10 ms.
pub fn uptime_ns(reader: &mut Reader) -> Outcome<i64> {
    reader.parse("/proc/uptime", |text| {
        parse_uptime_ns(text)
            .ok_or_else(|| ParseError::new(1, text.trim(), "not `<seconds>.<hundredths> ...`"))
    })
}

fn parse_uptime_ns(text: &str) -> Option<i64> {
    let (seconds, hundredths) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let whole_ns = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    whole_ns.checked_add(hundredths.parse::<i64>().ok()?.checked_mul(10_000_000)?)
}

/// Kernel release, such as `6.12.95+deb12-amd64`.
pub fn kernel_release(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/sys/kernel/osrelease").map(str::to_owned)
}

/// The line of `/proc/version`, which names release, compiler and build.
pub fn kernel_version(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/version").map(str::to_owned)
}

/// The host's name.
pub fn hostname(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/sys/kernel/hostname").map(str::to_owned)
}

/// What `/proc/cpuinfo` says of the processors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Model of the first processor, "" where the architecture does not print one.
    pub model: String,
    /// Logical processors online.
    pub online: u32,
}

/// Processor model and count.
pub fn cpus(reader: &mut Reader) -> Result<Cpus, Missing> {
    let mut cpus = Cpus::default();
    let path = reader.root().join("/proc/cpuinfo");
    reader.each_line(&path, u64::MAX, |line| {
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        match name.trim() {
            "processor" => cpus.online += 1,
            "model name" | "Model" if cpus.model.is_empty() => value.trim().clone_into(&mut cpus.model),
            _ => {}
        }
    })?;
    Ok(cpus)
}

/// Effective user id of a process, from its `status`.
pub fn effective_uid(reader: &mut Reader, pid: &str) -> Option<u64> {
    let text = reader.read(&format!("/proc/{pid}/status")).ok()?;
    let uids = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    uids.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Effective capabilities of a process as a bit mask, from its `status`.
pub fn effective_capabilities(reader: &mut Reader, pid: &str) -> Option<u64> {
    let text = reader.read(&format!("/proc/{pid}/status")).ok()?;
    let mask = text.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_has_hundredths() {
        assert_eq!(parse_uptime_ns("58.07 12.00\n"), Some(58_070_000_000));
        assert_eq!(parse_uptime_ns("soon"), None);
    }
}
