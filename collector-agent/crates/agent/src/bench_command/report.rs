//! Results as text.

use std::io::{self, Write};

use tierscope_sample::inventory::{BenchFigure, NodeBench};
use tierscope_sysfs::copy_engines::CopyEngine;

use super::stored::Document;

/// Marks figures whose repetitions differ much.
const DISTURBED_MARK: &str = "~";

/// Memory behind other processors is coherent through their caches and shares their link (Sun et al., Demystifying CXL
/// Memory, MICRO 2023, section 4.4).
const ANOTHER_SOCKET: &str = "This is DRAM of another socket, not a CXL device: devices have other latencies, less \
                              bandwidth, and stores and random accesses cost them more.";

/// Writes a table per pair of nodes.
pub(super) fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    for bench in &document.benches {
        write_pair(bench, out)?;
        if is_of_another_socket(bench, document) {
            writeln!(out, "\n  {ANOTHER_SOCKET}")?;
        }
        writeln!(out)?;
    }
    for pair in &document.skipped {
        writeln!(
            out,
            "processors of node {} to memory of node {}: not measured: {}",
            pair.cpu_node, pair.memory_node, pair.reason
        )?;
    }
    for engine in document.copy_engines.iter().flatten() {
        writeln!(out, "{}", describe_engine(engine))?;
    }
    writeln!(
        out,
        "{DISTURBED_MARK} repetitions differ by more than a quarter: something else ran."
    )
}

fn describe_engine(engine: &CopyEngine) -> String {
    let node = engine
        .node
        .map_or(String::new(), |node| format!(" of node {node}"));
    let queues = match (engine.is_enabled, engine.user_queues.as_slice()) {
        (false, _) => "is not set up".to_owned(),
        (true, []) => "has no queue that programs can use".to_owned(),
        (true, queues) => format!("can be used by programs ({})", queues.join(", ")),
    };
    format!(
        "copy engine {}{node} {queues}: not measured, all figures are those of processors",
        engine.name
    )
}

/// Whether the memory node has processors of its own, and others were measured.
fn is_of_another_socket(bench: &NodeBench, document: &Document) -> bool {
    let measured = document.benches.iter().map(|pair| pair.cpu_node);
    let left_out = document.skipped.iter().map(|pair| pair.cpu_node);
    bench.cpu_node != bench.memory_node && measured.chain(left_out).any(|node| node == bench.memory_node)
}

fn write_pair(bench: &NodeBench, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "Processors of node {} to memory of node {} ({})",
        bench.cpu_node, bench.memory_node, bench.method
    )?;
    if let Some(huge_bytes) = bench.huge_page_bytes.filter(|huge| *huge < bench.buffer_bytes) {
        writeln!(
            out,
            "  {} of {} MiB are in huge pages: latencies hold page walks",
            huge_bytes >> 20,
            bench.buffer_bytes >> 20
        )?;
    }
    writeln!(
        out,
        "\n  {:<26} {:>9} {:>9} {:>9}",
        "latency, ns", "median", "p10", "p90"
    )?;
    for figure in bench.figures.iter().filter(|figure| figure.unit == "ns") {
        writeln!(
            out,
            "  {:<26} {:>9.1} {:>9.1} {:>9.1} {}",
            figure.name.trim_end_matches("_latency"),
            figure.median,
            figure.p10,
            figure.p90,
            mark(figure.disturbed)
        )?;
    }
    write_bandwidths(bench, out)?;
    if !bench.loaded.is_empty() {
        writeln!(
            out,
            "\n  {:<26} {:>9} {:>12}",
            "under load: GB/s", "ns", "utilisation"
        )?;
    }
    for point in &bench.loaded {
        writeln!(
            out,
            "  {:<26.2} {:>9.1} {:>11.0}% {}",
            point.bandwidth_bytes_per_s / 1e9,
            point.latency_ns,
            point.utilisation_ratio * 100.0,
            mark(point.disturbed)
        )?;
    }
    for skip in &bench.skipped {
        writeln!(out, "  {}: {}", skip.name, skip.reason)?;
    }
    Ok(())
}

