//! The text of `perf script`: samples with a data address, and the side band with `--show-mmap-events` and
//! `--show-task-events`.
//!
//! A sample is one line: name, process and thread, optional CPU, time, optional period, event, address, and whatever
//! follows. The address must be the first field after the event (`-F ...,event,addr`), because nothing in the text tells
//! it from an instruction's address.

use std::collections::HashMap;
use std::sync::Arc;

use tierscope_perf::Served;

use crate::perf_samples::{
    PerfAccess, PerfEvent, PerfFileError, PerfLimits, PerfRecording, PerfSample, ProcessChange, TimedChange,
};

const SIDE_BAND: &str = "PERF_RECORD_";
/// Lines looked at to tell the form.
const HEAD_LINES: usize = 200;
const NANOS_DIGITS: usize = 9;

/// A line that begins as those of samples and of the side band do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    name: &'a str,
    pid: u32,
    time_ns: u64,
    /// What follows the time.
    rest: &'a str,
}

/// Whether a text that begins with `head` is of `perf script`: a line of a sample or of the side band is among its
/// first.
pub(crate) fn looks_like_script(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    // What damo's tracepoint prints has the same shape and is read by its own reader.
    let is_ours = |line: &Line<'_>| {
        let event = || sample(line.rest).map(|(_, event, _)| event);
        line.rest.starts_with(SIDE_BAND) || event().is_some_and(|event| !event.starts_with("damon:"))
    };
    text.lines()
        .take(HEAD_LINES)
        .filter_map(Line::parse)
        .any(|line| is_ours(&line))
}

/// Reads a whole text. Lines of another shape are passed over.
pub(crate) fn read(text: &str, limits: PerfLimits) -> Result<PerfRecording, PerfFileError> {
    let mut recording = PerfRecording::default();
    let mut event_of_name: HashMap<&str, usize> = HashMap::new();
    let mut name_of_pid: HashMap<u32, &str> = HashMap::new();
    for line in text.lines().filter_map(Line::parse) {
        if name_of_pid.insert(line.pid, line.name) != Some(line.name) {
            let change = ProcessChange::Named {
                name: Arc::from(line.name),
                exec: false,
            };
            recording.changes.push(line.timed(line.pid, change));
        }
        if let Some(record) = line.rest.strip_prefix(SIDE_BAND) {
            if let Some(lost) = record.strip_prefix("LOST").and_then(lost) {
                recording.lost += lost;
            }
            recording.changes.extend(side_band(&line, record));
            continue;
        }
        let Some((period, event, rest)) = sample(line.rest) else {
            continue;
        };
        let event = *event_of_name.entry(event).or_insert_with(|| {
            recording.events.push(PerfEvent::named(event, period));
            recording.events.len() - 1
        });
        let described = &mut recording.events[event];
        // The period of an event is known where all its samples agree; once lost it stays so.
        if described.period != period {
            described.period = None;
        }
        let address = rest.split_ascii_whitespace().next().unwrap_or_default();
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap_or(0);
        let is_store = is_store(described.access, rest);
        let sample = PerfSample {
            time_ns: line.time_ns,
            pid: line.pid,
            address,
            is_store,
            served: data_src(rest).filter(|_| !is_store).map(Served::of_data_src),
            event,
        };
        recording.add(sample, limits)?;
    }
    recording.sort();
    Ok(recording)
}

/// With the data source printed (`-F ...,data_src`) it holds `|OP LOAD|` or `|OP STORE|`.
fn is_store(access: PerfAccess, rest: &str) -> bool {
    match access {
        PerfAccess::Loads => false,
        PerfAccess::Stores => true,
        PerfAccess::Either => rest.contains("|OP STORE") || rest.contains("OP_STORE"),
    }
}

/// The data source as a number: perf prints it before its words, `5080021 |OP LOAD|LVL ...`.
fn data_src(rest: &str) -> Option<u64> {
    let (before, _) = rest.split_once("|OP ")?;
    u64::from_str_radix(before.split_ascii_whitespace().next_back()?, 16).ok()
}

/// Period, event and what follows it: `200 cpu/mem-loads/P: 7f00 ...`.
fn sample(rest: &str) -> Option<(Option<u64>, &str, &str)> {
    let (first, after) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let (period, named) = match first.parse() {
        Ok(period) => (Some(period), after.trim_start()),
        Err(_) => (None, rest),
    };
    let (event, after) = named.split_once([' ', '\t']).unwrap_or((named, ""));
    let event = event.strip_suffix(':')?;
    (!event.is_empty()).then_some((period, event, after.trim_start()))
}

