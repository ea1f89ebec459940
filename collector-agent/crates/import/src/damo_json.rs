//! The JSON form of a record of damo.

use std::io::{BufReader, Read};

use serde::{Deserialize, Deserializer, de};

use crate::damo_record::{
    DamoError, DamoIntervals, DamoLimits, DamoRecord, DamoRegion, DamoSnapshot, parse_number,
};

/// Nanoseconds of a microsecond, the unit of times without one.
const US: u64 = 1_000;

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    kdamond_idx: Option<u32>,
    #[serde(default)]
    context_idx: Option<u32>,
    #[serde(default)]
    target_id: Option<u64>,
    #[serde(default)]
    intervals: Option<Intervals>,
    snapshots: Vec<Snapshot>,
}

#[derive(Deserialize)]
struct Intervals {
    sample_us: Number<US>,
    aggr_us: Number<US>,
}

#[derive(Deserialize)]
struct Snapshot {
    #[serde(default)]
    start_time: Option<Number<1>>,
    end_time: Number<1>,
    regions: Vec<Region>,
}

#[derive(Deserialize)]
struct Region {
    start: Number<1>,
    end: Number<1>,
    nr_accesses: Accesses,
    #[serde(default)]
    age: Option<Age>,
}

#[derive(Deserialize)]
struct Accesses {
    #[serde(default)]
    samples: Option<Number<1>>,
    #[serde(default)]
    percent: Option<Share>,
}

#[derive(Deserialize)]
struct Age {
    #[serde(default)]
    aggr_intervals: Option<Number<1>>,
    #[serde(default)]
    usec: Option<Number<US>>,
}

/// A number, or text with one; `UNITLESS` is what 1 without a unit stands for.
#[derive(Clone, Copy)]
struct Number<const UNITLESS: u64>(u64);

impl<'de, const UNITLESS: u64> Deserialize<'de> for Number<UNITLESS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const UNITLESS: u64>;
        impl<const UNITLESS: u64> de::Visitor<'_> for Visitor<UNITLESS> {
            type Value = Number<UNITLESS>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number that is not negative, or text with one such as \"1,024\"")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                value
                    .checked_mul(UNITLESS)
                    .map(Number)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                parse_number(text, UNITLESS)
                    .map(Number)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A share in percent: a number, or text with one.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Share {
    Number(f64),
    #[serde(deserialize_with = "percent")]
    Text(f64),
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.trim().trim_end_matches('%').trim();
    digits.parse().map_err(de::Error::custom)
}

/// Reads the JSON form. Records without snapshots are left out.
pub(crate) fn read(input: &mut dyn Read, limits: DamoLimits) -> Result<Vec<DamoRecord>, DamoError> {
    let records: Vec<Record> = serde_json::from_reader(BufReader::new(input)).map_err(DamoError::Json)?;
    let regions = records.iter().flat_map(|record| &record.snapshots);
    let regions: u64 = regions.map(|snapshot| snapshot.regions.len() as u64).sum();
    if regions > limits.regions {
        return Err(DamoError::TooLarge {
            what: "regions",
            limit: limits.regions,
        });
    }
    let mut read = Vec::with_capacity(records.len());
    for (index, record) in records.into_iter().enumerate() {
        let intervals = record.intervals.as_ref().and_then(Intervals::known);
        let snapshots =
            snapshots_of(record.snapshots, intervals).map_err(|(snapshot, problem)| DamoError::Snapshot {
                record: index + 1,
                snapshot,
                problem,
            })?;
        if !snapshots.is_empty() {
            read.push(DamoRecord {
                kdamond: record.kdamond_idx.unwrap_or_default(),
                context: record.context_idx.unwrap_or_default(),
                target: record.target_id.unwrap_or_default(),
                intervals,
                snapshots,
            });
        }
    }
    Ok(read)
}

impl Intervals {
    /// What is above zero; a record made with perf says zero for what it does not know.
    fn known(&self) -> Option<DamoIntervals> {
        let (sample_ns, aggregation_ns) = (self.sample_us.0, self.aggr_us.0);
        (sample_ns > 0 && aggregation_ns >= sample_ns).then_some(DamoIntervals {
            sample_ns,
            aggregation_ns,
        })
    }
}

fn snapshots_of(
    snapshots: Vec<Snapshot>,
    intervals: Option<DamoIntervals>,
) -> Result<Vec<DamoSnapshot>, (usize, &'static str)> {
    let mut read: Vec<DamoSnapshot> = Vec::with_capacity(snapshots.len());
    for (index, snapshot) in snapshots.into_iter().enumerate() {
        let fail = |problem| (index + 1, problem);
        let time = |number: Number<1>| i64::try_from(number.0).map_err(|_| fail("a time is too large"));
        let end_ns = time(snapshot.end_time)?;
        let previous_ns = read.last().map(|last| last.end_ns);
        let assumed_ns = intervals.map(|known| end_ns.saturating_sub_unsigned(known.aggregation_ns));
        let start_ns = match snapshot.start_time {
            Some(start) => time(start)?,
            None => previous_ns
                .or(assumed_ns)
                .ok_or(fail("it has neither a start nor intervals"))?,
        };
        if start_ns >= end_ns || previous_ns.is_some_and(|previous| end_ns <= previous) {
            return Err(fail("it ends before it begins, or before the one ahead of it"));
        }
        let regions = snapshot
            .regions
            .iter()
            .map(|region| region.read(intervals))
            .collect();
        let read_snapshot = Result::and_then(regions, |regions| DamoSnapshot::new(start_ns, end_ns, regions));
        read.push(read_snapshot.map_err(fail)?);
    }
    Ok(read)
}

impl Region {
    fn read(&self, intervals: Option<DamoIntervals>) -> Result<DamoRegion, &'static str> {
        let age = self
            .age
            .as_ref()
            .and_then(|age| match (age.aggr_intervals, age.usec, intervals) {
                (Some(number), ..) => Some(number.0),
                (None, Some(time), Some(known)) => Some(time.0 / known.aggregation_ns),
                _ => None,
            });
        Ok(DamoRegion {
            start: self.start.0,
            end: self.end.0,
            accesses: self.accesses(intervals)?,
            age: age.map(|age| u32::try_from(age).unwrap_or(u32::MAX)),
        })
    }

    fn accesses(&self, intervals: Option<DamoIntervals>) -> Result<u32, &'static str> {
        let percent = self.nr_accesses.percent.map(|share| match share {
            Share::Number(percent) | Share::Text(percent) => percent,
        });
        match (self.nr_accesses.samples, percent, intervals) {
            (Some(samples), ..) => u32::try_from(samples.0).map_err(|_| "nr_accesses is too large"),
            (None, Some(percent), Some(known)) if (0.0..=100.0).contains(&percent) => {
                let most = (known.aggregation_ns / known.sample_ns) as f64;
                Ok((percent / 100.0 * most).round() as u32)
            }
            _ => Err("a region has no nr_accesses"),
        }
    }
}
