//! The layouts that queued batches refer to, on disk, so that they can be sent again when the service asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tierscope_wire::Layout;

/// Most layouts kept: the service takes 64 a day of a host.
const MAX_LAYOUTS: usize = 64;

/// A directory of layouts, one file each, named by hash.
pub(crate) struct LayoutStore {
    directory: PathBuf,
    newest: Option<Arc<Layout>>,
}

impl LayoutStore {
    /// The store in `directory`, which is made when it is missing.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
        Ok(Self {
            directory: directory.to_owned(),
            newest: None,
        })
    }

    fn path(&self, hash_hex: &str) -> PathBuf {
        self.directory.join(hash_hex)
    }

    pub(crate) fn keep(&mut self, layout: &Arc<Layout>) -> Result<()> {
        if self
            .newest
            .as_ref()
            .is_some_and(|newest| newest.hash() == layout.hash())
        {
            return Ok(());
        }
        let path = self.path(&layout.hash_hex());
        if !path.exists() {
            self.forget_oldest();
            let temporary = path.with_extension("new");
            fs::write(&temporary, layout.keys().join("\n"))
                .and_then(|()| fs::rename(&temporary, &path))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        self.newest = Some(Arc::clone(layout));
        Ok(())
    }

    /// The layout with this hash; `None` when it is not known or its file is damaged.
    pub(crate) fn load(&self, hash: &[u8]) -> Option<Arc<Layout>> {
        let hash_hex = hash
            .iter()
            .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let text = fs::read_to_string(self.path(&hash_hex)).ok()?;
        let layout = Layout::new(text.lines().map(Box::from).collect());
        (layout.hash()[..] == *hash).then(|| Arc::new(layout))
    }

    fn forget_oldest(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_LAYOUTS - 1)) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_come_back_and_are_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut store = LayoutStore::open(directory.path()).expect("opened");
        let layout = |number: usize| {
            Arc::new(Layout::new(vec![
                format!("host|vmstat|a{number}").into(),
                "b".into(),
            ]))
        };
        for number in 0..100 {
            store.keep(&layout(number)).expect("kept");
        }
        assert_eq!(store.load(&layout(99).hash()), Some(layout(99)));
        assert!(fs::read_dir(directory.path()).expect("there").count() <= MAX_LAYOUTS);
        assert_eq!(store.load(&[0; 16]), None);
    }

    #[test]
    fn a_damaged_layout_is_not_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut store = LayoutStore::open(directory.path()).expect("opened");
        let layout = Arc::new(Layout::new(vec!["a".into()]));
        store.keep(&layout).expect("kept");
        fs::write(directory.path().join(layout.hash_hex()), "b").expect("damaged");
        assert_eq!(store.load(&layout.hash()), None);
    }
}
