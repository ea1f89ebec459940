//! What a charter of advice is: a rule with its hazards. The table of them is written by `contract/gen_advice.py`.

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
    /// The findings of `doctor` that say it; none where it takes a window of counters or heat.
    pub doctor: &'static [&'static str],
    /// Of rules without settings that `doctor` has too: what is, in whole sentences.
    pub says: &'static str,
    /// What to do then.
    pub fix: &'static str,
    /// Files and commits of the kernel, documentation, papers and public reports.
    pub sources: &'static [&'static str],
}

/// Whether a kernel is older than a mainline release; `None` where its release cannot be read. That a vendor's kernel has what the
/// later release brought is not assumed.
pub fn precedes(release: &str, mainline: &str) -> Option<bool> {
    Some(version_of(release)? < version_of(mainline)?)
}

/// Major and minor number of a kernel release such as `6.12.3-1-amd64`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
