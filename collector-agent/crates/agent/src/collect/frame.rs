//! The values of one collection, in a shape that costs next to nothing when the names are those of the time before.
//!
//! Kernel files print the same names in the same order every time. So each file has a section that remembers its keys;
//! a value whose name stands where it stood is stored by position, without an allocation.

use std::collections::HashMap;

use tierscope_sample::counters::Key;

/// Keys and values of one file in one scope.
#[derive(Debug)]
struct Section {
    /// `<scope>|<source>|`.
    prefix: String,
    keys: Vec<Key>,
    values: Vec<Option<i64>>,
    /// Indices of `keys` in order of their text.
    order: Vec<u32>,
    cursor: usize,
    used: bool,
}

impl Section {
    fn name_at(&self, index: usize) -> Option<&str> {
        self.keys.get(index).map(|key| &key.as_str()[self.prefix.len()..])
    }

    fn sort(&mut self) {
        let keys = &self.keys;
        self.order = (0..keys.len() as u32).collect();
        self.order
            .sort_unstable_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
    }
}

/// Where a section is, for as long as the frame keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionId(usize);

/// All sections. Keys stay between collections; a key that is not read again has no value.
#[derive(Debug)]
pub(crate) struct Frame {
    sections: Vec<Section>,
    by_prefix: HashMap<String, usize>,
    order: Vec<u32>,
    names: usize,
    max_names: usize,
    refused: usize,
    prefix: String,
}

impl Frame {
    /// A frame of at most `max_names` keys.
    pub(crate) fn new(max_names: usize) -> Self {
        Self {
            sections: Vec::new(),
            by_prefix: HashMap::new(),
            order: Vec::new(),
            names: 0,
            max_names,
            refused: 0,
            prefix: String::new(),
        }
    }

    /// Starts a collection: all values become absent.
    pub(crate) fn begin(&mut self) {
        self.refused = 0;
        for section in &mut self.sections {
            section.cursor = 0;
            section.values.fill(None);
        }
    }

    pub(crate) fn section(&mut self, scope: &str, source: &str) -> SectionId {
        self.prefix.clear();
        self.prefix.extend([scope, "|", source, "|"]);
        if let Some(index) = self.by_prefix.get(&self.prefix) {
            self.sections[*index].used = true;
            return SectionId(*index);
        }
        let index = self.sections.len();
        self.sections.push(Section {
            prefix: self.prefix.clone(),
            keys: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
            cursor: 0,
            used: true,
        });
        self.by_prefix.insert(self.prefix.clone(), index);
        self.order.clear();
        SectionId(index)
    }

    /// Forgets the names of a section: what they stood for is gone, and not only unread.
    pub(crate) fn clear(&mut self, id: SectionId) {
        let section = &mut self.sections[id.0];
        self.names -= section.keys.len();
        section.keys.clear();
        section.values.clear();
        section.order.clear();
        section.cursor = 0;
    }

    /// Stores a value; `None` says that the kernel has the place but no value, such as a limit of `max`. Names beyond
    /// the limit are counted and not kept.
    pub(crate) fn put(&mut self, id: SectionId, name: &str, value: Option<i64>) {
        let section = &mut self.sections[id.0];
        let mut index = section.cursor;
        if section.name_at(index) != Some(name) {
            let known = (0..section.keys.len()).find(|index| section.name_at(*index) == Some(name));
            match known {
                Some(known) => index = known,
                None if self.names >= self.max_names => {
                    self.refused += 1;
                    return;
                }
                None => {
                    index = section.keys.len();
                    section
                        .keys
                        .push(Key::from_text(&format!("{}{name}", section.prefix)));
                    section.values.push(None);
                    section.order.clear();
                    self.names += 1;
                }
            }
        }
        section.values[index] = value;
        section.cursor = index + 1;
    }

    /// Adds to a value, which counts as 0 while it is absent.
    pub(crate) fn add(&mut self, id: SectionId, name: &str, value: i64) {
        let section = &self.sections[id.0];
        let known = (0..section.keys.len()).find(|index| section.name_at(*index) == Some(name));
        let sum = known
            .and_then(|index| section.values[index])
            .unwrap_or(0)
            .saturating_add(value);
        self.put(id, name, Some(sum));
    }

    /// Names refused in this collection because of the limit.
    pub(crate) fn refused(&self) -> usize {
        self.refused
    }

