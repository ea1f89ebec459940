//! Facts of the host: boot id, uptime, kernel, name, CPUs.

use tierscope_rootfs::{Missing, Reader};

use crate::process;

/// The kernel's random id of this boot.
pub fn boot_id(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/sys/kernel/random/boot_id").map(str::to_owned)
}

/// Time since boot, suspend included, in nanoseconds with a resolution of 10 ms. A text that tells none is noted.
pub fn uptime_ns(reader: &mut Reader) -> Option<i64> {
    reader.parsed(
        "/proc/uptime",
        "not `<seconds>.<hundredths> ...`",
        parse_uptime_ns,
    )
}

fn parse_uptime_ns(text: &str) -> Option<i64> {
    let (seconds, hundredths) = text.split_ascii_whitespace().next()?.split_once('.')?;
    if hundredths.len() != 2 {
        return None;
    }
    let whole_ns = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    whole_ns.checked_add(hundredths.parse::<i64>().ok()?.checked_mul(10_000_000)?)
}

/// Kernel release, such as `6.12.95+deb12-amd64`. Trees that others collected (hwloc-gather-topology, reports of support
/// tools) leave out its own file, and have it in a line that begins as `/proc/version` and `uname -a` do.
pub fn kernel_release(reader: &mut Reader) -> Result<String, Missing> {
    const LINES: [&str; 3] = [
        "/proc/version",
        "/sos_commands/kernel/uname_-a",
        "/insights_commands/uname_-a",
    ];
    let own = reader.value("/proc/sys/kernel/osrelease").map(str::to_owned);
    if own != Err(Missing::Absent) || reader.root().is_live() {
        return own;
    }
    let release_in = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let release = words.nth(2)?;
        line.starts_with("Linux ").then(|| release.to_owned())
    };
    let mut releases = LINES
        .iter()
        .filter_map(|path| release_in(reader.value(path).ok()?));
    releases.next().ok_or(Missing::Absent)
}

/// The line of `/proc/version`, which names release, compiler and build.
pub fn kernel_version(reader: &mut Reader) -> Result<String, Missing> {
    reader.value("/proc/version").map(str::to_owned)
}

/// The host's name. Reports of support tools leave the kernel's out and have it elsewhere.
pub fn hostname(reader: &mut Reader) -> Result<String, Missing> {
    const REPORTED: [&str; 4] = [
        "/etc/hostname",
        "/sos_commands/host/hostname",
        "/insights_commands/hostname",
        "/insights_commands/hostname_-f",
    ];
    let own = reader.value("/proc/sys/kernel/hostname").map(str::to_owned);
    if own != Err(Missing::Absent) || reader.root().is_live() {
        return own;
    }
    let mut names = REPORTED
        .iter()
        .filter_map(|path| reader.value(path).ok().map(str::to_owned));
    names.find(|name| !name.is_empty()).ok_or(Missing::Absent)
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
    process::status_line(reader, pid, "Uid:", |uids| {
        uids.split_ascii_whitespace().nth(1)?.parse().ok()
    })
}

/// Effective capabilities of a process as a bit mask, from its `status`.
pub fn effective_capabilities(reader: &mut Reader, pid: &str) -> Option<u64> {
    process::status_line(reader, pid, "CapEff:", |mask| {
        u64::from_str_radix(mask.trim(), 16).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn a_report_names_its_host_where_the_kernels_own_name_is_left_out() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(hostname(&mut reader), Err(Missing::Absent));
        let place = directory.path().join("sos_commands/host");
        std::fs::create_dir_all(&place).expect("made");
        std::fs::write(place.join("hostname"), "db1.example\n").expect("written");
        assert_eq!(hostname(&mut reader).as_deref(), Ok("db1.example"));
    }

    #[test]
    fn a_tree_tells_its_kernel_where_the_kernels_own_release_is_left_out() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(kernel_release(&mut reader), Err(Missing::Absent));
        let sos = directory.path().join("sos_commands/kernel");
        std::fs::create_dir_all(&sos).expect("made");
        std::fs::write(sos.join("uname_-a"), "Linux db1 6.12.9 #1 SMP x86_64 GNU/Linux\n").expect("written");
        assert_eq!(kernel_release(&mut reader).as_deref(), Ok("6.12.9"));
        std::fs::create_dir_all(directory.path().join("proc/sys/kernel")).expect("made");
        std::fs::write(
            directory.path().join("proc/version"),
            "Linux version 6.18.44 (gcc) #1 SMP\n",
        )
        .expect("written");
        assert_eq!(kernel_release(&mut reader).as_deref(), Ok("6.18.44"));
        std::fs::write(directory.path().join("proc/sys/kernel/osrelease"), "6.1.0-18\n").expect("written");
        assert_eq!(kernel_release(&mut reader).as_deref(), Ok("6.1.0-18"));
    }

    #[test]
    fn uptime_has_hundredths() {
        assert_eq!(parse_uptime_ns("58.07 12.00\n"), Some(58_070_000_000));
        assert_eq!(parse_uptime_ns("soon"), None);
    }
}
