//! The text form of a record of damo: lines of `perf script` or `trace-cmd report` on the tracepoints `damon_aggregated`
//! and `damon_region_aggregated`.
//!
//! A line is `... SECONDS.FRACTION: damon:damon_aggregated: target_id=T nr_regions=N START-END: ACCESSES AGE`, with
//! further `name=value` words from later kernels; the N regions of a snapshot are N lines. The end of each snapshot is recorded and its start is not: it starts at the end
//! of the one before, the first one an average interval before its end.

use crate::damo_record::{
    DamoError, DamoLimits, DamoRecord, DamoRegion, DamoSnapshot, parse_number, split_at_event,
};

const SECOND_NS: u64 = 1_000_000_000;

struct Line {
    end_ns: i64,
    target: u64,
    /// Regions of its snapshot.
    regions: u64,
    region: DamoRegion,
}

/// A target and the snapshot that is being read.
struct Target {
    id: u64,
    /// End and regions of each snapshot.
    snapshots: Vec<(i64, Vec<DamoRegion>)>,
    /// Lines that the newest snapshot still has to get.
    missing: u64,
}

/// Reads the text form. Lines of other events and comments are passed over.
pub(crate) fn read(bytes: &[u8], limits: DamoLimits) -> Result<Vec<DamoRecord>, DamoError> {
    if bytes.len() as u64 > limits.text_bytes {
        return Err(DamoError::TooLarge {
            what: "bytes of text",
            limit: limits.text_bytes,
        });
    }
    let mut targets: Vec<Target> = Vec::new();
    let mut regions = 0_u64;
    for (index, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let fail = |problem| DamoError::Line {
            line: index + 1,
            problem,
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(fail("is not text"));
        };
        let Some((before, after)) = split_at_event(text) else {
            continue;
        };
        regions += 1;
        if regions > limits.regions {
            return Err(DamoError::TooLarge {
                what: "regions",
                limit: limits.regions,
            });
        }
        let line = parse_line(before, after).map_err(fail)?;
        let known = targets.iter().position(|target| target.id == line.target);
        let place = known.unwrap_or_else(|| {
            targets.push(Target {
                id: line.target,
                snapshots: Vec::new(),
                missing: 0,
            });
            targets.len() - 1
        });
        targets[place].push(&line).map_err(fail)?;
    }
    targets.into_iter().filter_map(Target::finish).collect()
}

impl Target {
    fn push(&mut self, line: &Line) -> Result<(), &'static str> {
        if line.regions == 0 {
            return Err("nr_regions is 0 and a region follows");
        }
        match self.snapshots.last_mut() {
            // Lines may have been lost: a region that begins no later than the last one belongs to the next snapshot.
            // One that begins within the last one overlaps it.
            Some((end_ns, regions))
                if self.missing > 0
                    && (*end_ns == line.end_ns
                        || regions.last().is_some_and(|last| last.start < line.region.start)) =>
            {
                regions.push(line.region);
                self.missing -= 1;
            }
            Some((end_ns, _)) if *end_ns >= line.end_ns => {
                return Err("a snapshot is not after the one ahead of it");
            }
            _ => {
                self.snapshots.push((line.end_ns, vec![line.region]));
                self.missing = line.regions - 1;
            }
        }
        Ok(())
    }

    fn finish(self) -> Option<Result<DamoRecord, DamoError>> {
        let first_ns = self.snapshots.first()?.0;
        let last_ns = self.snapshots.last()?.0;
        let gaps = self.snapshots.len() as i64 - 1;
        if gaps == 0 {
            // When the only snapshot began is unknown, so nothing can be said of an interval.
            return None;
        }
        // Rounded so that the start is cut to a whole nanosecond, as damo cuts it.
        let average_ns = (last_ns - first_ns) / gaps + i64::from((last_ns - first_ns) % gaps > 0);
        let mut start_ns = first_ns.saturating_sub(average_ns);
        let mut snapshots = Vec::with_capacity(self.snapshots.len());
        for (index, (end_ns, regions)) in self.snapshots.into_iter().enumerate() {
            match DamoSnapshot::new(start_ns, end_ns, regions) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(problem) => {
                    return Some(Err(DamoError::Snapshot {
                        record: 1,
                        snapshot: index + 1,
                        problem,
                    }));
                }
            }
            start_ns = end_ns;
        }
        Some(Ok(DamoRecord {
            kdamond: 0,
            context: 0,
            target: self.id,
            intervals: None,
            snapshots,
        }))
    }
}

/// Reads what stands before and after the name of the tracepoint.
fn parse_line(before: &str, after: &str) -> Result<Line, &'static str> {
    let time = before.split_ascii_whitespace().next_back();
    let time = time.and_then(|word| parse_number(word.strip_suffix(':')?, SECOND_NS));
    let end_ns = time.and_then(|time| i64::try_from(time).ok());
    let mut words = after.split_ascii_whitespace();
    let mut field = |name: &str| {
        let value = words.next()?.strip_prefix(name)?.strip_prefix('=')?;
        parse_number(value, 1)
    };
    let (target, regions) = (field("target_id"), field("nr_regions"));
    let range = words
        .next()
        .and_then(|word| word.strip_suffix(':')?.split_once('-'));
    let range = range.and_then(|(start, end)| parse_number(start, 1).zip(parse_number(end, 1)));
    let mut count = || {
        words
            .next()
            .filter(|word| !word.contains('='))
            .map(|word| parse_number(word, 1).and_then(|n| u32::try_from(n).ok()))
    };
    let (accesses, age) = (count().flatten(), count());
    let (start, end) = range.ok_or("expected START-END: after nr_regions=")?;
    Ok(Line {
        end_ns: end_ns.ok_or("expected a time in seconds before the name of the event")?,
        target: target.ok_or("expected target_id= and a number")?,
        regions: regions.ok_or("expected nr_regions= and a number")?,
        region: DamoRegion {
            start,
            end,
            accesses: accesses.ok_or("expected nr_accesses after the addresses")?,
            // Kernels before 5.17 do not print the age.
            age: age.map(|age| age.ok_or("the age is no number")).transpose()?,
        },
    })
}
