//! Lists of pages as a kernel has them: a page is on one at most, and goes on and off at no cost that grows.

const NONE: u8 = u8::MAX;

/// Lists over pages `0..n`, linked both ways. The newest page is at the head, the next to be looked at is at the tail.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    /// Neighbours of each page, then of the end of each list: towards the tail, and towards the head.
    next: Vec<u32>,
    before: Vec<u32>,
    list: Vec<u8>,
    units: Vec<u64>,
}

impl Lists {
    pub(crate) fn new(pages: usize, lists: usize) -> Self {
        let own: Vec<u32> = (0..(pages + lists) as u32).collect();
        Self {
            next: own.clone(),
            before: own,
            list: vec![NONE; pages],
            units: vec![0; lists],
        }
    }

    fn end(&self, list: usize) -> usize {
        self.list.len() + list
    }

    pub(crate) fn units(&self, list: usize) -> u64 {
        self.units[list]
    }

    pub(crate) fn of(&self, page: u32) -> Option<usize> {
        let list = self.list[page as usize];
        (list != NONE).then_some(usize::from(list))
    }

    /// The page that was put on a list the longest ago.
    pub(crate) fn tail(&self, list: usize) -> Option<u32> {
        let end = self.end(list);
        (self.before[end] as usize != end).then_some(self.before[end])
    }

    /// Puts a page of so many units at the head of a list, off the one that it is on.
    pub(crate) fn put(&mut self, page: u32, units: u64, list: usize) {
        self.remove(page, units);
        let (end, at) = (self.end(list), page as usize);
        let first = self.next[end];
        (self.before[at], self.next[at]) = (end as u32, first);
        self.before[first as usize] = page;
        self.next[end] = page;
        self.list[at] = list as u8;
        self.units[list] += units;
    }

    pub(crate) fn remove(&mut self, page: u32, units: u64) {
        let Some(list) = self.of(page) else {
            return;
        };
        let (before, next) = (self.before[page as usize], self.next[page as usize]);
        self.next[before as usize] = next;
        self.before[next as usize] = before;
        self.list[page as usize] = NONE;
        self.units[list] -= units;
    }

    pub(crate) fn pages(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let end = self.end(list) as u32;
        let mut at = end;
        std::iter::from_fn(move || {
            at = self.before[at as usize];
            (at != end).then_some(at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_a_list_in_the_order_in_which_they_came() {
        let mut lists = Lists::new(4, 2);
        for page in [2, 0, 3, 1] {
            lists.put(page, 2, 0);
        }
        assert_eq!(lists.pages(0).collect::<Vec<_>>(), [2, 0, 3, 1]);
        lists.put(0, 2, 1);
        lists.remove(2, 2);
        assert_eq!(lists.tail(0), Some(3));
        assert_eq!((lists.units(0), lists.units(1)), (4, 2));
        assert_eq!((lists.of(2), lists.of(0)), (None, Some(1)));
        lists.put(3, 2, 0);
        assert_eq!(lists.pages(0).collect::<Vec<_>>(), [1, 3]);
    }
}
