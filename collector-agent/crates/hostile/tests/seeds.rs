//! The fuzzer's seed corpus goes through every target.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test"
)]

use std::path::Path;

use tierscope_hostile::TARGETS;

#[test]
fn every_seed_goes_through_its_target() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, target) in TARGETS {
        let mut replayed = 0;
        for entry in std::fs::read_dir(seeds.join(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0, "{name} has no seeds");
    }
}

#[test]
fn every_target_has_a_fuzzer_and_every_fuzzer_a_target() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    let fuzzers: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .collect();
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(fuzzers, targets);
}
