//! Raw samples of a field kit: a few seconds of `perf mem record`, where the owner asks for them and perf is there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// Longest recording: the file grows by megabytes a second on a busy host.
const MAX_SECONDS: u64 = 10;
/// Largest file that is taken; readers of the kit take no larger member.
const MAX_BYTES: u64 = 48 << 20;
/// Bytes of what perf said that are kept as the reason of a failure.
const REASON_BYTES: usize = 300;

/// A recording that runs, or why there is none.
pub(crate) enum RawSamples {
    /// perf runs.
    Running {
        /// Its process.
        child: Child,
        /// Where it records.
        data: PathBuf,
        /// What it says.
        said: PathBuf,
    },
    /// There is none, for this reason.
    Absent(String),
}

impl RawSamples {
    /// Starts perf for at most `seconds`; its files go to `directory`.
    pub(crate) fn start(directory: &Path, seconds: u64) -> Self {
        let (data, said) = (directory.join("perf.data"), directory.join("perf.txt"));
        let Ok(output) = File::create(&said) else {
            return Self::Absent("no room for the output of perf".to_owned());
        };
        let seconds = seconds.clamp(1, MAX_SECONDS).to_string();
        let started = Command::new("perf")
            .args(["mem", "record", "-a", "-o"])
            .arg(&data)
            .args(["--", "sleep", &seconds])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn();
        match started {
            Ok(child) => Self::Running { child, data, said },
            Err(error) => Self::Absent(format!("perf cannot be run: {error}; install it (linux-perf)")),
        }
    }

    /// Ends the recording, and gives its bytes or why there are none.
    pub(crate) fn finish(self) -> Result<Vec<u8>, String> {
        let (mut child, data, said) = match self {
            Self::Running { child, data, said } => (child, data, said),
            Self::Absent(reason) => return Err(reason),
        };
        if matches!(child.try_wait(), Ok(None)) {
            // perf writes what it has when it is interrupted.
            let pid = Pid::from_raw(child.id().cast_signed());
            let _interrupted = pid.map(|pid| kill_process(pid, Signal::INT));
        }
        let ended = child.wait();
        let bytes = fs::metadata(&data).map_or(0, |metadata| metadata.len());
        if bytes > MAX_BYTES {
            return Err(format!(
                "perf recorded {bytes} bytes, and a kit takes {MAX_BYTES}: send perf.data of your own"
            ));
        }
        match fs::read(&data) {
            Ok(content) if !content.is_empty() => Ok(content),
            _ => {
                let text = fs::read(&said).unwrap_or_default();
                let text = String::from_utf8_lossy(&text[..text.len().min(REASON_BYTES)]).into_owned();
                let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
                let status = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(format!("perf mem record gave nothing ({status}): {text}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_cannot_record_has_its_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        match RawSamples::start(directory.path(), 1).finish() {
            Ok(content) => assert!(content.starts_with(b"PERFILE2")),
            Err(reason) => assert!(reason.starts_with("perf "), "{reason}"),
        }
        let absent = RawSamples::Absent("not asked for".to_owned());
        assert_eq!(absent.finish(), Err("not asked for".to_owned()));
    }
}