    /// Forgets the sections that no collection has used since the last call: groups and services that are gone.
    pub(crate) fn forget_unused(&mut self) {
        self.sections.retain(|section| section.used);
        for section in &mut self.sections {
            section.used = false;
        }
        self.names = self.sections.iter().map(|section| section.keys.len()).sum();
        self.by_prefix = self
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| (section.prefix.clone(), index))
            .collect();
        self.order.clear();
    }

    /// All keys with their values, sorted by key.
    pub(crate) fn finish(&mut self) -> Vec<(Key, Option<i64>)> {
        if self.order.is_empty() {
            self.order = (0..self.sections.len() as u32).collect();
            // No prefix begins with another one, because each has exactly two bars and ends with the second: sorting
            // sections, then names, sorts keys.
            let sections = &self.sections;
            self.order
                .sort_unstable_by(|a, b| sections[*a as usize].prefix.cmp(&sections[*b as usize].prefix));
        }
        let mut values = Vec::with_capacity(self.names);
        for index in &self.order {
            let section = &mut self.sections[*index as usize];
            if section.order.is_empty() {
                section.sort();
            }
            let in_order = section.order.iter().map(|index| *index as usize);
            values.extend(in_order.map(|index| (section.keys[index].clone(), section.values[index])));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(frame: &mut Frame) -> Vec<(String, Option<i64>)> {
        frame
            .finish()
            .into_iter()
            .map(|(key, value)| (key.as_str().to_owned(), value))
            .collect()
    }

    #[test]
    fn keys_come_out_sorted_whatever_the_order_of_the_files() {
        let mut frame = Frame::new(100);
        frame.begin();
        let node = frame.section("node:1", "vmstat");
        frame.put(node, "b", Some(2));
        frame.put(node, "a", Some(1));
        let host = frame.section("host", "vmstat");
        frame.put(host, "z", Some(9));
        let meminfo = frame.section("host", "meminfo");
        frame.put(meminfo, "MemFree", Some(3));
        let texts = texts(&mut frame);
        assert!(texts.is_sorted());
        assert_eq!(texts[0], ("host|meminfo|MemFree".to_owned(), Some(3)));
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn a_file_that_is_not_read_again_keeps_its_keys_without_values() {
        let mut frame = Frame::new(100);
        frame.begin();
        let host = frame.section("host", "vmstat");
        frame.put(host, "a", Some(1));
        frame.put(host, "b", Some(2));
        assert_eq!(texts(&mut frame).len(), 2);
        frame.begin();
        let host = frame.section("host", "vmstat");
        frame.put(host, "b", Some(5));
        frame.put(host, "c", None);
        let expected = [
            ("host|vmstat|a", None),
            ("host|vmstat|b", Some(5)),
            ("host|vmstat|c", None),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        assert_eq!(texts(&mut frame), expected);
    }

    #[test]
    fn names_beyond_the_limit_are_counted() {
        let mut frame = Frame::new(1);
        frame.begin();
        let host = frame.section("host", "vmstat");
        frame.put(host, "a", Some(1));
        frame.put(host, "b", Some(2));
        assert_eq!(frame.refused(), 1);
        assert_eq!(texts(&mut frame).len(), 1);
    }

    #[test]
    fn sections_that_nobody_uses_any_more_are_forgotten() {
        let mut frame = Frame::new(100);
        for scope in ["cgroup:/gone", "cgroup:/kept"] {
            frame.begin();
            let section = frame.section(scope, "memory.current");
            frame.put(section, "current", Some(1));
        }
        frame.forget_unused();
        frame.begin();
        let section = frame.section("cgroup:/kept", "memory.current");
        frame.put(section, "current", Some(2));
        frame.forget_unused();
        assert_eq!(
            texts(&mut frame),
            [("cgroup:/kept|memory.current|current".to_owned(), Some(2))]
        );
    }

    #[test]
    fn sums_start_from_nothing() {
        let mut frame = Frame::new(100);
        frame.begin();
        let section = frame.section("service:host/a", "smaps_rollup");
        frame.add(section, "Rss", 5);
        frame.add(section, "Rss", 7);
        assert_eq!(
            texts(&mut frame),
            [("service:host/a|smaps_rollup|Rss".to_owned(), Some(12))]
        );
    }
}
