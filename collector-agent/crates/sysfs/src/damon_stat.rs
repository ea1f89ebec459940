//! `DAMON_STAT`: the kernel's own estimate of memory activity, where the module is built in and switched on (root).

use tierscope_rootfs::{Missing, Reader, text};

use crate::knobs;

const PARAMETERS: &str = "/sys/module/damon_stat/parameters";
/// Percentiles of idle time that are kept of the 101 that the kernel gives.
pub const PERCENTILES: [usize; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// Whether the module is measuring; `Absent` where the kernel has none.
pub fn enabled(reader: &mut Reader) -> Result<bool, Missing> {
    reader
        .value(&format!("{PARAMETERS}/enabled"))
        .map(|value| knobs::switch(value) == Some(true))
}

/// Reads `estimated_memory_bandwidth` (bytes/s), `aggr_interval_us`, and `memory_idle_ms[p50]` and its kin: idle time of
/// the given share of memory in milliseconds, negative for memory in use.
pub fn read(reader: &mut Reader, mut emit: impl FnMut(&str, i64)) {
    for file in ["estimated_memory_bandwidth", "aggr_interval_us"] {
        if let Some(value) = reader.number(&format!("{PARAMETERS}/{file}")) {
            emit(file, value);
        }
    }
    let list = format!("{PARAMETERS}/memory_idle_ms_percentiles");
    let values: Option<Vec<i64>> = reader.parsed(&list, "not 101 whole numbers", |list| {
        let values: Option<Vec<i64>> = list.split(',').map(|word| text::number(word.trim())).collect();
        values.filter(|values| values.len() > 100)
    });
    for percentile in PERCENTILES {
        if let Some(idle_ms) = values.as_ref().and_then(|values| values.get(percentile)) {
            emit(&format!("memory_idle_ms[p{percentile}]"), *idle_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn some_percentiles_are_kept() {
        let list = (0..101)
            .map(|index| (index - 20).to_string())
            .collect::<Vec<_>>()
            .join(",");
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/module/damon_stat/parameters/enabled", "Y\n"),
            (
                "sys/module/damon_stat/parameters/estimated_memory_bandwidth",
                "123456\n",
            ),
            (
                "sys/module/damon_stat/parameters/memory_idle_ms_percentiles",
                &list,
            ),
        ]);
        assert_eq!(enabled(&mut reader), Ok(true));
        let mut seen = Vec::new();
        read(&mut reader, |name, value| seen.push((name.to_owned(), value)));
        assert_eq!(seen[0], ("estimated_memory_bandwidth".to_owned(), 123_456));
        assert_eq!(seen[1], ("memory_idle_ms[p1]".to_owned(), -19));
        assert_eq!(seen.len(), 1 + PERCENTILES.len());
    }

    #[test]
    fn a_kernel_without_it_says_so() {
        let (_directory, mut reader) = fake_root::reader(&[]);
        assert_eq!(enabled(&mut reader), Err(Missing::Absent));
        read(&mut reader, |name, _| panic!("{name} is not there"));
    }
}