impl<'a> Line<'a> {
    /// `name pid/tid [cpu] seconds.fraction: rest`; names may hold spaces, and slashes.
    fn parse(line: &'a str) -> Option<Self> {
        let mut searched = 0;
        loop {
            let colon = searched + line.get(searched..)?.find(": ")?;
            searched = colon + 1;
            let begin = line[..colon].rfind([' ', '\t']).map_or(0, |space| space + 1);
            if let Some(time_ns) = nanoseconds(&line[begin..colon])
                && let Some((name, pid)) = owner(&line[..begin])
            {
                return Some(Self {
                    name,
                    pid,
                    time_ns,
                    rest: line[colon + 1..].trim_start(),
                });
            }
        }
    }

    fn timed(&self, pid: u32, change: ProcessChange) -> TimedChange {
        TimedChange {
            time_ns: self.time_ns,
            pid,
            change,
        }
    }
}

/// `6079.114742` as nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let is_number = !fraction.is_empty() && fraction.len() <= NANOS_DIGITS;
    if !is_number || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u64.pow((NANOS_DIGITS - fraction.len()) as u32);
    let nanos = fraction.parse::<u64>().ok()? * scale;
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanos)
}

/// Name and process of what stands before the time: `name pid/tid [cpu]`. Without `/` it is a thread alone, and stands
/// for its process.
fn owner(before: &str) -> Option<(&str, u32)> {
    let mut rest = before.trim_end();
    if rest.ends_with(']') {
        rest = rest[..rest.rfind('[')?].trim_end();
    }
    let begin = rest.rfind([' ', '\t']).map_or(0, |space| space + 1);
    let ids = &rest[begin..];
    let pid = ids.split_once('/').map_or(ids, |(pid, _)| pid);
    // Threads of the kernel's idle task have none.
    let pid = if pid == "-1" { u32::MAX } else { pid.parse().ok()? };
    Some((rest[..begin].trim(), pid))
}

/// `MMAP2 3421/3421: [0x7f9be933f000(0x100000) @ 0x1000 00:01 4011 1452017698]: rw-s /dev/zero (deleted)`, `COMM exec:
/// name:3421/3421`, `FORK(3421:3421):(3000:3000)`.
fn side_band(line: &Line<'_>, record: &str) -> Option<TimedChange> {
    if let Some(mapped) = record.strip_prefix("MMAP") {
        return mapping(line, mapped.strip_prefix('2').unwrap_or(mapped));
    }
    if let Some(named) = record.strip_prefix("COMM") {
        let exec = named.trim_start().starts_with("exec");
        let (text, ids) = named.split_once(": ")?.1.rsplit_once(':')?;
        let pid = ids.split_once('/')?.0.parse().ok()?;
        let change = ProcessChange::Named {
            name: Arc::from(text.trim()),
            exec,
        };
        return Some(line.timed(pid, change));
    }
    let (child, parent) = record.strip_prefix("FORK(")?.split_once("):(")?;
    let pid: u32 = child.split_once(':')?.0.parse().ok()?;
    let parent_pid: u32 = parent.split_once(':')?.0.parse().ok()?;
    (pid != parent_pid).then(|| line.timed(pid, ProcessChange::Forked { parent_pid }))
}

fn mapping(line: &Line<'_>, record: &str) -> Option<TimedChange> {
    let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (ids, place) = record.split_once(": [")?;
    let pid = ids.trim().split_once('/')?.0;
    let pid = if pid == "-1" { u32::MAX } else { pid.parse().ok()? };
    let (place, after) = place.split_once("]:")?;
    let (range, file) = place.split_once(" @ ")?;
    let (start, size) = range.trim_end_matches(')').split_once('(')?;
    let mut fields = file.split_ascii_whitespace();
    let offset_bytes = hexadecimal(fields.next()?)?;
    let device = fields.next().and_then(|device| {
        let (major, minor) = device.split_once(':')?;
        Some(hexadecimal(major)? << 32 | hexadecimal(minor)?)
    });
    let inode = fields.next().and_then(|inode| inode.parse().ok());
    let name = after.trim_start().split_once(' ').map_or("", |(_, name)| name);
    let change = ProcessChange::Mapped {
        start: hexadecimal(start)?,
        size_bytes: hexadecimal(size)?,
        offset_bytes,
        file: (device.unwrap_or(0), inode.unwrap_or(0)),
        name: Arc::from(name.trim()),
    };
    Some(line.timed(pid, change))
}

