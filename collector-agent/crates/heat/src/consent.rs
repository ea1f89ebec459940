//! Processes that ask to be measured: by a variable in the environment that they were started with.
//!
//! The owner of a pod, unit or shell sets it, so that the owner of the host need not know their programs. Only where the
//! host's settings name a variable is any environment read, each once, and nothing of it is kept but this answer.

use std::collections::HashMap;
use std::io::Read as _;

use tierscope_host::services::Process;
use tierscope_rootfs::Root;

/// Most bytes that are read of one environment: the kernel's limit for one string is half of it.
const MAX_BYTES: u64 = 256 << 10;
/// Values that mean yes; any other means no.
const YES: [&[u8]; 4] = [b"1", b"on", b"true", b"yes"];

/// Who asks, of the processes that run.
#[derive(Debug)]
pub(crate) struct Consent {
    root: Root,
    variable: String,
    /// By pid and start time.
    answers: HashMap<(u32, u64), bool>,
}

impl Consent {
    /// Looks for `variable` below `root`.
    pub(crate) fn new(root: Root, variable: &str) -> Self {
        Self {
            root,
            variable: variable.to_owned(),
            answers: HashMap::new(),
        }
    }

    /// Places in `found` of processes that ask. Those that are gone are forgotten.
    pub(crate) fn places(&mut self, found: &[Process]) -> Vec<usize> {
        let before = std::mem::take(&mut self.answers);
        let mut places = Vec::new();
        for (place, process) in found.iter().enumerate() {
            let key = (process.pid, process.start_time);
            let answer = before.get(&key).copied().unwrap_or_else(|| self.ask(process.pid));
            self.answers.insert(key, answer);
            if answer {
                places.push(place);
            }
        }
        places
    }

    /// Whether the process was started with the variable set to yes; not where its environment may not be read.
    fn ask(&self, pid: u32) -> bool {
        let mut bytes = Vec::new();
        let read = tierscope_rootfs::open_plain(&self.root.join(&format!("/proc/{pid}/environ")))
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        let value = bytes.split(|byte| *byte == 0).find_map(|line| {
            let rest = line.strip_prefix(self.variable.as_bytes())?;
            rest.strip_prefix(b"=")
        });
        read.is_ok() && value.is_some_and(|value| YES.contains(&value.to_ascii_lowercase().as_slice()))
    }
}
