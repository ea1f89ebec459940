//! What the catalogue says of a metric.

/// Whether a value only grows within one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows, until the next boot.
    Counter,
    /// A state.
    Gauge,
}

/// The sort of thing that a metric can belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// The whole host.
    Host,
    /// A NUMA node.
    Node,
    /// A zone of a node.
    Zone,
    /// A control group.
    Cgroup,
    /// A service.
    Service,
}

/// One entry of the catalogue. Its texts stand in docs/metrics.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As the kernel prints it.
    pub name: &'static str,
    /// The file's short name.
    pub source: &'static str,
    /// One of the units of docs/metrics.md.
    pub unit: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// Where it can stand.
    pub scopes: &'static [ScopeKind],
    /// Whether the service keeps it for longer than raw values.
    pub rollup: bool,
}

/// Makes an entry, so that the generated table has one line for each metric: source, name, unit, kind, scopes, and whether
/// the service keeps it for longer than raw values.
pub(crate) const fn metric(
    source: &'static str,
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    scopes: &'static [ScopeKind],
    rollup: bool,
) -> Metric {
    Metric {
        name,
        source,
        unit,
        kind,
        scopes,
        rollup,
    }
}
