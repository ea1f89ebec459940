//! Records of damo against damo's own reports on them.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use tierscope_import::damo::{DamoError, DamoLimits, DamoRecord, looks_like_damo, read};
use tierscope_import::damo_fold::{DamoIdentity, DamoIntervalPlan};
use tierscope_import::damo_grid::heat_grid;
use tierscope_import::damo_wss::{EXCLUDED_SNAPSHOTS, WorkingSet};
use tierscope_sample::fold::Folded;
use tierscope_sample::heat::{Backend, Granularity};

/// Name, form, snapshots and regions of each record.
const RECORDS: [(&str, &str, usize, usize); 3] = [
    ("r1-paddr-5ms-100ms", "data", 188, 3_307),
    ("r3-redis-1gib", "data", 109, 11_540),
    ("r4-redis-1gib", "perf_script", 57, 645),
];

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/damo")
}

fn bytes_of(name: &str, form: &str) -> Vec<u8> {
    std::fs::read(data().join(format!("{name}.{form}"))).unwrap()
}

fn record_of(name: &str, form: &str) -> DamoRecord {
    let mut records = read(&bytes_of(name, form), DamoLimits::default()).unwrap();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn report(name: &str, report: &str) -> String {
    std::fs::read_to_string(data().join(format!("{name}.reports/{report}.txt"))).unwrap()
}

fn inflate(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    ZlibDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_form_is_told_by_its_content_and_read_whole() {
    for (name, form, snapshots, regions) in RECORDS {
        let bytes = bytes_of(name, form);
        assert!(looks_like_damo(&bytes[..4096]), "{name}");
        let record = record_of(name, form);
        let counted: usize = record.snapshots.iter().map(|shot| shot.regions.len()).sum();
        assert_eq!((record.snapshots.len(), counted), (snapshots, regions), "{name}");
        assert_eq!(record.intervals.is_some(), form == "data");
    }
    let packed = bytes_of(RECORDS[0].0, "data");
    let text = inflate(&packed);
    assert!(looks_like_damo(&text[..4096]));
    assert_eq!(
        read(&text, DamoLimits::default()).unwrap(),
        read(&packed, DamoLimits::default()).unwrap()
    );
    for other in [
        &b"[1, 2]"[..],
        b"PAR1",
        b"",
        b"x\x9c",
        b"comm 1 [0] 1.0: page-faults: 1",
    ] {
        assert!(!looks_like_damo(other));
    }
}

/// Average and percentiles of a report of `damo report wss --raw_number`.
fn wss_report(text: &str) -> (u64, Vec<(u32, u64)>) {
    let average = text.lines().find_map(|line| line.strip_prefix("# avr:")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (values, _) = line.split_once('|')?;
        let mut values = values.split_ascii_whitespace();
        Some((values.next()?.parse().unwrap(), values.next()?.parse().unwrap()))
    });
    (average.trim().parse().unwrap(), rows.collect())
}

#[test]
fn the_working_set_is_that_of_damo_to_the_byte() {
    for (name, form, ..) in RECORDS {
        let record = record_of(name, form);
        // damo orders by size unless told otherwise.
        for (file, threshold, rows) in [("wss-size", 1, 21), ("wss-time", 1, 21), ("wss-thres2", 2, 5)] {
            let (average, percentiles) = wss_report(&report(name, file));
            assert_eq!(percentiles.len(), rows);
            let set = WorkingSet::of(&record, threshold, EXCLUDED_SNAPSHOTS).unwrap();
            assert_eq!(set.average_bytes(), average, "{name} {file}");
            let (percents, sizes): (Vec<u32>, Vec<u64>) = percentiles.into_iter().unzip();
            assert_eq!(set.by_size(&percents), sizes, "{name} {file}");
        }
    }
}

#[test]
fn percentiles_by_time_follow_the_snapshots() {
    let set = WorkingSet {
        bytes: vec![50, 10, 40, 20],
    };
    assert_eq!(set.by_time(&[0, 25, 50, 99, 100]), [50, 10, 40, 20, 20]);
    assert_eq!(set.by_size(&[0, 25, 50, 99, 100]), [10, 20, 40, 50, 50]);
    assert_eq!(set.average_bytes(), 30);
    let set = WorkingSet {
        bytes: (0..100).collect(),
    };
    assert_eq!(
        set.by_time(&[28, 29, 57, 58]),
        [28, 28, 56, 57],
        "rounded as damo rounds"
    );
    let record = record_of("r4-redis-1gib", "perf_script");
    assert_eq!(WorkingSet::of(&record, 1, record.snapshots.len()), None);
}

/// (time, address, heat) of a report of `damo report heatmap --output raw`.
fn heat_report(text: &str) -> Vec<(f64, f64, f64)> {
    let cells = text.lines().filter_map(|line| {
        let mut values = line.split('\t').map(str::parse::<f64>);
        let mut next = || values.next()?.ok();
        Some((next()?, next()?, next()?))
    });
    cells.collect()
}

#[test]
fn the_heat_grid_is_that_of_damo_within_its_rounding() {
    for (name, form, ..) in RECORDS {
        let record = record_of(name, form);
        for (file, rows, columns, absolute) in [
            ("heatmap-raw-40x80", 40, 80, false),
            ("heatmap-raw-abs-20x40", 20, 40, true),
        ] {
            let drawn = heat_report(&report(name, file));
            let grid = heat_grid(&record, rows, columns).unwrap();
            assert_eq!((drawn.len(), grid.cells.len()), (rows * columns, rows * columns));
            let origin = if absolute {
                (0.0, 0.0)
            } else {
                (grid.time_ns.start as f64, grid.addresses.start as f64)
            };
            let mut heat_seen = 0;
            for (index, (time, address, heat)) in drawn.into_iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let cell_ns = grid.time_ns.start + row as i64 * grid.time_step_ns;
                let cell_address = grid.addresses.start + column as u64 * grid.address_step_bytes;
                // The start of a record made with perf is a fraction of a nanosecond off.
                assert!(
                    (time - (cell_ns as f64 - origin.0)).abs() < 1.0,
                    "{name} {file} {index}"
                );
                assert!(
                    (address - (cell_address as f64 - origin.1)).abs() < 0.5,
                    "{name} {file} {index}"
                );
                assert!(
                    (heat - grid.cells[index]).abs() <= 1e-8,
                    "{name} {file} {index}: {heat}, not {}",
                    grid.cells[index]
                );
                heat_seen += usize::from(heat > 0.0);
            }
            assert!(heat_seen > 50, "{name} {file}: the report shows heat");
        }
    }
}