/// One line per operation, pattern and block size, one column per number of threads.
fn write_bandwidths(bench: &NodeBench, out: &mut impl Write) -> io::Result<()> {
    let figures: Vec<&BenchFigure> = bench
        .figures
        .iter()
        .filter(|figure| figure.unit != "ns")
        .collect();
    let row = |figure: &BenchFigure| (figure.name.clone(), figure.pattern.clone(), figure.block_bytes);
    let mut rows: Vec<_> = Vec::new();
    let mut threads: Vec<u32> = figures.iter().map(|figure| figure.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    for figure in &figures {
        if !rows.contains(&row(figure)) {
            rows.push(row(figure));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    write!(out, "\n  {:<36}", "bandwidth, GB/s; threads")?;
    threads
        .iter()
        .try_for_each(|threads| write!(out, " {threads:>8} "))?;
    writeln!(out)?;
    for key in rows {
        let block = match key.2 {
            0 => String::new(),
            bytes => format!(", {bytes} B"),
        };
        let name = format!("{} {}{block}", key.0.trim_end_matches("_bandwidth"), key.1);
        write!(out, "  {name:<36}")?;
        for threads in &threads {
            let is_it = |figure: &&&BenchFigure| row(figure) == key && figure.threads == *threads;
            match figures.iter().find(is_it) {
                Some(figure) => write!(out, " {:>8.2}{:1}", figure.median / 1e9, mark(figure.disturbed))?,
                None => write!(out, " {:>8} ", "-")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn mark(disturbed: bool) -> &'static str {
    if disturbed { DISTURBED_MARK } else { "" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::bench_command::stored::SkippedPair;
    use tierscope_sample::inventory::{BenchSkip, LoadedPoint};

    fn figure(name: &str, unit: &str, threads: u32, median: f64, disturbed: bool) -> BenchFigure {
        BenchFigure {
            name: name.to_owned(),
            unit: unit.to_owned(),
            threads,
            pattern: "sequential".to_owned(),
            median,
            p10: median,
            p90: median,
            repetitions: 5,
            disturbed,
            ..BenchFigure::default()
        }
    }

    #[test]
    fn memory_of_another_socket_is_not_taken_for_a_device() {
        let pair = |cpu_node, memory_node| NodeBench {
            cpu_node,
            memory_node,
            ..NodeBench::default()
        };
        let shown = |benches: Vec<NodeBench>| {
            let mut out = Vec::new();
            write(&Document::new(benches, Vec::new()), &mut out).unwrap();
            String::from_utf8(out).unwrap().matches(ANOTHER_SOCKET).count()
        };
        assert_eq!(shown(vec![pair(0, 0), pair(0, 1), pair(1, 1), pair(1, 0)]), 2);
        assert_eq!(shown(vec![pair(0, 0), pair(0, 2), pair(1, 1), pair(1, 2)]), 0);
    }

    #[test]
    fn copy_engines_are_told_and_not_taken_for_measured() {
        let engine = |name: &str, node, is_enabled, queues: &[&str]| CopyEngine {
            name: name.to_owned(),
            node,
            is_enabled,
            user_queues: queues.iter().map(|&queue| queue.to_owned()).collect(),
        };
        let told = |engine: CopyEngine| {
            let mut document = Document::new(Vec::new(), Vec::new());
            document.copy_engines = Some(vec![engine]);
            let mut out = Vec::new();
            write(&document, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let usable = told(engine("dsa0", Some(1), true, &["wq0.0", "wq0.1"]));
        assert!(
            usable.contains("dsa0 of node 1 can be used by programs (wq0.0, wq0.1): not measured"),
            "{usable}"
        );
        assert!(told(engine("dsa2", None, true, &[])).contains("dsa2 has no queue"));
        assert!(told(engine("dsa4", Some(0), false, &[])).contains("dsa4 of node 0 is not set up"));
    }

    #[test]
    fn figures_stand_in_their_columns_and_disturbed_ones_are_marked() {
        let bench = NodeBench {
            figures: vec![
                figure("idle_latency", "ns", 1, 101.25, false),
                figure("read_bandwidth", "bytes_per_s", 1, 12.5e9, false),
                figure("read_bandwidth", "bytes_per_s", 2, 24.0e9, true),
            ],
            loaded: vec![LoadedPoint {
                bandwidth_bytes_per_s: 6e9,
                latency_ns: 130.0,
                utilisation_ratio: 0.25,
                ..LoadedPoint::default()
            }],
            buffer_bytes: 4 << 20,
            huge_page_bytes: Some(2 << 20),
            skipped: vec![BenchSkip {
                name: "nt_store_latency".to_owned(),
                reason: "not supported by this processor".to_owned(),
            }],
            ..NodeBench::default()
        };
        let skipped = SkippedPair {
            cpu_node: 0,
            memory_node: 1,
            reason: "too little free".to_owned(),
        };
        let mut out = Vec::new();
        write(&Document::new(vec![bench], vec![skipped]), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = [
            "idle                           101.2",
            "12.50     24.00~",
            "6.00                           130.0          25%",
            "2 of 4 MiB are in huge pages",
            "nt_store_latency: not supported",
            "memory of node 1: not measured: too little free",
        ];
        for part in expected {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
    }
}
