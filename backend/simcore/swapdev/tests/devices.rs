//! What must hold of every device, and what is known of some.

use proptest::prelude::*;
use tierscope_swapdev::{
    Backend, Block, CLUSTER_SLOTS, Compression, Flash, Params, SWAP_FULL_RATIO, SwapError, Tenant,
    Trim, ZonePolicy, Zoned, run,
};

const FLASH: Flash = Flash {
    slots: 64 * CLUSTER_SLOTS,
    spare_ratio: 0.07,
    dies: 8,
    slots_per_page: 16,
    pages_per_block: 4,
    read_ns: 60_000,
    transfer_ns: 10_000,
    program_ns: 600_000,
    erase_ns: 3_500_000,
    write_buffer_slots: 1024,
};
const LINUX: Block = Block {
    trim: Trim::Coarse,
    trim_ns: 50_000,
    cutoff_ratio: SWAP_FULL_RATIO,
};
const ZONES: Zoned = Zoned {
    policy: ZonePolicy::Single,
    open_zones: 14,
    copy_ns: 2_000,
};
const LZ4: Compression = Compression {
    median_ratio: 3.0,
    ratio_log_sd: 0.5,
    same_filled_ratio: 0.1,
    compress_ns: 3_000,
    decompress_ns: 1_500,
    copy_ns: 500,
    same_filled_ns: 300,
    pool_bytes: u64::MAX,
    refuses_incompressible: false,
};

/// Tenants that keep so much of the device in use together; 30 % of their pages fit into memory.
fn params(backend: Backend, utilisation: f64, store_ratios: &[f64]) -> Params {
    let swapped = utilisation * f64::from(FLASH.slots) / store_ratios.len() as f64;
    let pages = (swapped / 0.7) as u32;
    let tenant = |store_ratio: &f64| Tenant {
        pages,
        frames: pages - swapped as u32,
        threads: 8,
        store_ratio: *store_ratio,
        hot_pages_ratio: 0.2,
        hot_accesses_ratio: 0.0,
        access_ns: 1_000,
    };
    Params {
        flash: FLASH,
        backend,
        tenants: store_ratios.iter().map(tenant).collect(),
        cpus: 4,
        warm_up_writes_ratio: 2.0,
        measured_writes_ratio: 1.0,
        seed: 1,
    }
}

fn amplification(backend: Backend, utilisation: f64) -> f64 {
    let outcome = run(&params(backend, utilisation, &[1.0])).expect("a device with room");
    outcome.write_amplification().expect("pages were written")
}

/// Write amplification of uniform overwrites by the share of flash that is live: 1 / (1 - u), where u, the live share
/// of a reclaimed segment, solves share = (u - 1) / ln u (Desnoyers, SYSTOR 2012, for cleaning in order of age).
fn expected_amplification(live_ratio: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    for _ in 0..100 {
        let u: f64 = f64::midpoint(low, high);
        if (u - 1.0) / u.ln() < live_ratio {
            low = u;
        } else {
            high = u;
        }
    }
    1.0 / (1.0 - low)
}

#[test]
fn uniform_overwrites_amplify_as_the_published_model_says() {
    let zoned = Backend::Zoned(ZONES);
    for utilisation in [0.6, 0.7, 0.8] {
        let segments = FLASH.segments() - 2;
        let live = utilisation * f64::from(FLASH.slots);
        let expected = expected_amplification(live / f64::from(segments * FLASH.segment_slots()));
        let found = amplification(zoned, utilisation);
        assert!(
            (found / expected - 1.0).abs() < 0.12,
            "{utilisation}: {found} for {expected}"
        );
    }
}

#[test]
fn a_zoned_device_amplifies_less_than_a_block_device_that_is_half_full() {
    for utilisation in [0.6, 0.8] {
        let block = amplification(Backend::Block(LINUX), utilisation);
        let zoned = amplification(Backend::Zoned(ZONES), utilisation);
        assert!(
            zoned < 0.92 * block,
            "{utilisation}: zoned {zoned}, block {block}"
        );
    }
}

#[test]
fn read_only_tenants_write_nothing_below_the_cut_off_and_every_eviction_above_it() {
    let below = run(&params(Backend::Block(LINUX), 0.3, &[0.0])).expect("room");
    assert_eq!(below.counts.swap_writes, 0);
    assert!(below.tenants[0].evictions > 1_000);
    let above = run(&params(Backend::Block(LINUX), 0.8, &[0.0])).expect("room");
    assert_eq!(above.tenants[0].swap_outs, above.tenants[0].evictions);
    let zoned = run(&params(Backend::Zoned(ZONES), 0.3, &[0.0])).expect("room");
    assert_eq!(zoned.counts.flash_writes, 0);
}

