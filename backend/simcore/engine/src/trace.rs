//! The trace to replay: pages in order of birth, and which of them were accessed how often in each interval.

use thiserror::Error;

use crate::page::{KINDS, Kind};

/// Set in a row's page where the accesses include stores.
const WRITTEN: u32 = 1 << 31;
/// Most pages of a trace: their numbers share a word with a flag.
const MAX_PAGES: usize = (WRITTEN - 1) as usize;

/// Pages as they come, one item each: kind, size in units, first and last interval in which they are resident.
#[derive(Debug, Clone, Copy)]
pub struct Pages<'a> {
    /// Places in `Kind`.
    pub kinds: &'a [u8],
    /// Base pages in a page, 1 or more.
    pub units: &'a [u32],
    /// First interval.
    pub first: &'a [u32],
    /// Last interval.
    pub last: &'a [u32],
    /// Whose they are, from 0; empty: all of one service.
    pub tenants: &'a [u8],
}

/// Rows as they come, in order of interval: so many accesses of a page in an interval, and whether some were stores.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Interval from 0.
    pub interval: &'a [u32],
    /// Place in `Pages`.
    pub page: &'a [u32],
    /// Loads and stores together, 1 or more.
    pub accesses: &'a [u32],
    /// Whether any was a store.
    pub written: &'a [bool],
}

