//! Charters of advice: what each rule changes, when it must not be given, and what it can harm. The service has the same
//! table, so that findings of the agent and advice of the service cannot differ.

pub use crate::_generated::advice::{CHARTERS, HAZARDS, KEEP_SYSCTL, KEEP_SYSTEMD, KEEP_TMPFILES, KEEP_UDEV};

/// Signs of vendors that bring features of later kernels back under the old number.
const BACKPORTS: [&str; 3] = [".el", "uek", "amzn"];

/// What follows where a hazard is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The rule is not given.
    Silent,
    /// The rule is given with the hazard's text as a risk.
    Name,
}

/// A condition under which advice does harm, on mainline kernels from one release to before another; an end without a
/// release is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hazard {
    /// Its name in charters.
    pub name: &'static str,
    /// What it is, in whole sentences.
    pub says: &'static str,
    /// First mainline release that has it.
    pub from_kernel: &'static str,
    /// First mainline release without it.
    pub before_kernel: &'static str,
    /// Mainline release from which it is not known whether it is still there.
    pub unsure_kernel: &'static str,
    /// Files and commits of the kernel, documentation, papers and public reports.
    pub sources: &'static [&'static str],
}

impl Hazard {
    /// Whether kernels of this release have it; `None` where that is not known, or the release cannot be read. A vendor's kernel may have a
    /// feature before its mainline release; that it has the fix too is not assumed.
    pub fn exists_on(&self, release: &str) -> Option<bool> {
        if self.from_kernel.is_empty() && self.before_kernel.is_empty() {
            return Some(true);
        }
        let version = version_of(release)?;
        let brings_back = BACKPORTS.iter().any(|sign| release.contains(sign));
        let from = version_of(self.from_kernel).is_none_or(|from| version >= from || brings_back);
        if version_of(self.unsure_kernel).is_some_and(|unsure| version >= unsure) {
            return None;
        }
        Some(from && version_of(self.before_kernel).is_none_or(|before| version < before))
    }
}

/// A rule. Keys as in contract/advice/README.md; `kernel` is the first mainline release that has it, or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charter {
    /// Its name in answers.
    pub rule: &'static str,
    /// What is done, as an imperative.
    pub title: &'static str,
    /// Place among all rules: lower is tried first.
    pub order: u32,
    /// Files of the kernel that it may write.
    pub settings: &'static [&'static str],
    /// Rules whose settings belong into one change with this one.
    pub together: &'static [&'static str],
    /// Why they do.
    pub together_why: &'static str,
    /// First mainline release that has what it sets.
    pub kernel: &'static str,
    /// What has to be true.
    pub must: &'static [&'static str],
    /// Hazards by name, and what follows where one is there.
    pub must_not: &'static [(&'static str, Then)],
    /// What it can cost where it is right.
    pub harm: &'static [&'static str],
    /// What shows afterwards whether it helped.
    pub measure: &'static str,
    /// Files and commits of the kernel, documentation, papers and public reports.
    pub sources: &'static [&'static str],
}

/// The charter of a rule.
pub fn charter(rule: &str) -> Option<&'static Charter> {
    CHARTERS.iter().find(|charter| charter.rule == rule)
}

/// A hazard by its name.
pub fn hazard(name: &str) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| hazard.name == name)
}

/// Major and minor number of a kernel release such as `6.12.3-1-amd64`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
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
