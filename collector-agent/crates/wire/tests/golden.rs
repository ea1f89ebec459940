//! The committed examples of contract/examples/batch decode to what their JSON twins say.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tierscope_opened::open_inflated;
use tierscope_wire::inflate;

#[path = "../examples/write_examples/view.rs"]
mod view;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contract/examples/batch")
}

#[test]
fn every_example_decodes_to_its_json_twin() {
    let mut seen = 0;
    for entry in fs::read_dir(examples()).expect("contract/examples/batch exists") {
        let path = entry.expect("readable entry").path();
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let message = fs::read(&path).expect("readable example");
        let twin = fs::read_to_string(path.with_extension("json")).expect("each example has a JSON twin");
        let expected: Value = serde_json::from_str(&twin).expect("the twin is JSON");
        let opened =
            open_inflated(&message, &[]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(view::batch(&opened), expected, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} examples were found");
}

#[test]
fn the_body_example_inflates_to_the_counters_example() {
    let body = fs::read(examples().join("body.pb.zst")).expect("readable body");
    let message = fs::read(examples().join("counters.pb")).expect("readable example");
    assert_eq!(inflate(&body).expect("a zstd frame"), message);
}
