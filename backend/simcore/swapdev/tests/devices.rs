//! What must hold of every device, and what is known of some.

use proptest::prelude::*;
use tierscope_swapdev::{
    Backend, Block, CLUSTER_SLOTS, Compression, Event, Flash, Params, SWAP_FULL_RATIO, Step,
    SwapError, Tenant, Traffic, Trim, ZonePolicy, Zoned, play, run,
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

/// Pages that leave memory one by one and come back, written to between, so that all of the traffic repeats itself.
fn traffic(backend: Backend, pages: u32, gap_ns: u64) -> Traffic {
    let steps = [Step::Out, Step::In, Step::Stale];
    let step = |(at, (step, page)): (u64, (Step, u32))| Event {
        at_ns: at * gap_ns,
        page,
        step,
    };
    let order = steps
        .into_iter()
        .flat_map(|step| (0..pages).map(move |page| (step, page)));
    let events: Vec<Event> = (0_u64..).zip(order).map(step).collect();
    Traffic {
        flash: FLASH,
        backend,
        pages,
        pass_ns: gap_ns * events.len() as u64,
        events,
        warm_up_writes_ratio: 2.0,
        measured_writes_ratio: 1.0,
        seed: 1,
    }
}

#[test]
fn played_traffic_writes_every_page_once_and_waits_for_nothing_on_an_idle_device() {
    let pages = 8_192;
    for backend in [Backend::Block(LINUX), Backend::Zoned(ZONES)] {
        let played = play(&traffic(backend, pages, 1_000_000)).expect("room");
        let tenant = &played.outcome.tenants[0];
        assert!(played.is_settled);
        assert_eq!(played.outcome.elapsed_ns, played.asked_ns);
        assert_eq!(tenant.swap_ins % u64::from(pages), 0);
        assert_eq!(tenant.swap_outs, tenant.evictions);
        assert_eq!(tenant.swap_outs, played.outcome.counts.swap_writes);
        let median = tenant.swap_in_quantile_ns(0.5).expect("swap-ins");
        assert_eq!(median, FLASH.read_ns + FLASH.transfer_ns);
    }
}

#[test]
fn a_clean_page_is_written_once_where_its_copy_stays() {
    let mut clean = traffic(Backend::Zoned(ZONES), 8_192, 10_000);
    clean.events.retain(|event| event.step != Step::Stale);
    let played = play(&clean).expect("room");
    assert!(played.is_settled);
    assert_eq!(played.outcome.counts.swap_writes, 0);
    assert_eq!(played.outcome.write_amplification(), None);
    assert!(played.outcome.tenants[0].swap_ins > 0);
}

#[test]
fn a_device_that_cannot_keep_up_falls_behind() {
    let slow = play(&traffic(Backend::Block(LINUX), 8_192, 1_000)).expect("room");
    assert!(slow.outcome.elapsed_ns > 2 * slow.asked_ns);
    let late = slow.outcome.tenants[0]
        .swap_in_quantile_ns(0.99)
        .expect("swap-ins");
    assert!(late > 10 * (FLASH.read_ns + FLASH.transfer_ns));
}

#[test]
fn traffic_that_cannot_be_is_refused_by_name() {
    let mut wrong = traffic(Backend::Block(LINUX), 10, 1_000);
    wrong.pages = 9;
    let refused = |setting| move |error| matches!(error, SwapError::Setting { setting: found, .. } if found == setting);
    assert!(play(&wrong).is_err_and(refused("page")));
    let mut late = traffic(Backend::Block(LINUX), 10, 1_000);
    late.events.reverse();
    assert!(play(&late).is_err_and(refused("at_ns")));
    let full = traffic(Backend::Block(LINUX), FLASH.slots + 1, 1_000);
    assert_eq!(play(&full), Err(SwapError::NoSlot));
}