/// `LOST lost 17` and `LOST_SAMPLES lost 17`.
fn lost(record: &str) -> Option<u64> {
    record.rsplit_once("lost ")?.1.trim().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const TEXT: &str = "\
# captured by hand
     web server 3421/3425  [003]  6079.114742:        200 cpu/mem-loads,ldlat=30/P:     7f9be933f018 [unknown] (//anon)
     web server 3421/3425  [003]  6079.2:        200 cpu/mem-stores/P:     7f9be9340fff
a/b 77/78 6080.000000001: PERF_RECORD_MMAP2 77/77: [0x7f0000000000(0x100000) @ 0x2000 fe:01 4011 7]: rw-s /dev/shm/a b
a/b 77/78 6080.1: PERF_RECORD_COMM exec: new name:77/77
a/b 77/78 6080.2: PERF_RECORD_FORK(90:90):(77:77)
a/b 77/78 6080.2: PERF_RECORD_FORK(77:91):(77:77)
a/b 77/78 6080.3: PERF_RECORD_LOST lost 17
a/b 77 6080.4: mem_load_retired.l3_miss: ffff888100000000 x
not a line of anything
";

    #[test]
    fn samples_have_their_process_time_address_and_kind() {
        assert!(looks_like_script(TEXT.as_bytes()));
        let recording = read(TEXT, PerfLimits::default()).unwrap();
        let names: Vec<&str> = recording.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "cpu/mem-loads,ldlat=30/P",
                "cpu/mem-stores/P",
                "mem_load_retired.l3_miss"
            ]
        );
        assert_eq!(recording.events[0].period, Some(200));
        let samples: Vec<_> = recording
            .samples
            .iter()
            .map(|sample| (sample.pid, sample.time_ns, sample.address, sample.is_store))
            .collect();
        assert_eq!(
            samples,
            [
                (3421, 6_079_114_742_000, 0x7f9b_e933_f018, false),
                (3421, 6_079_200_000_000, 0x7f9b_e934_0fff, true)
            ]
        );
        assert_eq!((recording.without_address, recording.lost), (1, 17));
    }

    #[test]
    fn what_happened_to_processes_is_read() {
        let recording = read(TEXT, PerfLimits::default()).unwrap();
        let shown: Vec<String> = recording
            .changes
            .iter()
            .map(|timed| format!("{} {:?}", timed.pid, timed.change))
            .collect();
        assert_eq!(
            shown,
            [
                "3421 Named { name: \"web server\", exec: false }",
                "77 Named { name: \"a/b\", exec: false }",
                "77 Mapped { start: 139637976727552, size_bytes: 1048576, offset_bytes: 8192, file: (1090921693185, 4011), \
                 name: \"/dev/shm/a b\" }",
                "77 Named { name: \"new name\", exec: true }",
                "90 Forked { parent_pid: 77 }",
            ]
        );
    }

    #[test]
    fn other_texts_are_not_taken_for_it() {
        for text in [
            "",
            "a b c",
            "{\"a\": 1}",
            "12.5: x",
            "MemTotal:  4 kB\n",
            "x 1/2 5.x: y: 1",
        ] {
            assert!(!looks_like_script(text.as_bytes()), "{text}");
        }
        let damo =
            "kdamond.0 1/1 [000] 5.000001: damon:damon_aggregated: target_id=0 nr_regions=4 1-2: 3 4\n";
        assert!(!looks_like_script(damo.as_bytes()));
    }

    #[test]
    fn what_served_a_load_is_read_from_its_number() {
        let line = |event: &str, source: &str| format!("a 1/1 1.5: 7 {event}: 1000 {source}\n");
        let local = "       1a08001042 |OP LOAD|LVL RAM hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
        let cxl = "       1200000042 |OP LOAD|LVL CXL hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A";
        let store = "       1a08001044 |OP STORE|LVL RAM hit|SNP None|TLB N/A|LCK No|BLK  N/A";
        let cases = [
            (line("cpu/mem-loads/P", local), Some(Served::DramLocal)),
            (line("ibs_op//", cxl), Some(Served::Cxl)),
            (line("ibs_op//", store), None),
            (line("cpu/mem-loads/P", ""), None),
        ];
        for (text, served) in cases {
            let recording = read(&text, PerfLimits::default()).unwrap();
            assert_eq!(recording.samples[0].served, served, "{text}");
        }
    }

    #[test]
    fn a_period_that_varies_is_not_known() {
        let line = |period: u32| format!("a 1/1 1.5: {period} ibs_op//: 1000 |OP STORE|LVL L3\n");
        let of = |periods: &[u32]| {
            let text: String = periods.iter().map(|period| line(*period)).collect();
            let recording = read(&text, PerfLimits::default()).unwrap();
            assert!(recording.samples.iter().all(|sample| sample.is_store));
            recording.events[0].period
        };
        assert_eq!(of(&[7, 7, 7]), Some(7));
        assert_eq!(of(&[7, 8, 7]), None);
        assert_eq!(of(&[7, 8, 8, 8]), None);
    }
}
