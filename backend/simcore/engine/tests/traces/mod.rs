//! Random traces and policies, small enough for every case to matter.

#![allow(dead_code, reason = "each test takes what it needs")]

use proptest::prelude::*;
use tierscope_engine::{
    GroupEvent, HintTime, HotPageSelection, Interleave, Kswapd, Lru, Memory, Offload, Pages,
    Params, Policy, Rows, Scan, Swap, SwapDevice, Tenant, Tpp, Trace, Watermarks,
};

#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub(crate) intervals: usize,
    pub(crate) kinds: Vec<u8>,
    pub(crate) units: Vec<u32>,
    pub(crate) first: Vec<u32>,
    pub(crate) last: Vec<u32>,
    /// Of every third page the first one is one tenant's, the others another's.
    pub(crate) tenants: Vec<u8>,
    /// Interval, page, accesses, written.
    pub(crate) rows: Vec<(u32, u32, u32, bool)>,
}

impl Columns {
    pub(crate) fn trace(&self) -> Trace {
        let column = |value: fn(&(u32, u32, u32, bool)) -> u32| {
            self.rows.iter().map(value).collect::<Vec<_>>()
        };
        let written: Vec<bool> = self.rows.iter().map(|row| row.3).collect();
        let pages = Pages {
            kinds: &self.kinds,
            units: &self.units,
            first: &self.first,
            last: &self.last,
            tenants: &self.tenants,
        };
        let rows = Rows {
            interval: &column(|row| row.0),
            page: &column(|row| row.1),
            accesses: &column(|row| row.2),
            written: &written,
        };
        Trace::new(self.intervals, pages, rows).unwrap()
    }
}

/// Up to 24 pages over up to 30 intervals, some born late and gone early, some never accessed.
pub(crate) fn columns(most_units: u32) -> impl Strategy<Value = Columns> {
    (2_usize..24, 3_usize..30).prop_flat_map(move |(pages, intervals)| {
        let page = (
            0_u8..3,
            1..=most_units,
            0..intervals as u32,
            0..intervals as u32,
        );
        let row = (0_u32..4, 1_u32..200, any::<bool>());
        let rows = prop::collection::vec(row, pages * intervals);
        (prop::collection::vec(page, pages), rows).prop_map(move |(described, touches)| {
            let mut found = Columns {
                intervals,
                kinds: described.iter().map(|page| page.0).collect(),
                units: described.iter().map(|page| page.1).collect(),
                first: described.iter().map(|page| page.2.min(page.3)).collect(),
                last: described.iter().map(|page| page.2.max(page.3)).collect(),
                tenants: (0..described.len())
                    .map(|page| u8::from(page % 3 != 0))
                    .collect(),
                rows: Vec::new(),
            };
            for now in 0..intervals as u32 {
                for page in 0..pages as u32 {
                    let (chance, accesses, written) = touches[now as usize * pages + page as usize];
                    let there =
                        (found.first[page as usize]..=found.last[page as usize]).contains(&now);
                    if there && chance == 0 {
                        found.rows.push((now, page, accesses, written));
                    }
                }
            }
            found
        })
    })
}

/// Any policy, with watermarks of a few units.
pub(crate) fn policies() -> impl Strategy<Value = Policy> {
    let hot = (
        1_u32..100,
        0_u32..4,
        any::<bool>(),
        0_u64..40,
        any::<bool>(),
        any::<bool>(),
        1_u32..4,
    );
    let tpp = (any::<bool>(), any::<bool>(), any::<bool>(), 0_u64..4);
    prop_oneof![
        Just(Policy::AllDram),
        Just(Policy::FirstTouch),
        (1_u32..4, 1_u32..4).prop_map(|(dram_weight, slow_weight)| {
            Policy::Interleave(Interleave {
                dram_weight,
                slow_weight,
            })
        }),
        Just(Policy::NumaBalancing),
        hot.prop_map(
            |(
                tenths,
                limit,
                automatic_threshold,
                free_fast_path_units,
                allocation_demotes,
                needs_free,
                threshold_intervals,
            )| {
                Policy::HotPageSelection(HotPageSelection {
                    needs_free,
                    threshold_intervals,
                    threshold_s: f64::from(tenths) / 10.0,
                    limit_units_per_s: f64::from(limit) / 60.0,
                    automatic_threshold,
                    free_fast_path_units,
                    allocation_demotes,
                })
            }
        ),
        (0_u64..3, 0_u64..3, 0_u64..5).prop_map(|(reserve_units, refill_units, exchange_units)| {
            Policy::AutoTiering {
                reserve_units,
                refill_units,
                exchange_units,
            }
        }),
        tpp.prop_map(
            |(type_aware, decoupled, active_lru_filter, demotion_watermark)| {
                Policy::Tpp(Tpp {
                    type_aware,
                    decoupled,
                    active_lru_filter,
                    demotion_watermark,
                })
            }
        ),
    ]
}

