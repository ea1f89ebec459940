//! A process that touches the first quarter of its memory again and again: what back ends are held against. It is one of
//! its own, because the tests beside them in this process touch memory as they like.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tierscope_sample::page_size;

use tierscope_pagetable::process::process_key;
use tierscope_rootfs::Root;

use super::backend::HeatProcess;

const PAGE_BYTES: usize = page_size::MODEL_BYTES as usize;
/// 128 MiB. A quarter of it is more than the processor caches translations of: touches through those would set no bit.
const PAGES: usize = 32_768;
pub(crate) const MEMORY_BYTES: usize = PAGES * PAGE_BYTES;
pub(crate) const TOUCHED_BYTES: usize = MEMORY_BYTES / 4;
/// Pause between rounds of touches: less than between two looks of a back end, and long enough to leave a processor idle.
const PACE: Duration = Duration::from_millis(20);
/// Set in the child: this test binary run again.
const ROLE: &str = "TIERSCOPE_TEST_TOUCHED_QUARTER";

/// The child's side: one round of touches for each line.
#[test]
#[ignore = "a child process of other tests"]
fn child_touches_a_quarter_of_its_memory() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    // SAFETY: integers by value. Huge pages would show all touches in steps of 2 MiB.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    let mut memory = vec![1_u8; MEMORY_BYTES];
    let mut out = std::io::stdout();
    writeln!(out, "\nready").unwrap();
    for _ in std::io::stdin().lock().lines() {
        for page in memory[..TOUCHED_BYTES].chunks_mut(PAGE_BYTES) {
            page[0] = black_box(page[0].wrapping_add(1));
        }
        writeln!(out, "done").unwrap();
    }
}

pub(crate) struct TouchedQuarter {
    child: Child,
    /// Dropping it ends the rounds.
    end: Option<Sender<()>>,
    rounds: Option<JoinHandle<()>>,
}

impl TouchedQuarter {
    /// Starts it; it has its memory, and has touched the quarter once.
    pub(crate) fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "touched_quarter::child_touches_a_quarter_of_its_memory",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut input, mut output) = (input, BufReader::new(output));
        answer(&mut output, "ready");
        touch(&mut input, &mut output);
        let (end, ended) = channel();
        let rounds = std::thread::spawn(move || touch_until(&ended, input, output));
        Self {
            child,
            end: Some(end),
            rounds: Some(rounds),
        }
    }

    pub(crate) fn heat_process(&self) -> HeatProcess {
        HeatProcess {
            key: process_key(&Root::live(), self.child.id()).unwrap(),
            service: Arc::from("host/shop"),
            group: Arc::from("server"),
        }
    }
}

impl Drop for TouchedQuarter {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.rounds.take().map(JoinHandle::join);
        let _ = self.child.wait();
    }
}

fn touch_until(ended: &Receiver<()>, mut input: ChildStdin, mut output: BufReader<ChildStdout>) {
    while ended.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
        touch(&mut input, &mut output);
    }
    // The end of its input ends the child, which says a last word.
    drop(input);
    let _ = std::io::copy(&mut output, &mut std::io::sink());
}

fn touch(input: &mut ChildStdin, output: &mut BufReader<ChildStdout>) {
    writeln!(input).unwrap();
    answer(output, "done");
}

fn answer(output: &mut BufReader<ChildStdout>, word: &str) {
    let mut line = String::new();
    while line.trim() != word {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the child ended");
    }
}
