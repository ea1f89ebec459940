//! The kill switch: while any of its three parts says so, nothing is collected and nothing is sent.

use std::path::PathBuf;

use tierscope_upload::Plan;

use crate::config::Config;

/// The parts of this host: its settings, and a file that anybody with a shell can make.
#[derive(Debug, Clone)]
pub(crate) struct Pause {
    configured: bool,
    file: PathBuf,
}

impl Pause {
    /// The switch of these settings.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            configured: config.paused,
            file: config.pause_file(),
        }
    }

    /// Why everything rests; `None` while nothing does. The file is looked for anew.
    pub(crate) fn reason(&self, plan: &Plan) -> Option<String> {
        if self.configured {
            return Some("`paused` is set in the agent's settings".to_owned());
        }
        if self.file.exists() {
            return Some(format!("{} exists; remove it to go on", self.file.display()));
        }
        plan.paused.then(|| "the service has paused this host".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_the_three_parts_pauses() {
        let directory = tempfile::tempdir().expect("a directory");
        let config = Config {
            state_dir: directory.path().to_owned(),
            ..Config::default()
        };
        let pause = Pause::new(&config);
        let paused = Plan {
            paused: true,
            ..Plan::default()
        };
        assert_eq!(pause.reason(&Plan::default()), None);
        assert!(
            pause
                .reason(&paused)
                .is_some_and(|reason| reason.contains("service"))
        );
        std::fs::write(config.pause_file(), "").expect("written");
        assert!(
            pause
                .reason(&Plan::default())
                .is_some_and(|reason| reason.contains("remove it"))
        );
        std::fs::remove_file(config.pause_file()).expect("removed");
        assert_eq!(pause.reason(&Plan::default()), None);
        let configured = Pause::new(&Config {
            paused: true,
            ..config
        });
        assert!(configured.reason(&Plan::default()).is_some());
    }
}