#[test]
fn what_is_cut_damaged_or_too_large_is_refused_with_the_cause() {
    let packed = bytes_of("r1-paddr-5ms-100ms", "data");
    let fails = |bytes: &[u8], limits| read(bytes, limits).unwrap_err().to_string();
    let limits = DamoLimits::default();
    assert!(
        fails(&packed[..9_000], limits).contains("zlib") || fails(&packed[..9_000], limits).contains("JSON")
    );
    let mut damaged = packed.clone();
    damaged[5_000] ^= 0x55;
    assert!(read(&damaged, limits).is_err());
    let small = DamoLimits {
        text_bytes: 100_000,
        ..limits
    };
    assert!(fails(&packed, small).contains("more than 100000 bytes of text"));
    let few = DamoLimits {
        regions: 3_306,
        ..limits
    };
    assert!(fails(&packed, few).contains("more than 3306 regions"));
    let text = bytes_of("r4-redis-1gib", "perf_script");
    assert!(
        fails(
            &text,
            DamoLimits {
                regions: 644,
                ..limits
            }
        )
        .contains("regions")
    );
    assert!(fails(b"hello", limits).contains("no record of damo"));
    assert!(fails(b"[]", limits).contains("no snapshot"));
    assert!(fails(&deflate(b"[{\"snapshots\": 7}]"), limits).contains("JSON"));
}

