//! What a root is: the running host, where an absent file is the kernel's answer, or files of a host, where it may only
//! say that whoever made them left it out.

use tierscope_import::tree::SUPPORTCONFIG;
use tierscope_rootfs::{DENIED, Missing, Reader};
use tierscope_sysfs::knobs::Knob;

/// Said of a setting that is not there where that is the kernel's answer.
pub(crate) const NO_SETTING: &str = "this kernel has no such setting";
/// Tiers are in sysfs from this release on (`mm/memory-tiers.c`).
const TIERS_SINCE: (u32, u32) = (6, 1);

/// A root, as far as it bears on what follows from an absent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// "" for the running host, else what made the files where they say so, else `tree`.
    pub(crate) name: String,
    /// Whether it holds what every recording of a host holds.
    is_complete: bool,
    /// Whether its kernel is known to print memory tiers.
    prints_tiers: bool,
}

impl Tree {
    /// Looks at a root, with the release of its kernel.
    pub(crate) fn of(reader: &mut Reader, release: &str) -> Self {
        let is_live = reader.root().is_live();
        let tool = if is_live { None } else { tool(reader) };
        Self {
            is_complete: is_live || (tool.is_none() && reader.root().join("/proc/uptime").exists()),
            name: match tool {
                Some(tool) => tool,
                None if is_live => String::new(),
                None => "tree".to_owned(),
            },
            prints_tiers: version(release).is_none_or(|version| version >= TIERS_SINCE),
        }
    }

    /// Whether this is the running host.
    pub(crate) fn is_live(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether it holds what every recording of a host holds, so that what it lacks is not there.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether missing tiers mean that the kernel has none.
    pub(crate) fn holds_tiers_of_its_kernel(&self) -> bool {
        self.is_live() || (self.is_complete && !self.prints_tiers)
    }

    /// Why a setting that is not there has no value.
    pub(crate) fn why_absent(&self, knob: &Knob) -> Option<String> {
        match &knob.value {
            Ok(_) => None,
            Err(Missing::Unreadable(reason)) if reason == DENIED => {
                Some(format!("{reason}; root may read it"))
            }
            Err(Missing::Unreadable(reason)) => Some(reason.clone()),
            Err(Missing::Absent) => {
                let of_tiers = self.prints_tiers && knob.path.contains("/mm/numa/");
                let is_answer = self.is_live() || (self.is_complete && !of_tiers);
                Some(if is_answer {
                    NO_SETTING.to_owned()
                } else {
                    format!("not in this {}", self.noun())
                })
            }
        }
    }

    /// `report` or `tree`.
    pub(crate) fn noun(&self) -> &'static str {
        noun(&self.name)
    }
}

/// What to call the files of an inventory whose `tree` this is.
pub(crate) fn noun(tree: &str) -> &'static str {
    match tree {
        "" => "host",
        "tree" => "tree",
        _ => "report",
    }
}

fn tool(reader: &mut Reader) -> Option<String> {
    if reader.root().join("/insights_commands").exists() {
        return Some("insights-client".to_owned());
    }
    // Of sos, which ends no line of it; older ones call themselves sosreport.
    let line = reader.read("/version.txt").ok()?.lines().next()?.to_owned();
    let (name, version) = line.split_once(':')?;
    let name = match name.trim() {
        "sos report" | "sosreport" => "sos",
        SUPPORTCONFIG => SUPPORTCONFIG,
        _ => return None,
    };
    Some(format!("{name} {}", version.trim()).trim_end().to_owned())
}

/// The first two numbers of a kernel's release.
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;

    #[test]
    fn root_is_named_where_it_would_help() {
        let root = FakeRoot::new();
        let tree = Tree::of(&mut Reader::new(root.root()), "6.12");
        let why = |reason: &str| {
            let value = Err(Missing::Unreadable(reason.to_owned()));
            tree.why_absent(&Knob {
                path: "/proc/sys/vm/swappiness".to_owned(),
                value,
            })
        };
        assert_eq!(
            why(DENIED).as_deref(),
            Some("permission denied; root may read it")
        );
        assert_eq!(
            why("Illegal seek (os error 29)").as_deref(),
            Some("Illegal seek (os error 29)")
        );
    }

    fn absent(path: &str) -> Knob {
        Knob {
            path: path.to_owned(),
            value: Err(Missing::Absent),
        }
    }

    #[test]
    fn an_absent_file_is_an_answer_only_where_the_tree_would_hold_it() {
        const DEMOTION: &str = "/sys/kernel/mm/numa/demotion_enabled";
        let root = FakeRoot::new();
        let tree = |release: &str| Tree::of(&mut Reader::new(root.root()), release);
        let why = |release: &str, path: &str| tree(release).why_absent(&absent(path));
        let not_here = Some("not in this tree".to_owned());
        let none = Some("this kernel has no such setting".to_owned());
        assert_eq!(why("5.10.0", DEMOTION), not_here);
        root.write("proc/uptime", "1.00 1.00\n");
        assert_eq!(why("5.10.0", DEMOTION), none);
        assert_eq!(why("6.12.95+deb12-amd64", DEMOTION), not_here);
        assert_eq!(why("6.12.95+deb12-amd64", "/proc/sys/vm/defrag_mode"), none);
        assert!(tree("5.10.0").holds_tiers_of_its_kernel());
        assert!(!tree("6.1").holds_tiers_of_its_kernel());
        assert!(!tree("").holds_tiers_of_its_kernel());
    }

    #[test]
    fn reports_are_named_by_their_tool_and_hold_no_tiers_of_their_kernel() {
        for (file, text, name) in [
            ("version.txt", "sos report: 4.12.1", "sos 4.12.1"),
            (
                "version.txt",
                "supportconfig: 3.2.8-1.1\n",
                "supportconfig 3.2.8-1.1",
            ),
            ("version.txt", "supportconfig: \n", "supportconfig"),
            ("insights_commands/hostname", "db1\n", "insights-client"),
        ] {
            let root = FakeRoot::new();
            root.write(file, text);
            root.write("proc/uptime", "1.00 1.00\n");
            let tree = Tree::of(&mut Reader::new(root.root()), "5.14.0-503.el9.x86_64");
            assert_eq!((tree.name.as_str(), tree.noun()), (name, "report"));
            assert!(!tree.holds_tiers_of_its_kernel());
        }
    }
}
