//! HTTP between agent and service: enrolment, batches, the agent's plan. It moves bytes and knows nothing of what is
//! in them; every answer becomes a typed [`Outcome`].

mod address;
mod backoff;
mod client;
pub mod credential;
mod outcome;

use std::path::PathBuf;

pub use backoff::Backoff;
pub use client::{Client, Enrolled, Enrolment, HeatPlan, Plan, PlanAnswer, SentAt, Settings, tls};
pub use outcome::{Outcome, Problem, Receipt};

/// Why there is no client, or why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The server's address cannot be used.
    #[error("server {url:?}: {reason}")]
    Address {
        /// As configured.
        url: String,
        /// What is wrong and what to do.
        reason: &'static str,
    },
    /// The file of certificate authorities cannot be used.
    #[error("ca_file {}: {reason}; it must hold certificates in PEM form", path.display())]
    Authorities {
        /// As configured.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The service did not answer.
    #[error("{url} does not answer: {cause}; check that the service runs and that the address is right")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// What went wrong.
        cause: String,
    },
    /// The service refused.
    #[error("{url} refused with {problem}")]
    Refused {
        /// What was asked for.
        url: String,
        /// Its answer.
        problem: Box<Problem>,
    },
    /// The answer is not what this program understands.
    #[error("{url} answered something else than expected ({reason}); check that it is a Tierscope service")]
    Answer {
        /// What was asked for.
        url: String,
        /// What was wrong.
        reason: String,
    },
}
