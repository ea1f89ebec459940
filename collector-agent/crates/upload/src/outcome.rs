//! What an answer to a batch means for the batch.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// The service's receipt for a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// `accepted` or `duplicate`.
    pub result: String,
    /// Rows stored, by kind.
    pub stored: BTreeMap<String, u64>,
    /// Points older than the service keeps raw data.
    pub too_late: u64,
    /// Points in the future whose time could not be rebuilt.
    pub set_aside: u64,
    /// For people.
    pub warnings: Vec<String>,
}

/// An error answer (RFC 9457 problem details).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// A URI that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the problem is.
    pub title: String,
    /// What happened here.
    pub detail: String,
    /// What to do.
    pub next_step: String,
}

impl Problem {
    /// The last part of the kind: `unknown-layout`.
    pub fn slug(&self) -> &str {
        self.kind.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        for part in [&self.title, &self.detail, &self.next_step] {
            if !part.is_empty() {
                write!(f, ": {part}")?;
            }
        }
        Ok(())
    }
}

/// What to do with a batch after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Stored: forget it.
    Accepted(Receipt),
    /// Was stored before: forget it.
    Duplicate(Receipt),
    /// Will never be stored: set it aside.
    Rejected(Problem),
    /// The service lacks a layout: send it, then this batch again.
    UnknownLayout(Problem),
    /// Nothing is wrong with the batch, but with this agent or service: keep it, tell people, try again rarely.
    Held(Problem),
    /// Try again later.
    Retry {
        /// The service's wish.
        after: Option<Duration>,
        /// What went wrong.
        cause: String,
    },
}

/// Sorts an answer by its status and problem type.
pub(crate) fn classify(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Outcome {
    if (200..300).contains(&status) {
        return match serde_json::from_slice::<Receipt>(body) {
            Ok(receipt) if receipt.result == "duplicate" => Outcome::Duplicate(receipt),
            Ok(receipt) if receipt.result == "accepted" => Outcome::Accepted(receipt),
            // Somebody else answers here, such as a captive portal: the batch is not stored.
            _ => Outcome::Retry {
                after: None,
                cause: format!("status {status} without a receipt"),
            },
        };
    }
    let problem = read_problem(status, body);
    match (status, problem.slug()) {
        (409, "unknown-layout") => Outcome::UnknownLayout(problem),
        (408 | 425 | 429 | 500.., _) => Outcome::Retry {
            after: retry_after,
            cause: problem.to_string(),
        },
        // The service is older than this agent, does not know its own name, or wants another stream: once a person
        // has acted it will take the batch.
        (400, "bad-host") | (422, "unknown-version" | "too-many-gaps") => Outcome::Held(problem),
        (400 | 413 | 415 | 422, _) => Outcome::Rejected(problem),
        // Credential, clone, wrong address: a person has to act, the data stays good.
        _ => Outcome::Held(problem),
    }
}

/// Reads problem details, or makes them up from the status.
pub(crate) fn read_problem(status: u16, body: &[u8]) -> Problem {
    let problem = serde_json::from_slice::<Problem>(body).unwrap_or_default();
    Problem { status, ..problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(slug: &str) -> Vec<u8> {
        format!(r#"{{"type":"https://tierscope.dev/problems/{slug}","title":"t","detail":"d"}}"#).into_bytes()
    }

    fn name(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Accepted(_) => "accepted",
            Outcome::Duplicate(_) => "duplicate",
            Outcome::Rejected(_) => "rejected",
            Outcome::UnknownLayout(_) => "unknown layout",
            Outcome::Held(_) => "held",
            Outcome::Retry { .. } => "retry",
        }
    }

    #[test]
    fn every_answer_has_one_meaning() {
        let cases: [(u16, Vec<u8>, &str); 22] = [
            (
                200,
                br#"{"result":"accepted","stored":{"counters":3}}"#.to_vec(),
                "accepted",
            ),
            (200, br#"{"result":"duplicate"}"#.to_vec(), "duplicate"),
            (200, b"<html>log in</html>".to_vec(), "retry"),
            (302, Vec::new(), "held"),
            (400, Vec::new(), "rejected"),
            (400, problem("bad-host"), "held"),
            (401, problem("unknown-credential"), "held"),
            (403, problem("wrong-host"), "held"),
            (404, b"not found".to_vec(), "held"),
            (408, Vec::new(), "retry"),
            (409, problem("unknown-layout"), "unknown layout"),
            (409, problem("cloned-host"), "held"),
            (413, problem("too-large"), "rejected"),
            (413, problem("inflated-too-large"), "rejected"),
            (415, Vec::new(), "rejected"),
            (422, problem("unreadable"), "rejected"),
            (422, problem("unknown-version"), "held"),
            (422, problem("too-many-gaps"), "held"),
            (429, problem("too-many"), "retry"),
            (500, Vec::new(), "retry"),
            (502, b"bad gateway".to_vec(), "retry"),
            (503, problem("not-ready"), "retry"),
        ];
        for (status, body, expected) in cases {
            let outcome = classify(status, None, &body);
            assert_eq!(name(&outcome), expected, "status {status}: {outcome:?}");
        }
    }

    #[test]
    fn retry_after_is_handed_on() {
        let after = Some(Duration::from_secs(9));
        assert!(
            matches!(classify(503, after, b""), Outcome::Retry { after: Some(wait), .. } if wait.as_secs() == 9)
        );
    }
}