/// Why rows and pages make no trace. `row` and `page` count from 0; messages count rows from 1, as readers of files do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// Columns of different lengths.
    #[error("the columns of {0} differ in length")]
    Lengths(&'static str),
    /// No intervals or no pages.
    #[error("the trace is empty: it has no {0}")]
    Empty(&'static str),
    /// More pages or intervals than can be numbered.
    #[error("{0} {1} are more than the {2} that can be simulated")]
    TooMany(usize, &'static str, usize),
    /// A page that cannot be.
    #[error("page {page}: {cause}")]
    Page {
        /// Which page.
        page: usize,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// A row that cannot be.
    #[error("row {}: {cause}", row + 1)]
    Row {
        /// Which row.
        row: usize,
        /// What is wrong with it.
        cause: &'static str,
    },
}

/// The page of a row as it is kept.
pub(crate) fn row_page(word: u32) -> u32 {
    word & !WRITTEN
}

/// Whether the accesses of a row as it is kept include stores.
pub(crate) fn is_written(word: u32) -> bool {
    word & WRITTEN != 0
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub page: u32,
    pub accesses: u32,
    pub written: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RowColumns<'a> {
    /// As `row_page` reads them.
    pub pages: &'a [u32],
    pub accesses: &'a [u32],
}

impl RowColumns<'_> {
    pub(crate) fn at(self, place: usize) -> Row {
        let word = self.pages[place];
        Row {
            page: row_page(word),
            accesses: self.accesses[place],
            written: is_written(word),
        }
    }
}

/// A trace, ready to be replayed. Pages are numbered in order of birth, rows of an interval are in order of page.
#[derive(Debug, Clone)]
pub struct Trace {
    kinds: Vec<u8>,
    units: Vec<u32>,
    /// Empty where all pages are one service's.
    tenants: Vec<u8>,
    /// Pages born before interval t: those born in it are `births[t]..births[t + 1]`.
    births: Vec<u32>,
    /// Pages that are gone when interval t begins: `dead[death_ends[t]..death_ends[t + 1]]`.
    death_ends: Vec<u32>,
    dead: Vec<u32>,
    /// Rows of interval t: `row_ends[t]..row_ends[t + 1]`. A page born without an access has a row of none.
    row_ends: Vec<usize>,
    row_pages: Vec<u32>,
    row_accesses: Vec<u32>,
    accesses: u64,
    uniform: bool,
    largest: u32,
    peak_units: u64,
}

impl Trace {
    /// Orders rows and pages. Ties between pages born in one interval go by their first row, then by their place.
    ///
    /// # Errors
    ///
    /// A column of another length, rows out of order or repeated, or a page accessed while it is not resident.
    pub fn new(intervals: usize, pages: Pages<'_>, rows: Rows<'_>) -> Result<Self, TraceError> {
        check_shapes(intervals, pages, rows)?;
        check_pages(intervals, pages)?;
        check_rows(intervals, pages, rows)?;
        let order = order_of_birth(pages, rows);
        let mut numbers = vec![0_u32; order.len()];
        for (number, &page) in (0..).zip(&order) {
            numbers[page as usize] = number;
        }
        let births = starts(
            intervals,
            order.iter().map(|&page| pages.first[page as usize]),
        );
        let (death_ends, dead) = deaths(intervals, pages, &numbers);
        let mut trace = Self {
            kinds: order
                .iter()
                .map(|&page| pages.kinds[page as usize])
                .collect(),
            units: order
                .iter()
                .map(|&page| pages.units[page as usize])
                .collect(),
            tenants: order
                .iter()
                .filter_map(|&page| pages.tenants.get(page as usize).copied())
                .collect(),
            births,
            death_ends,
            dead,
            row_ends: Vec::with_capacity(intervals + 1),
            row_pages: Vec::with_capacity(rows.page.len()),
            row_accesses: Vec::with_capacity(rows.page.len()),
            accesses: rows.accesses.iter().map(|&count| u64::from(count)).sum(),
            uniform: pages.units.iter().all(|&units| units == pages.units[0]),
            largest: pages.units.iter().max().copied().unwrap_or(0),
            peak_units: 0,
        };
        trace.fill_rows(intervals, rows, &numbers)?;
        trace.peak_units = trace.find_peak();
        Ok(trace)
    }

    /// Intervals.
    pub fn intervals(&self) -> usize {
        self.row_ends.len() - 1
    }

    /// Pages ever resident.
    pub fn pages(&self) -> usize {
        self.kinds.len()
    }

    /// Accesses of all intervals.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Touched pages, summed over intervals.
    pub fn touched(&self) -> usize {
        self.row_accesses.iter().filter(|&&count| count > 0).count()
    }

    /// Most units that were resident at once.
    pub fn peak_units(&self) -> u64 {
        self.peak_units
    }

    /// Units of the largest page.
    pub fn largest(&self) -> u64 {
        u64::from(self.largest)
    }

    /// Units of files that were accessed in one interval at most, as those of a flood are.
    pub fn read_once_units(&self) -> u64 {
        let mut intervals = vec![0_u8; self.pages()];
        for (&word, &accesses) in self.row_pages.iter().zip(&self.row_accesses) {
            let seen = &mut intervals[row_page(word) as usize];
            *seen = seen.saturating_add(u8::from(accesses > 0));
        }
        let once = (0..)
            .zip(&intervals)
            .filter(|&(page, &seen)| seen <= 1 && self.kind(page) == Kind::File as usize);
        once.map(|(page, _)| self.size(page)).sum()
    }

    fn find_peak(&self) -> u64 {
        let (mut resident, mut peak) = (0_u64, 0);
        for now in 0..self.intervals() {
            resident -= self
                .deaths(now)
                .iter()
                .map(|&page| self.size(page))
                .sum::<u64>();
            resident += self.born(now).map(|page| self.size(page)).sum::<u64>();
            peak = peak.max(resident);
        }
        peak
    }

    /// Whether all pages are of one size.
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform
    }

    pub(crate) fn kinds(&self) -> &[u8] {
        &self.kinds
    }

    pub(crate) fn kind(&self, page: u32) -> usize {
        usize::from(self.kinds[page as usize])
    }

    /// Whose a page is, from 0.
    pub(crate) fn tenant(&self, page: u32) -> usize {
        let found = self.tenants.get(page as usize);
        found.map_or(0, |&tenant| usize::from(tenant))
    }

    pub(crate) fn tenants(&self) -> usize {
        self.tenants
            .iter()
            .max()
            .map_or(1, |&last| usize::from(last) + 1)
    }

    pub(crate) fn size(&self, page: u32) -> u64 {
        u64::from(self.units[page as usize])
    }

    pub(crate) fn born(&self, now: usize) -> std::ops::Range<u32> {
        self.births[now]..self.births[now + 1]
    }

    pub(crate) fn deaths(&self, now: usize) -> &[u32] {
        &self.dead[self.death_ends[now] as usize..self.death_ends[now + 1] as usize]
    }

    pub(crate) fn rows(&self, now: usize) -> impl Iterator<Item = Row> + '_ {
        let rows = self.row_columns(now);
        (0..rows.pages.len()).map(move |place| rows.at(place))
    }

    pub(crate) fn row_columns(&self, now: usize) -> RowColumns<'_> {
        let range = self.row_ends[now]..self.row_ends[now + 1];
        RowColumns {
            pages: &self.row_pages[range.clone()],
            accesses: &self.row_accesses[range],
        }
    }

    /// Pages of the rows of an interval, by which victims are looked for.
    pub(crate) fn row_count(&self, now: usize) -> usize {
        self.row_ends[now + 1] - self.row_ends[now]
    }

    /// The first row of an interval whose page is this or a later one.
    pub(crate) fn place_from(&self, now: usize, page: u32) -> u32 {
        let rows = self.row_words(now);
        rows.partition_point(|&found| row_page(found) < page) as u32
    }

    /// The pages of an interval's rows, as `row_page` reads them.
    pub(crate) fn row_words(&self, now: usize) -> &[u32] {
        &self.row_pages[self.row_ends[now]..self.row_ends[now + 1]]
    }

    pub(crate) fn row_page(&self, now: usize, place: usize) -> Option<u32> {
        self.row_words(now).get(place).copied().map(row_page)
    }

    fn fill_rows(
        &mut self,
        intervals: usize,
        rows: Rows<'_>,
        numbers: &[u32],
    ) -> Result<(), TraceError> {
        let mut at = 0;
        let mut sorted: Vec<(u32, u32)> = Vec::new();
        self.row_ends.push(0);
        for now in 0..intervals {
            let start = at;
            while at < rows.interval.len() && rows.interval[at] as usize == now {
                at += 1;
            }
            sorted.clear();
            sorted.extend((start..at).map(|row| {
                let written = if rows.written[row] { WRITTEN } else { 0 };
                (
                    numbers[rows.page[row] as usize] | written,
                    rows.accesses[row],
                )
            }));
            sorted.sort_unstable_by_key(|(page, _)| page & !WRITTEN);
            if sorted
                .windows(2)
                .any(|pair| pair[0].0 & !WRITTEN == pair[1].0 & !WRITTEN)
            {
                let cause = "a page is listed twice in one interval";
                return Err(TraceError::Row {
                    row: repeated(rows, start, at),
                    cause,
                });
            }
            self.merge_births(now, &sorted);
            self.row_ends.push(self.row_pages.len());
        }
        Ok(())
    }

    /// Appends an interval's rows, and a row without accesses for each page born in it and not accessed.
    fn merge_births(&mut self, now: usize, sorted: &[(u32, u32)]) {
        let born = self.born(now);
        let split = sorted.partition_point(|(page, _)| page & !WRITTEN < born.start);
        for &(page, accesses) in &sorted[..split] {
            self.row_pages.push(page);
            self.row_accesses.push(accesses);
        }
        let mut touched = sorted[split..].iter().peekable();
        for page in born {
            let row = touched.next_if(|(found, _)| found & !WRITTEN == page);
            let &(page, accesses) = row.unwrap_or(&(page, 0));
            self.row_pages.push(page);
            self.row_accesses.push(accesses);
        }
    }
}