/// The lines of `perf script` in another shape.
fn reshaped(name: &str, shape: impl Fn(&str, &str, &str) -> String) -> Vec<u8> {
    let text = String::from_utf8(bytes_of(name, "perf_script")).unwrap();
    let lines = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" damon:damon_aggregated: ")?;
        let (task, time) = before.rsplit_once(' ')?;
        Some(shape(task.trim(), time, after) + "\n")
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn other_tools_and_later_kernels_give_the_same_record() {
    const NAME: &str = "r4-redis-1gib";
    let expected = record_of(NAME, "perf_script");
    let trace_cmd = |time: &str, flags: &str, after: &str| {
        format!("       kdamond.0-4452  [005]{flags} {time} damon_aggregated:     {after}")
    };
    let shapes = [
        reshaped(NAME, |_, time, after| trace_cmd(time, "", after)),
        reshaped(NAME, |_, time, after| trace_cmd(time, " .....", after)),
        reshaped(NAME, |_, time, after| trace_cmd(time, " d..2.", after) + "\r"),
        reshaped(NAME, |task, time, after| {
            format!("{task} {time} damon:damon_region_aggregated: {after} probe_hits=14 00")
        }),
    ];
    for (number, lines) in shapes.iter().enumerate() {
        let bytes = [b"cpus=8\n", &lines[..]].concat();
        assert!(looks_like_damo(&bytes[..4096]), "{number}");
        let records = read(&bytes, DamoLimits::default()).unwrap();
        assert_eq!(records, std::slice::from_ref(&expected), "{number}");
    }
    let without_age = reshaped(NAME, |_, time, after| {
        let (after, _age) = after.rsplit_once(' ').unwrap();
        trace_cmd(time, "", &format!("{after} probe_hits=1 00"))
    });
    let records = read(&without_age, DamoLimits::default()).unwrap();
    let ages = |record: &DamoRecord| {
        let regions = record.snapshots.iter().flat_map(|snapshot| &snapshot.regions);
        regions.filter(|region| region.age.is_some()).count()
    };
    assert_eq!((ages(&records[0]), records[0].snapshots.len()), (0, 57));
}

#[test]
fn a_wrong_line_of_the_text_form_is_named() {
    let good = "kdamond.0 7 [1] 10.1: damon:damon_aggregated: target_id=0 nr_regions=1 4096-8192: 3 4\n\
                kdamond.0 7 [1] 10.2: damon:damon_aggregated: target_id=0 nr_regions=1 4096-8192: 3\n";
    let records = read(good.as_bytes(), DamoLimits::default()).unwrap();
    let ages: Vec<_> = records[0]
        .snapshots
        .iter()
        .map(|shot| shot.regions[0].age)
        .collect();
    assert_eq!(ages, [Some(4), None]);
    assert_eq!(records[0].snapshots[0].start_ns, 10_000_000_000);
    for (from, to, problem) in [
        ("4096-8192: 3 4", "4096-8192 3 4", "START-END"),
        ("nr_regions=1 ", "nr_regions=x ", "nr_regions="),
        ("4096-8192: 3 4", "4096-8192: x", "nr_accesses"),
        ("[1] 10.1:", "[1] soon:", "time"),
        ("4096-8192: 3 4", "4096-8192: 3 -4", "age"),
    ] {
        let error = read(good.replacen(from, to, 1).as_bytes(), DamoLimits::default()).unwrap_err();
        assert!(matches!(error, DamoError::Line { line: 1, .. }), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    let backwards = good.replacen("4096-8192: 3 4", "8192-4096: 3 4", 1);
    assert!(
        read(backwards.as_bytes(), DamoLimits::default())
            .unwrap_err()
            .to_string()
            .contains("ends before it begins")
    );
}

fn fold(record: &DamoRecord, last_ns: i64) -> (DamoIntervalPlan<'_>, Vec<Folded>) {
    let plan = DamoIntervalPlan::new(record);
    let identity = DamoIdentity {
        service: Arc::from("host/redis"),
        group: Arc::from("redis-server"),
        epoch_seed: 5,
    };
    let mut folded = Vec::new();
    let done: Result<(), ()> = plan.fold(&identity, last_ns, |one| {
        folded.push(one);
        Ok(())
    });
    done.unwrap();
    (plan, folded)
}

/// Bytes of a bundle in regions with accesses, by brute force over 4 KiB units.
fn accessed_bytes(record: &DamoRecord, after_ns: i64, until_ns: i64) -> i64 {
    let first = record.snapshots[0].regions[0].start;
    let last = record.snapshots[0].regions.last().unwrap().end;
    let mut units = vec![false; ((last - first) / 4096) as usize];
    for shot in &record.snapshots {
        if shot.end_ns > after_ns && shot.end_ns <= until_ns {
            for region in shot.regions.iter().filter(|region| region.accesses > 0) {
                let range = (region.start - first) / 4096..(region.end - first) / 4096;
                units[range.start as usize..range.end as usize].fill(true);
            }
        }
    }
    units.iter().filter(|unit| **unit).count() as i64 * 4096
}

#[test]
fn a_record_folds_to_one_row_of_regions_per_second() {
    let record = record_of("r3-redis-1gib", "data");
    let last_ns = 1_700_000_000_000_000_000;
    let (plan, folded) = fold(&record, last_ns);
    assert_eq!(
        (plan.interval_ns, folded.len() as i64),
        (1_000_000_000, plan.intervals)
    );
    let record_end = record.snapshots.last().unwrap().end_ns;
    let mut active = 0;
    for (index, interval) in folded.iter().enumerate() {
        let row = &interval.rows[0];
        let before_last = (folded.len() - 1 - index) as i64 * plan.interval_ns;
        assert_eq!(row.end_wall_ns, last_ns - before_last);
        assert_eq!(
            (row.backend, row.granularity),
            (Backend::DamonRegions, Granularity::Region)
        );
        assert_eq!((row.resident_bytes, interval.tile_columns.len()), (1 << 30, 1));
        let until_ns = record_end - before_last;
        let truth = accessed_bytes(&record, until_ns - plan.interval_ns, until_ns);
        // A strip keeps its active bytes in KiB.
        assert_eq!(row.age_bytes[0], truth, "interval {index}");
        active += i64::from(truth > 0);
    }
    assert!(active > 3, "the record has accesses");
    assert_eq!(
        folded
            .iter()
            .map(|interval| interval.tile_epochs.len())
            .sum::<usize>(),
        1
    );
}

#[test]
fn ages_of_a_first_snapshot_tell_of_the_intervals_before_it() {
    let line = |time: &str, range: &str, rest: &str| {
        format!("k 1 [0] {time}: damon:damon_aggregated: target_id=0 nr_regions=2 {range}: {rest}\n")
    };
    let text: String = [("100.0", 3), ("101.0", 4), ("102.0", 5)]
        .iter()
        .flat_map(|(time, age)| {
            [
                line(time, "0-8192", &format!("0 {age}")),
                line(time, "8192-12288", &format!("9 {}", age + 2)),
            ]
        })
        .collect();
    let record = read(text.as_bytes(), DamoLimits::default()).unwrap().remove(0);
    let (plan, folded) = fold(&record, 3_000_000_000);
    assert_eq!(
        (plan.interval_ns, plan.intervals, folded.len()),
        (2_000_000_000, 1, 1)
    );
    let row = &folded[0].rows[0];
    // The younger region has been idle for 3 windows: one whole interval before the one that is folded.
    assert_eq!((row.validity, row.resident_bytes), (0b11, 12_288));
    assert_eq!((row.age_bytes[0], row.never_bytes[2]), (4096, 8192));
    assert_eq!(row.active_count_bytes[2], 4096);
}

/// A record of one snapshot of a second, in the JSON form, with regions of (start, end, accesses) that are 3 s old.
fn snapshot_json(regions: &[(u64, u64, u32)]) -> String {
    let regions: Vec<_> = regions
        .iter()
        .map(|(start, end, samples)| {
            format!(
                r#"{{"start": {start}, "end": {end}, "nr_accesses": {{"samples": {samples}}},
                     "age": {{"aggr_intervals": 3}}}}"#
            )
        })
        .collect();
    format!(
        r#"[{{"intervals": {{"sample_us": 100000, "aggr_us": 1000000}},
             "snapshots": [{{"start_time": 0, "end_time": 1000000000, "regions": [{}]}}]}}]"#,
        regions.join(",")
    )
}

