//! A random choice of pages of a process that lasts: one page of each aligned run of so many, by address.
//!
//! Whether a page is chosen depends on its address alone, so the choice needs no list of what is resident: a process of
//! 1 TiB is looked at as fast as one of 16 GiB, memory that comes later is chosen with the same chance, and a page that
//! was chosen stays so while its run is as long.

use std::ops::Range;

/// Pages of address space of which each one is looked at: 16 GiB of 4 KiB. Reading them at once takes some 10 ns a page.
const WHOLE_PAGES: u64 = 4 << 20;
/// Pages looked at where there are more: half as many to twice as many. One by one they take about 1 us each.
const DRAWN_PAGES: u64 = 1 << 17;

/// Which pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageDraw {
    secret: u64,
    pages_per_run: u64,
}

impl PageDraw {
    /// The choice in `mapped_pages` pages of address space, by a secret. Runs as long as `before` are kept as long as
    /// they give neither a quarter nor four times of what was meant, so that a process that grows keeps its pages.
    pub fn of(secret: u64, mapped_pages: u64, before: Option<Self>) -> Self {
        if mapped_pages > WHOLE_PAGES {
            return Self::about(secret, mapped_pages, DRAWN_PAGES, before);
        }
        Self {
            secret,
            pages_per_run: 1,
        }
    }

    /// The choice of about `drawn_pages` of these pages: half as many to twice as many where there are more.
    pub fn about(secret: u64, mapped_pages: u64, drawn_pages: u64, before: Option<Self>) -> Self {
        let kept = before.filter(|draw| {
            let drawn = mapped_pages / draw.pages_per_run;
            draw.pages_per_run > 1 && (drawn_pages / 4..=drawn_pages * 4).contains(&drawn)
        });
        let pages_per_run = kept.map_or_else(
            || (mapped_pages / drawn_pages.max(1)).next_power_of_two(),
            |draw| draw.pages_per_run,
        );
        Self {
            secret,
            pages_per_run,
        }
    }

    /// Pages that one chosen page stands for; 1 where all are looked at.
    pub fn pages_per_run(&self) -> u64 {
        self.pages_per_run
    }

    /// Addresses of the chosen pages of this size between two addresses, in their order.
    pub fn addresses(&self, range: Range<u64>, page_bytes: u64) -> impl Iterator<Item = u64> + use<> {
        let Self {
            secret,
            pages_per_run,
        } = *self;
        let pages = range.start / page_bytes..range.end.div_ceil(page_bytes);
        let runs = pages.start / pages_per_run..pages.end.div_ceil(pages_per_run);
        runs.map(move |run| run * pages_per_run + mix(secret ^ run) % pages_per_run)
            .filter(move |page| pages.contains(page))
            .map(move |page| page * page_bytes)
    }
}

/// The finalizer of `SplitMix64`: each bit of the value changes half of the bits of the result.
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_BYTES;

    const TIB_PAGES: u64 = (1 << 40) / PAGE_BYTES;

    #[test]
    fn what_is_looked_at_does_not_grow_with_the_process() {
        for pages in [WHOLE_PAGES + 1, 3 * WHOLE_PAGES, TIB_PAGES, 128 * TIB_PAGES] {
            let draw = PageDraw::of(7, pages, None);
            let drawn = draw
                .addresses(1 << 30..(1 << 30) + pages * PAGE_BYTES, PAGE_BYTES)
                .count() as u64;
            assert!(
                (DRAWN_PAGES / 2 - 1..=2 * DRAWN_PAGES).contains(&drawn),
                "{pages}: {drawn}"
            );
        }
        assert_eq!(PageDraw::of(7, WHOLE_PAGES, None).pages_per_run(), 1);
    }

    #[test]
    fn each_page_has_the_same_chance_wherever_mappings_begin_and_end() {
        let draw = PageDraw {
            secret: 3,
            pages_per_run: 64,
        };
        // Mappings of 100 pages that begin anywhere.
        let mut by_offset = [0_u32; 100];
        for mapping in 0..64_000_u64 {
            let start = mapping * 1009 * PAGE_BYTES;
            for address in draw.addresses(start..start + 100 * PAGE_BYTES, PAGE_BYTES) {
                by_offset[((address - start) / PAGE_BYTES) as usize] += 1;
            }
        }
        assert!(
            by_offset.iter().all(|count| (800..1200).contains(count)),
            "{by_offset:?}"
        );
    }

    #[test]
    fn a_process_that_grows_or_shrinks_a_little_keeps_its_pages() {
        let first = PageDraw::of(7, TIB_PAGES, None);
        assert_eq!(PageDraw::of(7, TIB_PAGES * 3, Some(first)), first);
        assert_eq!(PageDraw::of(7, TIB_PAGES / 3, Some(first)), first);
        assert_ne!(PageDraw::of(7, TIB_PAGES * 9, Some(first)), first);
        let whole = PageDraw::of(7, 10, None);
        assert!(PageDraw::of(7, TIB_PAGES, Some(whole)).pages_per_run() > 1);
        assert_eq!(
            whole.addresses(4096..12288, PAGE_BYTES).collect::<Vec<_>>(),
            [4096, 8192]
        );
    }
}
