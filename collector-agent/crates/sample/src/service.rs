//! Identity of a service on a host.

use std::sync::Arc;

/// Namespace and name of a service, and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId {
    /// Where the name is unique: `host`, a Kubernetes namespace, ...
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl std::fmt::Display for ServiceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
