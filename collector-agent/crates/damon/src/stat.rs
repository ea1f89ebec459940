//! `DAMON_STAT`: a module of newer kernels that watches all memory by itself and tells how long it has been idle.

use tierscope_rootfs::{Missing, Reader};

const PARAMETERS: &str = "/sys/module/damon_stat/parameters";

/// What the module says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DamonStat {
    /// Whether it runs. While it does, no other use of DAMON can.
    pub enabled: bool,
    /// Bytes accessed per second, as estimated from the regions.
    pub estimated_bytes_per_s: Option<u64>,
    /// Idle time of the memory by percentile 0 to 100, milliseconds; negative: time for which it has been accessed.
    pub idle_ms_percentiles: Option<Vec<i64>>,
    /// The aggregation interval in force, microseconds.
    pub aggregation_us: Option<u64>,
    /// Its kernel thread.
    pub kdamond_pid: Option<u32>,
}

/// Reads the module's parameters; absent where the kernel has no such module. Values that the kernel does not offer
/// are `None`.
pub fn read(reader: &mut Reader) -> Result<DamonStat, Missing> {
    let mut value = |name: &str| {
        let text = reader.value(&format!("{PARAMETERS}/{name}"))?;
        Ok::<_, Missing>(text.to_owned())
    };
    let enabled = value("enabled")? == "Y";
    let mut number = |name: &str| value(name).ok()?.parse::<i64>().ok();
    Ok(DamonStat {
        enabled,
        estimated_bytes_per_s: number("estimated_memory_bandwidth").and_then(|n| n.try_into().ok()),
        aggregation_us: number("aggr_interval_us").and_then(|n| n.try_into().ok()),
        kdamond_pid: number("kdamond_pid").and_then(|n| n.try_into().ok()),
        idle_ms_percentiles: value("memory_idle_ms_percentiles")
            .ok()
            .and_then(|text| parse_percentiles(&text)),
    })
}

/// 101 numbers with commas between them.
pub fn parse_percentiles(text: &str) -> Option<Vec<i64>> {
    let numbers: Option<Vec<i64>> = text.trim().split(',').map(|number| number.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == 101)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    #[test]
    fn parameters_are_read_where_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let mut reader = Reader::new(Root::new(directory.path()));
        assert_eq!(read(&mut reader), Err(Missing::Absent));
        let parameters = directory.path().join(&PARAMETERS[1..]);
        std::fs::create_dir_all(&parameters).unwrap();
        let idle: Vec<_> = (0..=100).map(|n| (n * 50 - 200).to_string()).collect();
        for (file, text) in [
            ("enabled", "Y\n"),
            ("estimated_memory_bandwidth", "1048576\n"),
            ("memory_idle_ms_percentiles", &format!("{}\n", idle.join(","))),
            ("kdamond_pid", "-1\n"),
        ] {
            std::fs::write(parameters.join(file), text).unwrap();
        }
        let stat = read(&mut reader).unwrap();
        assert_eq!((stat.enabled, stat.estimated_bytes_per_s), (true, Some(1 << 20)));
        assert_eq!((stat.kdamond_pid, stat.aggregation_us), (None, None));
        let idle = stat.idle_ms_percentiles.unwrap();
        assert_eq!((idle[0], idle[100]), (-200, 4800));
        assert_eq!(parse_percentiles("1,2,3"), None);
    }
}
