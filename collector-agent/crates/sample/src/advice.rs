//! Charters of advice: what each rule changes, when it must not be given, and what it can harm. The service has the same
//! table, so that findings of the agent and advice of the service cannot differ.

pub use crate::_generated::advice::{CHARTERS, HAZARDS, KEEP_SYSCTL, KEEP_SYSTEMD, KEEP_TMPFILES, KEEP_UDEV};
pub use crate::charter::{Charter, Hazard, Then, precedes};

/// The charter of a rule.
pub fn charter(rule: &str) -> Option<&'static Charter> {
    CHARTERS.iter().find(|charter| charter.rule == rule)
}

/// A hazard by its name.
pub fn hazard(name: &str) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| hazard.name == name)
}

/// The file of a pattern such as [`KEEP_SYSCTL`] for a setting.
pub fn keep_file(pattern: &str, name: &str) -> String {
    pattern.replace("{name}", name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn hazards_end_with_the_kernel_that_mends_them() {
        let zswap = hazard("zswap-placement").unwrap();
        assert_eq!(zswap.exists_on("6.12.3-1-amd64"), Some(true));
        assert_eq!(zswap.exists_on("6.16"), Some(false));
        assert_eq!(zswap.exists_on("7.0.1"), Some(false));
        assert_eq!(zswap.exists_on(""), None);
        let hang = hazard("mglru-no-swap").unwrap();
        assert_eq!(hang.exists_on("5.19.0"), Some(false));
        assert_eq!(hang.exists_on("6.1.192"), Some(true));
        assert_eq!(hang.exists_on("7.2.6"), None);
        assert_eq!(hang.exists_on("5.14.0-427.13.1.el9_4.x86_64"), Some(true));
        assert_eq!(hazard("membind").unwrap().exists_on("?"), Some(true));
    }

    #[test]
    fn demotion_and_promotion_name_each_other_and_their_hazards() {
        let demotion = charter("F2").unwrap();
        let promotion = charter("F1").unwrap();
        assert!(demotion.together.contains(&"F1") && promotion.together.contains(&"F2"));
        assert!(demotion.order < promotion.order);
        assert!(demotion.must_not.contains(&("strict-cpuset", Then::Name)));
        assert!(
            CHARTERS
                .iter()
                .all(|charter| { charter.must_not.iter().all(|(name, _)| hazard(name).is_some()) })
        );
    }
}