#[test]
fn overlapping_regions_are_clipped_and_counted_and_the_working_set_stays_that_of_damo() {
    let text = snapshot_json(&[(4096, 16_384, 0), (8192, 12_288, 5), (12_288, 20_480, 1)]);
    let record = read(text.as_bytes(), DamoLimits::default()).unwrap().remove(0);
    let regions: Vec<_> = record.snapshots[0]
        .regions
        .iter()
        .map(|region| (region.start, region.end, region.accesses))
        .collect();
    assert_eq!(regions, [(4096, 8192, 0), (8192, 12_288, 5), (12_288, 20_480, 1)]);
    let overlaps = record.overlaps();
    assert_eq!(
        (overlaps.snapshots, overlaps.regions, overlaps.bytes),
        (1, 2, 8192)
    );
    // damo counts the cold region whole, because a hot one lies in it.
    assert_eq!(WorkingSet::of(&record, 1, 0).unwrap().bytes, [16_384]);
    let (_, folded) = fold(&record, 9_000_000_000);
    let row = &folded[0].rows[0];
    assert_eq!((row.resident_bytes, row.age_bytes[0]), (16_384, 12_288));
    let line =
        |range: &str| format!("k 1 [0] 7.0: damon:damon_aggregated: target_id=0 nr_regions=2 {range}: 1 1\n");
    let text = [line("0-8192"), line("4096-12288")].concat();
    let later = text.replace("7.0:", "8.0:");
    let record = read([text, later].concat().as_bytes(), DamoLimits::default())
        .unwrap()
        .remove(0);
    assert_eq!(record.snapshots.len(), 2);
    assert_eq!(record.overlaps().bytes, 8192);
    let apart = record_of("r3-redis-1gib", "data");
    assert_eq!(apart.overlaps(), tierscope_import::damo::DamoOverlaps::default());
}

