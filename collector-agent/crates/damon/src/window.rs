//! Watches for one window after the other on a thread of its own, so that nobody has to wait for the kernel.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::DamonError;
use crate::driver::Region;
use crate::plan::Plan;
use crate::session::Session;

/// What one window showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// All regions at its end, by target and address.
    pub regions: Vec<Region>,
    /// Checks that each region had: accesses are from 0 to this number.
    pub checks: u32,
    /// Processor time of the kernel thread, nanoseconds.
    pub kernel_cpu_ns: i64,
    /// Processor time of this thread, nanoseconds.
    pub cpu_ns: i64,
}

enum Command {
    Watch(Box<Plan>),
    Stop,
}

/// Holds a session and its thread. Dropping it ends both.
#[derive(Debug)]
pub struct Watcher {
    commands: Option<Sender<Command>>,
    windows: Receiver<Result<Window, DamonError>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// A watcher that does nothing yet.
    pub fn new(session: Session) -> Self {
        let (commands, inbox) = mpsc::channel();
        let (outbox, windows) = mpsc::channel();
        let thread = std::thread::spawn(move || work(session, &inbox, &outbox));
        Self {
            commands: Some(commands),
            windows,
            thread: Some(thread),
        }
    }

    /// Begins a window of one aggregation; one that is running ends without a result.
    pub fn watch(&self, plan: Plan) {
        self.send(Command::Watch(Box::new(plan)));
    }

    /// Switches DAMON off; a window that is running ends without a result.
    pub fn stop(&self) {
        self.send(Command::Stop);
    }

    /// The newest window that has ended, waiting up to `patience` for one; `None` when none has.
    pub fn take(&self, patience: Duration) -> Option<Result<Window, DamonError>> {
        let newest = self.windows.try_iter().last();
        newest.or_else(|| self.windows.recv_timeout(patience).ok())
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // The thread ends only with the watcher.
            let _ = commands.send(command);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.commands.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves commands until their sender is gone; then the session ends with the thread.
fn work(mut session: Session, inbox: &Receiver<Command>, outbox: &Sender<Result<Window, DamonError>>) {
    let mut next = inbox.recv();
    while let Ok(command) = next {
        let Command::Watch(plan) = command else {
            if let Err(error) = session.stop() {
                let _ = outbox.send(Err(error));
            }
            next = inbox.recv();
            continue;
        };
        let cpu_before = thread_cpu_ns();
        if let Err(error) = session.start(&plan) {
            let _ = outbox.send(Err(error));
            next = inbox.recv();
            continue;
        }
        // The kernel is asked only when the end is near, because it takes no other command while it is asked.
        let until_near = plan.intervals.aggregation.mul_f64(0.98);
        match inbox.recv_timeout(until_near) {
            Ok(command) => next = Ok(command),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = outbox.send(end_window(&session, &plan, cpu_before));
                next = inbox.recv();
            }
        }
    }
}

fn end_window(session: &Session, plan: &Plan, cpu_before: i64) -> Result<Window, DamonError> {
    let regions = session.regions();
    let kernel_cpu_ns = session.kernel_cpu_ns().unwrap_or(0);
    session.stop()?;
    Ok(Window {
        regions: regions?,
        checks: plan.intervals.checks(),
        kernel_cpu_ns,
        cpu_ns: thread_cpu_ns() - cpu_before,
    })
}

fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}
