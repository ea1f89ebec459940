//! What the kernel says about a performance monitoring unit: `/sys/bus/event_source/devices/<unit>`.
//!
//! `format/<term>` says which bits of the attribute a term fills, `events/<name>` gives terms for a name. So
//! `event=0x2e,umask=0x41` becomes numbers for `perf_event_open` without knowing the unit.

use std::collections::BTreeMap;
use std::path::Path;

use tierscope_rootfs::{Missing, Reader, Root, text};

use crate::error::PerfError;

const DEVICES: &str = "/sys/bus/event_source/devices";
/// Most files of a directory that are read; units have some tens.
const MAX_FILES: usize = 4096;

/// The four configuration words of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config {
    /// `config`, `config1`, `config2`, `config3`.
    pub words: [u64; 4],
}

/// Bits that a term fills, lowest first: (word, first bit, last bit).
type BitRanges = Vec<(usize, u32, u32)>;

/// One performance monitoring unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Pmu {
    /// Its directory's name.
    pub name: String,
    /// Its number for `perf_event_open`.
    pub kind: u32,
    /// The CPUs on which it is to be opened: one per package for units outside of cores; empty where it does not say.
    pub cpus: Vec<u32>,
    formats: BTreeMap<String, BitRanges>,
    events: BTreeMap<String, NamedEvent>,
}

/// An event that the kernel names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NamedEvent {
    /// Its terms.
    pub terms: String,
    /// What one count is worth in `unit`; `None` where the kernel does not say.
    pub scale: Option<f64>,
    /// Unit of `scale`.
    pub unit: Option<String>,
}

/// Names of all units, sorted.
pub fn names(root: &Root) -> Vec<String> {
    list(&root.join(DEVICES))
}

impl Pmu {
    /// Reads the description of a unit. [`PerfError::NoPmu`] where it does not exist.
    pub fn read(root: &Root, name: &str) -> Result<Self, PerfError> {
        let directory = format!("{DEVICES}/{name}");
        let mut reader = Reader::new(root.clone());
        let kind = match reader.value(&format!("{directory}/type")) {
            Ok(value) => value
                .parse()
                .map_err(|_| problem(&directory, "`type` is not a number"))?,
            Err(Missing::Absent) => {
                return Err(PerfError::NoPmu {
                    event: name.to_owned(),
                });
            }
            Err(missing) => return Err(problem(&directory, &missing.to_string())),
        };
        let mut cpus = Vec::new();
        for file in ["cpumask", "cpus"] {
            if let Ok(list) = reader.value(&format!("{directory}/{file}")) {
                cpus = text::list(list).map_err(|error| problem(&directory, &error.to_string()))?;
            }
        }
        let mut formats = BTreeMap::new();
        for term in list(&root.join(&format!("{directory}/format"))) {
            let path = format!("{directory}/format/{term}");
            if let Ok(bits) = reader.value(&path) {
                let ranges = bit_ranges(bits).ok_or_else(|| problem(&path, "is not `config<n>:<bits>`"))?;
                formats.insert(term, ranges);
            }
        }
        let events = read_events(&mut reader, root, &directory);
        Ok(Self {
            name: name.to_owned(),
            kind,
            cpus,
            formats,
            events,
        })
    }

    /// Whether the unit knows a term.
    pub fn has_term(&self, term: &str) -> bool {
        self.formats.contains_key(term)
    }

    /// An event that the kernel names.
    pub fn event(&self, name: &str) -> Option<&NamedEvent> {
        self.events.get(name)
    }

    /// Turns an event's name or terms (`event=0x2e,umask=0x41`; a term without value is 1) into numbers.
    pub fn encode(&self, event: &str) -> Result<Config, PerfError> {
        let terms = self.event(event).map_or(event, |named| named.terms.as_str());
        let mut config = Config::default();
        for term in terms.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let (name, value) = term.split_once('=').unwrap_or((term, "1"));
            let value = number(value).ok_or_else(|| self.bad_term(term, "its value is not a number"))?;
            let direct = direct_word(name);
            if let Some(ranges) = self.formats.get(name) {
                scatter(&mut config, ranges, value)
                    .ok_or_else(|| self.bad_term(term, "its value is too large"))?;
            } else if let Some(word) = direct {
                config.words[word] |= value;
            } else {
                return Err(self.bad_term(term, "this unit has no such term or event"));
            }
        }
        Ok(config)
    }

    fn bad_term(&self, term: &str, what: &str) -> PerfError {
        problem(&format!("{DEVICES}/{}", self.name), &format!("`{term}`: {what}"))
    }
}

