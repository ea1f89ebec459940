//! A plain LRU cache over a stream of page numbers, as tight as we can write it: what a simulation is measured against.
//!
//! `cargo run --release --example lru -- STREAM CAPACITY`, the stream as little-endian 32-bit page numbers. It only
//! counts hits: no tiers, kinds, settings or books. Prints one JSON object.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]

use std::time::Instant;

const NONE: u32 = u32::MAX;

/// A doubly linked list through arrays of the pages' neighbours, the page used last in front.
struct Lru {
    newer: Vec<u32>,
    older: Vec<u32>,
    cached: Vec<bool>,
    front: u32,
    back: u32,
    len: usize,
    capacity: usize,
}

impl Lru {
    fn new(pages: usize, capacity: usize) -> Self {
        Self {
            newer: vec![NONE; pages],
            older: vec![NONE; pages],
            cached: vec![false; pages],
            front: NONE,
            back: NONE,
            len: 0,
            capacity,
        }
    }

    fn request(&mut self, page: u32) -> bool {
        let hit = self.cached[page as usize];
        if hit {
            if self.front == page {
                return true;
            }
            self.unlink(page);
        } else if self.len == self.capacity {
            let oldest = self.back;
            self.unlink(oldest);
            self.cached[oldest as usize] = false;
        } else {
            self.len += 1;
        }
        self.cached[page as usize] = true;
        self.newer[page as usize] = NONE;
        self.older[page as usize] = self.front;
        match self.front {
            NONE => self.back = page,
            front => self.newer[front as usize] = page,
        }
        self.front = page;
        hit
    }

    fn unlink(&mut self, page: u32) {
        let (newer, older) = (self.newer[page as usize], self.older[page as usize]);
        match newer {
            NONE => self.front = older,
            newer => self.older[newer as usize] = older,
        }
        match older {
            NONE => self.back = newer,
            older => self.newer[older as usize] = newer,
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let stream = std::fs::read(arguments.next().unwrap()).unwrap();
    let capacity = arguments.next().unwrap().parse().unwrap();
    let pages: Vec<u32> = stream
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let most = pages.iter().max().map_or(0, |&page| page as usize + 1);
    let mut best = f64::INFINITY;
    let mut hits = 0;
    for _ in 0..3 {
        let mut cache = Lru::new(most, capacity);
        let started = Instant::now();
        hits = pages.iter().filter(|&&page| cache.request(page)).count();
        best = best.min(started.elapsed().as_secs_f64());
    }
    println!(
        r#"{{"requests": {}, "hits": {hits}, "seconds": {best}}}"#,
        pages.len()
    );
}
