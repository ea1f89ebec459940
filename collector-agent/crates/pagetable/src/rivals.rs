//! Who else clears accessed bits on this host, so that a page that was touched may show none.
//!
//! DAMON does, of the pages that it samples: a walk of page tables beside it misses touches. The per-mapping sums of
//! smaps are safe, because the kernel keeps a second mark for them.

use tierscope_rootfs::Reader;

const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";
/// Parts of the kernel that use DAMON on their own.
const MODULES: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];

/// The name of a part of the kernel that clears accessed bits now; `None` where there is none.
pub fn who_clears_accessed_bits(reader: &mut Reader) -> Option<String> {
    let is_set = |reader: &mut Reader, path: &str, wanted: &str| reader.value(path) == Ok(wanted);
    let module = MODULES
        .into_iter()
        .find(|module| is_set(reader, &format!("/sys/module/{module}/parameters/enabled"), "Y"));
    if let Some(module) = module {
        return Some(module.to_owned());
    }
    let kdamonds = reader.list(KDAMONDS).unwrap_or_default();
    kdamonds
        .into_iter()
        .find(|index| is_set(reader, &format!("{KDAMONDS}/{index}/state"), "on"))
        .map(|index| format!("DAMON (kdamond {index})"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use tierscope_rootfs::Root;

    fn who(files: &[(&str, &str)]) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        who_clears_accessed_bits(&mut Reader::new(Root::new(directory.path())))
    }

    #[test]
    fn damon_is_named_while_it_is_on() {
        let (nr, state) = (
            "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
            "sys/kernel/mm/damon/admin/kdamonds/0/state",
        );
        assert_eq!(who(&[]), None);
        assert_eq!(who(&[(nr, "1\n"), (state, "off\n")]), None);
        assert_eq!(
            who(&[(nr, "1\n"), (state, "on\n")]).as_deref(),
            Some("DAMON (kdamond 0)")
        );
        let module = "sys/module/damon_reclaim/parameters/enabled";
        assert_eq!(who(&[(module, "Y\n")]).as_deref(), Some("damon_reclaim"));
        assert_eq!(who(&[(module, "N\n")]), None);
    }
}