fn read_events(reader: &mut Reader, root: &Root, directory: &str) -> BTreeMap<String, NamedEvent> {
    let mut events: BTreeMap<String, NamedEvent> = BTreeMap::new();
    for file in list(&root.join(&format!("{directory}/events"))) {
        let Ok(value) = reader.value(&format!("{directory}/events/{file}")) else {
            continue;
        };
        if let Some(name) = file.strip_suffix(".scale") {
            events.entry(name.to_owned()).or_default().scale = value.parse().ok();
        } else if let Some(name) = file.strip_suffix(".unit") {
            events.entry(name.to_owned()).or_default().unit = Some(value.to_owned());
        } else if !file.contains('.') {
            value.clone_into(&mut events.entry(file).or_default().terms);
        }
    }
    events.retain(|_, event| !event.terms.is_empty());
    events
}

fn list(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_FILES).collect();
    names.sort_unstable();
    names
}

fn problem(path: &str, problem: &str) -> PerfError {
    PerfError::Pmu {
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

fn direct_word(name: &str) -> Option<usize> {
    ["config", "config1", "config2", "config3"]
        .iter()
        .position(|word| *word == name)
}

/// `config:0-7,32-35`, `config1:0-63`, `config:21`.
fn bit_ranges(text: &str) -> Option<BitRanges> {
    let (word, bits) = text.trim().split_once(':')?;
    let word = direct_word(word)?;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < 64).then_some((word, first, last))
    };
    bits.split(',').map(range).collect()
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Spreads the bits of `value` over `ranges`; `None` where bits are left over.
fn scatter(config: &mut Config, ranges: &BitRanges, value: u64) -> Option<()> {
    let mut rest = u128::from(value);
    for &(word, first, last) in ranges {
        let width = last - first + 1;
        let part = (rest & ((1_u128 << width) - 1)) as u64;
        config.words[word] |= part << first;
        rest >>= width;
    }
    (rest == 0).then_some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
pub(crate) mod tests {
    use super::*;

    /// A tree with one unit: files with their texts.
    pub(crate) fn write_pmu(root: &Path, name: &str, files: &[(&str, &str)]) {
        let directory = root.join("sys/bus/event_source/devices").join(name);
        for (file, text) in files {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    const CXL: [(&str, &str); 9] = [
        ("type", "31"),
        ("cpumask", "0,32"),
        ("format/event", "config:0-7,32-35"),
        ("format/umask", "config:8-15"),
        ("format/edge", "config:18"),
        ("format/filter", "config1:4-7"),
        ("events/cas_count_read", "event=0x105,umask=0x3"),
        ("events/cas_count_read.scale", "6.103515625e-5"),
        ("events/cas_count_read.unit", "MiB"),
    ];

    #[test]
    fn terms_and_names_become_numbers() {
        let directory = tempfile::tempdir().unwrap();
        write_pmu(directory.path(), "cxl_pmu_mem0.0", &CXL);
        let root = Root::new(directory.path());
        let pmu = Pmu::read(&root, "cxl_pmu_mem0.0").unwrap();
        assert_eq!((pmu.kind, pmu.cpus.as_slice()), (31, &[0, 32][..]));
        let named = pmu.encode("cas_count_read").unwrap();
        // 0x105 is split: 0x05 into bits 0-7, 1 into bits 32-35.
        assert_eq!(named.words, [0x1_0000_0305, 0, 0, 0]);
        let terms = pmu.encode("event=5,edge,filter=0xa,config2=0x77").unwrap();
        assert_eq!(terms.words, [0x4_0005, 0xa0, 0x77, 0]);
        let event = pmu.event("cas_count_read").unwrap();
        assert_eq!(
            (event.scale, event.unit.as_deref()),
            (Some(6.103_515_625e-5), Some("MiB"))
        );
        assert_eq!(names(&root), ["cxl_pmu_mem0.0"]);
    }

    #[test]
    fn what_a_unit_does_not_know_is_named() {
        let directory = tempfile::tempdir().unwrap();
        write_pmu(directory.path(), "cxl", &CXL);
        let root = Root::new(directory.path());
        let pmu = Pmu::read(&root, "cxl").unwrap();
        let message = |event: &str| pmu.encode(event).unwrap_err().to_string();
        assert!(message("no_such_event").contains("`no_such_event`: this unit has no such term"));
        assert!(message("umask=0x100").contains("too large"));
        assert!(message("umask=many").contains("not a number"));
        let absent = Pmu::read(&root, "ibs_op").unwrap_err();
        assert_eq!(
            absent,
            PerfError::NoPmu {
                event: "ibs_op".into()
            }
        );
        assert!(names(&Root::new("/nonexistent")).is_empty());
    }

    #[test]
    fn bits_of_a_format_are_read() {
        assert_eq!(bit_ranges("config:0-63"), Some(vec![(0, 0, 63)]));
        assert_eq!(bit_ranges("config1:3"), Some(vec![(1, 3, 3)]));
        assert_eq!(bit_ranges("config9:3"), None);
        assert_eq!(bit_ranges("config:5-64"), None);
        assert_eq!(bit_ranges("config:5-"), None);
        let mut config = Config::default();
        assert_eq!(scatter(&mut config, &vec![(0, 0, 63)], u64::MAX), Some(()));
        assert_eq!(config.words[0], u64::MAX);
    }
}