#[test]
fn a_single_snapshot_with_a_past_keeps_the_rows_of_its_tiles() {
    let text = snapshot_json(&[(0, 8192, 0), (8192, 12_288, 5)]);
    let record = read(text.as_bytes(), DamoLimits::default()).unwrap().remove(0);
    let (plan, folded) = fold(&record, 9_000_000_000);
    assert_eq!((plan.intervals, folded.len()), (1, 1));
    assert_eq!(
        folded[0].rows[0].validity, 0b1111,
        "three seconds before it are known"
    );
    let known: Vec<_> = folded[0].tile_epochs.iter().map(|epoch| epoch.epoch_id).collect();
    assert_eq!(known.len(), 1);
    assert!(
        folded[0]
            .tile_columns
            .iter()
            .all(|column| known.contains(&column.epoch_id))
    );
}

#[test]
fn numbers_of_the_json_may_be_numbers_or_shares_and_the_start_may_be_missing() {
    let region = |start: u64, accesses: &str, age: &str| {
        format!(
            r#"{{"start": {start}, "end": "{}", "nr_accesses": {accesses}, "age": {age}}}"#,
            start + 4096
        )
    };
    let regions = [
        region(0, r#"{"samples": "1,0"}"#, r#"{"usec": "400,000"}"#),
        region(
            4096,
            r#"{"samples": null, "percent": "50 %"}"#,
            r#"{"aggr_intervals": 7}"#,
        ),
        region(8192, r#"{"percent": 5.0}"#, "null"),
    ];
    let text = format!(
        r#"[{{"intervals": {{"sample_us": "5 ms", "aggr_us": "100,000"}},
             "snapshots": [{{"end_time": "1 s", "regions": [{}]}}]}}, {{"snapshots": []}}]"#,
        regions.join(",")
    );
    let records = read(text.as_bytes(), DamoLimits::default()).unwrap();
    assert_eq!(records.len(), 1, "a record without snapshots is left out");
    let snapshot = &records[0].snapshots[0];
    assert_eq!((snapshot.start_ns, snapshot.end_ns), (900_000_000, 1_000_000_000));
    let seen: Vec<_> = snapshot
        .regions
        .iter()
        .map(|region| (region.accesses, region.age))
        .collect();
    assert_eq!(seen, [(10, Some(4)), (10, Some(7)), (1, None)]);
    let no_intervals = text.replace("sample_us\": \"5 ms\"", "sample_us\": \"0\"");
    let error = read(no_intervals.as_bytes(), DamoLimits::default()).unwrap_err();
    assert!(error.to_string().starts_with("record 1, snapshot 1: "), "{error}");
}

fn exercise(bytes: &[u8]) {
    let limits = DamoLimits {
        text_bytes: 4 << 20,
        regions: 20_000,
    };
    for record in read(bytes, limits).unwrap_or_default() {
        let _ = WorkingSet::of(&record, 1, 0).map(|set| (set.average_bytes(), set.by_size(&[0, 50, 100])));
        let _ = heat_grid(&record, 7, 5);
        let plan = DamoIntervalPlan::new(&record);
        assert!(plan.interval_ns > 0);
        if plan.intervals < 100 {
            fold(&record, 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_change_to_a_record_makes_the_reader_panic(
        form in 0..2_usize,
        changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..6),
        cut in any::<u16>(),
    ) {
        let mut bytes = match form {
            0 => {
                let text = inflate(&bytes_of("r1-paddr-5ms-100ms", "data"));
                let end = text.windows(15).position(|window| window == b"\"total_bytes\": ").unwrap();
                [&text[..end], b"\"total_bytes\": \"1\"}]}]"].concat()
            }
            _ => bytes_of("r4-redis-1gib", "perf_script")[..6_000].to_vec(),
        };
        exercise(&bytes);
        for (place, byte) in changes {
            let place = usize::from(place) % bytes.len();
            bytes[place] = b"0123456789,.:-=\"{}[] xe\n"[usize::from(byte) % 24];
        }
        exercise(&bytes);
        exercise(&deflate(&bytes));
        bytes.truncate(usize::from(cut));
        exercise(&bytes);
    }
}
