//! Raw counter values of one moment, keyed by scope, source and name.

use std::fmt;
use std::sync::Arc;

/// What a counter belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The whole host.
    Host,
    /// One NUMA node.
    Node(u32),
    /// One zone of a NUMA node, by the kernel's zone name.
    Zone(u32, String),
    /// A cgroup, by its path from the hierarchy's root, starting with `/`.
    Cgroup(String),
    /// A service: `namespace/name`.
    Service(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Node(node) => write!(f, "node:{node}"),
            Self::Zone(node, zone) => write!(f, "zone:{node}/{zone}"),
            Self::Cgroup(path) => write!(f, "cgroup:{path}"),
            Self::Service(service) => write!(f, "service:{service}"),
        }
    }
}

/// `<scope>|<source>|<name>`, as it travels (contract/proto/tierscope/v1/counters.proto). Cloning shares the text, so that
/// samples of one layout do not repeat it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// Builds the key of `name` as read from `source` (a file's short name) in `scope`.
    pub fn new(scope: &Scope, source: &str, name: &str) -> Self {
        Self(format!("{scope}|{source}|{name}").into())
    }

    /// The key that `text` is already.
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// The key as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both are the same key; next to free where they share their text.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }

    /// Scope, source and name as text.
    pub fn parts(&self) -> (&str, &str, &str) {
        let mut parts = self.0.splitn(3, '|');
        let mut next = || parts.next().unwrap_or_default();
        (next(), next(), next())
    }
}

/// All counters of one moment. `values` is sorted by key, without repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterSample {
    /// `CLOCK_REALTIME` of the reading, nanoseconds since the Unix epoch.
    pub end_wall_ns: i64,
    /// `CLOCK_BOOTTIME` of the reading, nanoseconds; `None` in a recording without it.
    pub end_boottime_ns: Option<i64>,
    /// The kernel's boot id, or "" where unknown.
    pub boot_id: Arc<str>,
    /// Value by key; `None` where the kernel has the place but not the value.
    pub values: Vec<(Key, Option<i64>)>,
}