fn check_shapes(intervals: usize, pages: Pages<'_>, rows: Rows<'_>) -> Result<(), TraceError> {
    let n = pages.kinds.len();
    if [pages.units.len(), pages.first.len(), pages.last.len()] != [n; 3]
        || ![0, n].contains(&pages.tenants.len())
    {
        return Err(TraceError::Lengths("pages"));
    }
    if [rows.page.len(), rows.accesses.len(), rows.written.len()] != [rows.interval.len(); 3] {
        return Err(TraceError::Lengths("rows"));
    }
    if n == 0 {
        return Err(TraceError::Empty("pages"));
    }
    if intervals == 0 {
        return Err(TraceError::Empty("intervals"));
    }
    if n > MAX_PAGES {
        return Err(TraceError::TooMany(n, "pages", MAX_PAGES));
    }
    if intervals > MAX_PAGES {
        return Err(TraceError::TooMany(intervals, "intervals", MAX_PAGES));
    }
    Ok(())
}

fn check_pages(intervals: usize, pages: Pages<'_>) -> Result<(), TraceError> {
    for page in 0..pages.kinds.len() {
        let cause = if usize::from(pages.kinds[page]) >= KINDS {
            "its kind is none of anon (0), file (1) and tmpfs (2)"
        } else if pages.units[page] == 0 {
            "its size is 0"
        } else if pages.first[page] > pages.last[page] {
            "it is gone before it is born"
        } else if pages.last[page] as usize >= intervals {
            "it is resident after the last interval"
        } else {
            continue;
        };
        return Err(TraceError::Page { page, cause });
    }
    Ok(())
}

