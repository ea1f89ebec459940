//! Sealing and opening are inverse; limits and layout rules hold.

use std::sync::Arc;

use proptest::prelude::*;
use tierscope_opened::{OpenError, open};
use tierscope_sample::counters::{CounterSample, Key, Scope};
use tierscope_sample::tiles::TileColumn;
use tierscope_wire::{
    Content, CounterRow, Header, Layout, LayoutCache, MAX_BATCH_BYTES, MAX_INFLATED_BYTES, Origin, Sealer,
    WireError, inflate, layouts_used,
};

fn header() -> Header {
    Header {
        host_id: "h1".to_owned(),
        stream_id: [7; 16],
        seq: 40,
        boot_id: "boot".to_owned(),
        agent_version: "0.1.0".to_owned(),
        origin: Origin::Live,
        sealed_wall_ns: 1,
        sealed_boottime_ns: None,
    }
}

fn layout(width: usize) -> Arc<Layout> {
    Arc::new(Layout::new(
        (0..width)
            .map(|i| format!("host|vmstat|name_{i:05}").into_boxed_str())
            .collect(),
    ))
}

fn row(layout: &Arc<Layout>, wall: i64, values: Vec<Option<i64>>) -> CounterRow {
    CounterRow {
        layout: Arc::clone(layout),
        end_wall_ns: wall,
        end_boottime_ns: Some(wall / 2),
        boot_id: Arc::from("boot"),
        values,
    }
}

/// Values that zstd cannot shrink.
fn noise(seed: u64) -> impl Iterator<Item = i64> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as i64
    })
}

fn reopened(content: Content) -> Content {
    let sealed = Sealer::default().seal(content, &header()).expect("sealed");
    let mut layouts = Vec::new();
    let mut whole = Content::default();
    for (index, batch) in sealed.iter().enumerate() {
        assert_eq!(batch.seq, 40 + index as u64);
        assert!(batch.body.len() <= MAX_BATCH_BYTES);
        assert!(batch.inflated_bytes <= MAX_INFLATED_BYTES);
        let part = open(&batch.body, &layouts).expect("opened").content;
        layouts.extend(part.layouts);
        whole.counters.extend(part.counters);
        whole.tile_columns.extend(part.tile_columns);
    }
    whole
}

proptest! {
    #[test]
    fn counters_come_back_as_they_were(
        rows in prop::collection::vec((any::<i64>(), prop::collection::vec(any::<Option<i64>>(), 13)), 1..20),
    ) {
        let layout = layout(13);
        let counters: Vec<_> = rows.into_iter().map(|(wall, values)| row(&layout, wall, values)).collect();
        let whole = reopened(Content { counters: counters.clone(), ..Content::default() });
        prop_assert_eq!(whole.counters, counters);
    }

    #[test]
    fn hostile_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let framed = zstd::bulk::compress(&body, 1).expect("compressed");
        let _ = open(&body, &[]);
        let _ = open(&framed, &[]);
    }
}

#[test]
fn a_large_content_is_split_and_nothing_is_lost() {
    let layout = layout(1000);
    let mut values = noise(3);
    let counters: Vec<_> = (0..700)
        .map(|minute| row(&layout, minute, (0..1000).map(|_| values.next()).collect()))
        .collect();
    let tile_columns: Vec<_> = (0..9)
        .map(|minute| TileColumn {
            epoch_id: 1,
            end_wall_ns: minute,
            cells: vec![1; 1000],
        })
        .collect();
    let content = Content {
        counters: counters.clone(),
        tile_columns: tile_columns.clone(),
        ..Content::default()
    };
    let whole = reopened(content);
    assert_eq!(whole.counters, counters);
    assert_eq!(whole.tile_columns, tile_columns);
}

#[test]
fn one_item_beyond_the_limit_is_refused_by_name() {
    let layout = layout(150_000);
    let values = noise(9).take(150_000).map(Some).collect();
    let content = Content {
        counters: vec![row(&layout, 1, values)],
        ..Content::default()
    };
    let error = Sealer::default().seal(content, &header()).expect_err("too large");
    assert!(
        matches!(
            error,
            WireError::TooLarge {
                what: "counter sample",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_layout_travels_once_and_again_when_asked_for() {
    let layout = layout(5);
    let content = || Content {
        counters: vec![row(&layout, 1, vec![Some(1); 5])],
        ..Content::default()
    };
    let mut sealer = Sealer::default();
    let first = sealer.seal(content(), &header()).expect("sealed");
    let second = sealer.seal(content(), &header()).expect("sealed");
    assert_eq!(
        open(&first[0].body, &[]).expect("opened").content.layouts.len(),
        1
    );
    assert!(matches!(
        open(&second[0].body, &[]),
        Err(OpenError::UnknownLayout(_))
    ));
    assert_eq!(
        layouts_used(&second[0].body).expect("readable"),
        vec![layout.hash().to_vec()]
    );
    let again = Content {
        layouts: vec![Arc::clone(&layout)],
        ..Content::default()
    };
    let again = sealer.seal(again, &header()).expect("sealed");
    assert_eq!(
        open(&again[0].body, &[]).expect("opened").content.layouts,
        vec![layout]
    );
}

#[test]
fn equal_names_share_a_layout_and_a_new_name_makes_another() {
    let sample = |names: &[&str]| CounterSample {
        end_wall_ns: 0,
        end_boottime_ns: None,
        boot_id: Arc::from(""),
        values: names
            .iter()
            .map(|name| (Key::new(&Scope::Host, "vmstat", name), Some(0)))
            .collect(),
    };
    let mut cache = LayoutCache::default();
    let first = cache.layout_of(&sample(&["a", "b"]));
    assert!(Arc::ptr_eq(&first, &cache.layout_of(&sample(&["a", "b"]))));
    assert_ne!(first.hash(), cache.layout_of(&sample(&["a", "b", "c"])).hash());
}

#[test]
fn the_hash_is_the_one_that_the_contract_states() {
    // printf 'host|vmstat|a\nhost|vmstat|b\n' | sha256sum | cut -c1-32
    let layout = Layout::new(vec![
        "host|vmstat|b".into(),
        "host|vmstat|a".into(),
        "host|vmstat|a".into(),
    ]);
    assert_eq!(layout.hash_hex(), "fd4f573923d5477a85b79a6ebefb5f1f");
}

#[test]
fn a_bomb_is_refused_while_inflating() {
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).expect("compressed");
    assert!(bomb.len() < 64 << 10);
    assert!(matches!(inflate(&bomb), Err(WireError::Inflate(_))));
}