/// Any machine with DRAM for a few pages.
pub(crate) fn machines() -> impl Strategy<Value = Memory> {
    let swap = prop_oneof![
        Just(None),
        (0_u64..30, any::<bool>()).prop_map(|(units, zoned)| {
            let device = if zoned {
                SwapDevice::Zns
            } else {
                SwapDevice::BlockSsd
            };
            Some(Swap { device, units })
        })
    ];
    (4_u64..14, 0_u64..20, swap, 0_u64..2, 0_u64..2, 0_u64..2).prop_map(
        |(dram_units, slow_units, swap, low, high, promo)| Memory {
            dram_units,
            slow_units,
            swap,
            watermarks: Watermarks {
                low,
                high: low + high,
                promo: low + high + promo,
            },
        },
    )
}

/// A scanner that comes to every page in every interval, or less often and in pieces.
pub(crate) fn scans() -> impl Strategy<Value = Scan> {
    let slow = (1_u32..60, 0_u32..60, 1_u32..8).prop_map(|(tenths, longest, size_pages)| Scan {
        pass_intervals: f64::from(tenths) / 10.0,
        longest_pass_intervals: f64::from(longest) / 10.0,
        pass_growth: 1.3,
        size_pages,
    });
    prop_oneof![Just(Scan::EVERY_INTERVAL), slow]
}

/// Reclaim at the end of intervals, or within them at some speed.
pub(crate) fn kswapds() -> impl Strategy<Value = Option<Kswapd>> {
    let costs = (0_u32..20, 0_u32..20, 0_u32..9, 0_u64..3, 0_u64..4, 0_u64..5);
    let some = costs.prop_map(|(page, unit, look, low, above, kernel_page_units)| {
        Some(Kswapd {
            slow_low_units: low,
            slow_high_units: low + above,
            kernel_page_units,
            page_s: f64::from(page),
            unit_s: f64::from(unit),
            look_s: f64::from(look),
        })
    });
    prop_oneof![Just(None), some]
}

/// Any way to find victims.
pub(crate) fn lrus() -> impl Strategy<Value = Lru> {
    prop_oneof![
        Just(Lru::Exact),
        Just(Lru::Classic),
        Just(Lru::MultiGeneration)
    ]
}

/// Reclaim of the control group now and then.
pub(crate) fn groups() -> impl Strategy<Value = Vec<GroupEvent>> {
    let event = (
        0_u32..12,
        0_u64..8,
        prop_oneof![Just(None), (2_u64..20).prop_map(Some)],
    );
    let some = proptest::collection::vec(event, 0..4).prop_map(|mut events| {
        events.sort_unstable_by_key(|event| event.0);
        let made = events
            .into_iter()
            .map(|(interval, reclaim_units, high_units)| GroupEvent {
                interval,
                reclaim_units,
                high_units,
            });
        made.collect()
    });
    prop_oneof![2 => Just(Vec::new()), 1 => some]
}

/// Two tenants with a protection and a limit, or one service alone.
pub(crate) fn tenants() -> impl Strategy<Value = Vec<Tenant>> {
    let limit = prop_oneof![Just(None), (0_u64..8).prop_map(Some)];
    let tenant = (0_u64..12, limit).prop_map(|(low_units, dram_max_units)| Tenant {
        low_units,
        dram_max_units,
    });
    prop_oneof![Just(Vec::new()), proptest::collection::vec(tenant, 2)]
}

pub(crate) fn params() -> impl Strategy<Value = Params> {
    let offload = prop_oneof![
        Just(None),
        (1_u32..100).prop_map(|tenths| Some(Offload {
            step_s: 6.0,
            reclaim_ratio: f64::from(tenths) / 1000.0,
            pressure_target: 0.001,
            fault_s: 1e-6,
        }))
    ];
    let hint = prop_oneof![
        Just(HintTime::Expected),
        any::<u64>().prop_map(|seed| HintTime::Drawn { seed })
    ];
    let armed = prop_oneof![Just(Vec::new()), prop::collection::vec(0_u64..12, 1..20)];
    let reclaim = (kswapds(), any::<bool>(), groups(), tenants(), lrus(), armed);
    (policies(), machines(), offload, hint, scans(), reclaim).prop_map(
        |(policy, memory, offload, hint_time, scan, reclaim)| {
            let (kswapd, cache_trim_mode, group, tenants, lru, armed_units) = reclaim;
            Params {
                lru: if tenants.is_empty() { lru } else { Lru::Exact },
                armed_units,
                tenants,
                kswapd,
                cache_trim_mode,
                group,
                scan,
                policy,
                memory,
                offload,
                interval_s: 60.0,
                hint_time,
                round_trip_intervals: [1, 10],
            }
        },
    )
}