fn check_rows(intervals: usize, pages: Pages<'_>, rows: Rows<'_>) -> Result<(), TraceError> {
    let mut before = 0;
    for row in 0..rows.interval.len() {
        let (interval, page) = (rows.interval[row], rows.page[row] as usize);
        let cause = if interval < before {
            "its interval is before that of the row above: sort the rows by interval"
        } else if interval as usize >= intervals {
            "its interval is after the last one"
        } else if page >= pages.kinds.len() {
            "its page is not one of the pages"
        } else if rows.accesses[row] == 0 {
            "it has no accesses"
        } else if interval < pages.first[page] || interval > pages.last[page] {
            "its page is not resident then"
        } else {
            before = interval;
            continue;
        };
        return Err(TraceError::Row { row, cause });
    }
    Ok(())
}

/// Pages by first interval, then by first row in it, then by place.
fn order_of_birth(pages: Pages<'_>, rows: Rows<'_>) -> Vec<u32> {
    let mut first_row = vec![u32::MAX; pages.kinds.len()];
    for row in (0..rows.interval.len()).rev() {
        let page = rows.page[row] as usize;
        if rows.interval[row] == pages.first[page] {
            first_row[page] = row as u32;
        }
    }
    let mut order: Vec<u32> = (0..pages.kinds.len() as u32).collect();
    order.sort_by_key(|&page| (pages.first[page as usize], first_row[page as usize]));
    order
}

/// Where each interval starts in a list that is ordered by interval; one more at the end.
fn starts(intervals: usize, ordered: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut counts = vec![0_u32; intervals + 1];
    for interval in ordered {
        counts[interval as usize + 1] += 1;
    }
    for at in 1..counts.len() {
        counts[at] += counts[at - 1];
    }
    counts
}

fn deaths(intervals: usize, pages: Pages<'_>, numbers: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut gone: Vec<(u32, u32)> = pages
        .last
        .iter()
        .zip(numbers)
        .filter(|&(&last, _)| last as usize + 1 < intervals)
        .map(|(&last, &number)| (last + 1, number))
        .collect();
    gone.sort_unstable();
    let ends = starts(intervals, gone.iter().map(|&(at, _)| at));
    (ends, gone.into_iter().map(|(_, number)| number).collect())
}

/// The first row of an interval whose page an earlier row of it has.
fn repeated(rows: Rows<'_>, start: usize, end: usize) -> usize {
    let mut seen = std::collections::HashSet::new();
    (start..end)
        .find(|&row| !seen.insert(rows.page[row]))
        .unwrap_or(start)
}