#[test]
fn zones_of_its_own_spare_a_reader_the_garbage_of_a_writer() {
    let reader_p99 = |backend| {
        let outcome = run(&params(backend, 0.7, &[0.0, 1.0])).expect("room");
        outcome.tenants[0]
            .swap_in_quantile_ns(0.99)
            .expect("swap-ins")
    };
    let block = reader_p99(Backend::Block(LINUX));
    let own = ZonePolicy::PerTenant;
    let zoned = reader_p99(Backend::Zoned(Zoned {
        policy: own,
        ..ZONES
    }));
    assert!(zoned * 3 < block, "own zones {zoned} ns, block {block} ns");
}

#[test]
fn a_compressed_pool_holds_pages_in_less_memory_and_spills_from_a_full_one() {
    let zram = run(&params(Backend::Zram(LZ4), 0.5, &[0.5])).expect("no device to fill");
    let (bytes, pages) = (
        zram.pool_bytes.expect("a pool"),
        zram.pool_pages.expect("a pool"),
    );
    assert!(bytes * 2 < pages * 4096);
    assert_eq!(zram.write_amplification(), None);
    let small = Compression {
        pool_bytes: 8 << 20,
        refuses_incompressible: true,
        ..LZ4
    };
    let zswap = run(&params(Backend::Zswap(small, LINUX), 0.5, &[0.5])).expect("room");
    assert!(zswap.pool_bytes.expect("a pool") <= small.pool_bytes);
    assert!(zswap.counts.swap_writes > 0);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mut none = params(Backend::Block(LINUX), 0.5, &[1.0]);
    none.tenants[0].frames = none.tenants[0].pages;
    let refused = SwapError::Setting {
        setting: "frames",
        cause: "above 0 and below the pages of the tenant",
    };
    assert_eq!(run(&none), Err(refused));
    let full = run(&params(Backend::Block(LINUX), 1.2, &[1.0]));
    assert_eq!(full, Err(SwapError::NoSlot));
}

fn backends() -> impl Strategy<Value = Backend> {
    let trims = prop_oneof![Just(Trim::Off), Just(Trim::Fine), Just(Trim::Coarse)];
    let blocks = (trims, 0.0..=1.0).prop_map(|(trim, cutoff_ratio)| {
        Backend::Block(Block {
            trim,
            cutoff_ratio,
            ..LINUX
        })
    });
    let policies = prop_oneof![
        Just(ZonePolicy::Single),
        Just(ZonePolicy::PerCore),
        Just(ZonePolicy::HotCold),
        Just(ZonePolicy::PerTenant),
    ];
    let zoned = (policies, 2..14_u32).prop_map(|(policy, open_zones)| {
        Backend::Zoned(Zoned {
            policy,
            open_zones,
            ..ZONES
        })
    });
    prop_oneof![blocks, zoned]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn writes_add_up_and_a_seed_repeats(
        backend in backends(),
        utilisation in 0.1..0.9,
        stores in prop::collection::vec(0.0..=1.0, 1..4),
        seed in 0..1000_u64,
    ) {
        let mut params = params(backend, utilisation, &stores);
        params.seed = seed;
        params.warm_up_writes_ratio = 0.3;
        params.measured_writes_ratio = 0.2;
        let outcome = run(&params).expect("a device with room");
        let counts = outcome.counts;
        let swap_outs: u64 = outcome.tenants.iter().map(|tenant| tenant.swap_outs).sum();
        prop_assert_eq!(swap_outs, counts.swap_writes);
        prop_assert_eq!(counts.device_writes, counts.swap_writes + counts.host_copies);
        prop_assert_eq!(counts.flash_writes, counts.device_writes + counts.device_copies);
        for tenant in &outcome.tenants {
            prop_assert_eq!(tenant.swap_ins, tenant.evictions);
            prop_assert!(tenant.swap_outs <= tenant.evictions);
            prop_assert!(tenant.swap_in_ns.is_sorted());
            let fastest = tenant.swap_in_ns.first().copied().unwrap_or(FLASH.transfer_ns);
            prop_assert!(fastest >= FLASH.transfer_ns);
        }
        prop_assert_eq!(run(&params), Ok(outcome));
    }
}
