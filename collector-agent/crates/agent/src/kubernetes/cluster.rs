//! Asks the API server from a thread of its own, so that a round never waits for it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tierscope_clock::SECOND_NS;
use tierscope_sample::inventory::Finding;
use tierscope_wire::CollectorCost;

use super::KubernetesConfig;
use super::api::{Access, Told};
use crate::threads;

/// Name in the inventory and in the report of the agent.
pub(crate) const COLLECTOR: &str = "kubernetes_api";
/// The server is asked this often.
const EVERY_NS: i64 = 600 * SECOND_NS;
/// And so soon where a pod runs that it did not tell of, or where it failed.
const SOON_NS: i64 = 120 * SECOND_NS;

/// An answer, and the processor time that it took.
struct Answer {
    told: Told,
    cpu_ns: i64,
}

/// What the cluster told, asked anew now and then.
pub(crate) struct Cluster {
    orders: SyncSender<()>,
    answers: Receiver<Answer>,
    /// The newest of each part: what was told stays until it is told anew.
    told: Told,
    asked_ns: Option<i64>,
    is_asked: bool,
    /// Of the answers that came since the last report.
    cost: CollectorCost,
}

impl Cluster {
    /// Starts the thread; `None` where the settings do not want it, or no thread can be had. `node`: the name of this
    /// node in the cluster.
    pub(crate) fn start(config: &KubernetesConfig, node: &str) -> Option<Self> {
        config
            .api
            .then(|| Self::start_with(Access::in_cluster(), config, node))?
    }

    pub(super) fn start_with(
        access: Result<Access, String>,
        config: &KubernetesConfig,
        node: &str,
    ) -> Option<Self> {
        let (orders, ordered) = sync_channel::<()>(1);
        let (finished, answers) = sync_channel(1);
        let (config, node) = (config.clone(), node.to_owned());
        threads::spawn("kubernetes", move || {
            while ordered.recv().is_ok() {
                let before_ns = tierscope_clock::thread_cpu_ns();
                let told = match &access {
                    Ok(access) => access.ask(&node, &config),
                    Err(problem) => Told {
                        problem: Some(problem.clone()),
                        ..Told::default()
                    },
                };
                let cpu_ns = tierscope_clock::thread_cpu_ns() - before_ns;
                if finished.send(Answer { told, cpu_ns }).is_err() {
                    return;
                }
            }
        })
        .ok()?;
        Some(Self {
            orders,
            answers,
            told: Told::default(),
            asked_ns: None,
            is_asked: false,
            cost: no_cost(),
        })
    }

    /// Takes an answer that came, and asks where it is time. `running`: uids of the pods that run now.
    pub(crate) fn look<'a>(&mut self, now_ns: i64, mut running: impl Iterator<Item = &'a String>) {
        if let Ok(answer) = self.answers.try_recv() {
            self.take(answer);
        }
        let is_lacking = self.told.problem.is_some()
            || running.any(|uid| self.told.pods.as_ref().is_none_or(|pods| !pods.contains_key(uid)));
        let wait_ns = if is_lacking { SOON_NS } else { EVERY_NS };
        let is_due = self.asked_ns.is_none_or(|asked_ns| now_ns - asked_ns >= wait_ns);
        if is_due && !self.is_asked && self.orders.try_send(()).is_ok() {
            self.asked_ns = Some(now_ns);
            self.is_asked = true;
        }
    }

    fn take(&mut self, answer: Answer) {
        self.is_asked = false;
        self.cost.runs += 1;
        self.cost.cpu_ns += answer.cpu_ns;
        self.cost.failures += u64::from(answer.told.problem.is_some());
        let Told {
            pods,
            node_labels,
            problem,
        } = answer.told;
        self.told = Told {
            pods: pods.or(self.told.pods.take()),
            node_labels: node_labels.or(self.told.node_labels.take()),
            problem,
        };
    }

    pub(crate) fn told(&self) -> &Told {
        &self.told
    }

    /// What asking cost since the last report. A failure that lasts is told each time.
    pub(crate) fn cost(&mut self) -> CollectorCost {
        let mut cost = std::mem::replace(&mut self.cost, no_cost());
        cost.last_error = self.told.problem.clone().unwrap_or_default();
        cost
    }

    /// What is wrong, for the service.
    pub(crate) fn finding(&self) -> Option<Finding> {
        self.told.problem.as_deref().map(finding)
    }

    #[cfg(test)]
    pub(super) fn wait(&mut self) {
        let answer = self.answers.recv().expect("the thread lives");
        self.take(answer);
    }
}

/// What is wrong with the API server.
pub(crate) fn finding(problem: &str) -> Finding {
    Finding {
        id: "kubernetes-api".to_owned(),
        severity: "info".to_owned(),
        cause: format!("The Kubernetes API does not answer in full: {problem}."),
        fix: "Until then owners are guessed from names of pods, and labels of pods and of the node are those told before."
            .to_owned(),
        confidence: "certain".to_owned(),
    }
}

fn no_cost() -> CollectorCost {
    CollectorCost {
        name: COLLECTOR.to_owned(),
        cpu_ns: 0,
        runs: 0,
        failures: 0,
        last_error: String::new(),
    }
}
