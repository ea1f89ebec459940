//! Page trace files in all shapes that are read, and messages for those that are not.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use tierscope_import::page_trace::{Access, PageTraceReader, TraceInterval, TraceLimits};
use tierscope_sample::heat::PageKind;

const SCHEMA: &str = "message schema {
    required int32 interval; required int64 page (UINT_64);
    required int32 loads (UINT_32); required int32 stores (UINT_32); required binary kind (UTF8);
}";

/// The values of one column of one row group; levels for columns that may hold nulls.
enum Values<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
    Real(&'a [f64]),
    Text(&'a [&'a str]),
    NarrowWithNulls(&'a [i32], &'a [i16]),
}

fn write_column(group: &mut SerializedRowGroupWriter<File>, values: &Values) {
    let mut column = group.next_column().unwrap().unwrap();
    match values {
        Values::Narrow(values) => column.typed::<Int32Type>().write_batch(values, None, None),
        Values::Wide(values) => column.typed::<Int64Type>().write_batch(values, None, None),
        Values::Real(values) => column.typed::<DoubleType>().write_batch(values, None, None),
        Values::Text(values) => {
            let values: Vec<_> = values.iter().map(|text| ByteArray::from(*text)).collect();
            column.typed::<ByteArrayType>().write_batch(&values, None, None)
        }
        Values::NarrowWithNulls(values, levels) => {
            column
                .typed::<Int32Type>()
                .write_batch(values, Some(levels), None)
        }
    }
    .unwrap();
    column.close().unwrap();
}

/// Writes a file of row groups, and gives its path.
fn write(directory: &Path, schema: &str, metadata: &[(&str, &str)], groups: &[Vec<Values>]) -> PathBuf {
    let path = directory.join("trace.parquet");
    let pairs = metadata
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs.collect()))
        .build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for values in columns {
            write_column(&mut group, values);
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    path
}

/// The message of the first error of a file with the usual columns.
fn error_of(intervals: &[i32], pages: &[i64], loads: &[i32], kinds: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let columns = vec![
        Values::Narrow(intervals),
        Values::Wide(pages),
        Values::Narrow(loads),
        Values::Narrow(loads),
        Values::Text(kinds),
    ];
    error(
        &write(directory.path(), SCHEMA, &[], &[columns]),
        TraceLimits::default(),
    )
}

fn error(path: &Path, limits: TraceLimits) -> String {
    let opened = PageTraceReader::open_with(path, limits);
    let read = opened.and_then(|reader| reader.intervals().collect::<Result<Vec<_>, _>>());
    let message = read.expect_err("the file is not right").to_string();
    assert!(
        message.starts_with(&format!("page trace {}: ", path.display())),
        "{message}"
    );
    message[message.find(".parquet: ").unwrap() + 10..].to_owned()
}

fn access(page: u64, kind: PageKind, loads: u32, stores: u32) -> Access {
    Access {
        page,
        kind,
        loads,
        stores,
    }
}

#[test]
fn columns_come_in_any_order_and_width_over_any_row_groups() {
    let directory = tempfile::tempdir().unwrap();
    let schema = "message schema {
        required binary kind (UTF8); required double extra; required int64 stores; required int64 loads;
        required int32 page (UINT_32); required int64 interval;
    }";
    let group = |kinds, extra, stores, loads, pages, intervals| {
        vec![
            Values::Text(kinds),
            Values::Real(extra),
            Values::Wide(stores),
            Values::Wide(loads),
            Values::Narrow(pages),
            Values::Wide(intervals),
        ]
    };
    let groups = [
        group(
            &["heap", "file"],
            &[0.5, 0.5],
            &[1, 2],
            &[4_294_967_295, 0],
            &[7, -1],
            &[3, 3],
        ),
        group(
            &["shmem", "tmpfs", "stack"],
            &[0.5, 0.5, 0.5],
            &[0, 1, 0],
            &[9, 2, 8],
            &[5, 6, 7],
            &[3, 3, 6],
        ),
    ];
    let metadata = [("page_size", "16384"), ("interval_seconds", "0.5")];
    let reader = PageTraceReader::open(&write(directory.path(), schema, &metadata, &groups)).unwrap();
    assert_eq!(
        (reader.page_size_bytes(), reader.interval_seconds(), reader.rows()),
        (16384, Some(0.5), 5)
    );
    let intervals: Vec<_> = reader.intervals().map(Result::unwrap).collect();
    let first = vec![
        access(7, PageKind::Anon, u32::MAX, 1),
        access(u64::from(u32::MAX), PageKind::File, 0, 2),
        access(5, PageKind::Tmpfs, 9, 0),
        access(6, PageKind::Tmpfs, 2, 1),
    ];
    let expected = [
        TraceInterval {
            number: 3,
            accesses: first,
        },
        TraceInterval {
            number: 4,
            accesses: Vec::new(),
        },
        TraceInterval {
            number: 5,
            accesses: Vec::new(),
        },
        TraceInterval {
            number: 6,
            accesses: vec![access(7, PageKind::Anon, 8, 0)],
        },
    ];
    assert_eq!(intervals, expected);
    let again: Vec<_> = reader.intervals().map(Result::unwrap).collect();
    assert_eq!(again, expected, "a trace can be read again");
}

#[test]
fn ranges_part_where_no_page_follows_within_the_gap() {
    let directory = tempfile::tempdir().unwrap();
    let pages = [10, 11, 20, 600, 11];
    let columns = vec![
        Values::Narrow(&[0, 0, 0, 0, 1]),
        Values::Wide(&pages),
        Values::Narrow(&[1; 5]),
        Values::Narrow(&[0; 5]),
        Values::Text(&["anon", "anon", "anon", "anon", "file"]),
    ];
    let reader = PageTraceReader::open(&write(directory.path(), SCHEMA, &[], &[columns])).unwrap();
    let ranges = reader.page_ranges(2 << 20).unwrap();
    let shown: Vec<_> = ranges
        .iter()
        .map(|range| (range.kind, range.first, range.last))
        .collect();
    assert_eq!(
        shown,
        [
            (PageKind::Anon, 10, 20),
            (PageKind::Anon, 600, 600),
            (PageKind::File, 11, 11)
        ]
    );
    let few = TraceLimits {
        pages: 3,
        ..TraceLimits::default()
    };
    let path = directory.path().join("trace.parquet");
    let message = PageTraceReader::open_with(&path, few)
        .unwrap()
        .page_ranges(0)
        .unwrap_err()
        .to_string();
    assert!(message.contains("pages, the limit is 3"), "{message}");
}

#[test]
fn wrong_values_are_named_by_column_and_row() {
    let message = error_of(&[0, 0, 1], &[1, 2, 3], &[1, 1, 1], &["anon", "anon", "heep"]);
    assert_eq!(
        message,
        "row 3, column `kind`: is `heep`, expected anon, heap, stack, file, shmem or tmpfs"
    );
    let message = error_of(&[0, 2, 1], &[1, 2, 3], &[1, 1, 1], &["anon"; 3]);
    assert_eq!(
        message,
        "row 3, column `interval`: is 1 after 2: sort the rows by interval"
    );
    let message = error_of(&[0, 0], &[1, -2], &[1, 1], &["anon"; 2]);
    assert_eq!(
        message,
        "row 2, column `page`: is -2, expected 0 to 4503599627370495"
    );
}

#[test]
fn nulls_and_wrong_types_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let nullable = SCHEMA.replace("required int32 loads", "optional int32 loads");
    let columns = |loads| {
        let (page, kind) = (Values::Wide(&[1, 2, 3]), Values::Text(&["anon"; 3]));
        vec![
            Values::Narrow(&[0, 0, 0]),
            page,
            loads,
            Values::Narrow(&[0; 3]),
            kind,
        ]
    };
    let with_null = Values::NarrowWithNulls(&[4, 5], &[1, 0, 1]);
    let path = write(directory.path(), &nullable, &[], &[columns(with_null)]);
    let message = error(&path, TraceLimits::default());
    assert_eq!(
        message,
        "row 2, column `loads`: is null: leave out pages that were not accessed"
    );
    let without = Values::NarrowWithNulls(&[4, 5, 6], &[1, 1, 1]);
    let path = write(directory.path(), &nullable, &[], &[columns(without)]);
    assert_eq!(
        PageTraceReader::open(&path).unwrap().intervals().count(),
        1,
        "a column that could hold nulls is read"
    );
    let real = SCHEMA.replace("int32 loads (UINT_32)", "double loads");
    let path = write(directory.path(), &real, &[], &[columns(Values::Real(&[1.0; 3]))]);
    assert_eq!(
        error(&path, TraceLimits::default()),
        "column `loads` has type DOUBLE, expected integers"
    );
    let missing = SCHEMA.replace(" kind ", " sort ");
    let path = write(
        directory.path(),
        &missing,
        &[],
        &[columns(Values::Narrow(&[1; 3]))],
    );
    let message = error(&path, TraceLimits::default());
    assert_eq!(
        message,
        "column `kind` is missing; a page trace has the columns interval, page, loads, stores, kind"
    );
}

#[test]
fn wrong_metadata_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for (key, value, expected) in [
        (
            "page_size",
            "5000",
            "metadata `page_size` is `5000`, expected a power of two",
        ),
        (
            "interval_seconds",
            "-1",
            "metadata `interval_seconds` is `-1`, expected a number of seconds above 0",
        ),
    ] {
        let message = error(
            &write(directory.path(), SCHEMA, &[(key, value)], &[]),
            TraceLimits::default(),
        );
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn sizes_are_capped() {
    let directory = tempfile::tempdir().unwrap();
    let columns = vec![
        Values::Narrow(&[0, 2_000_000_000]),
        Values::Wide(&[1, 2]),
        Values::Narrow(&[1, 1]),
        Values::Narrow(&[1, 1]),
        Values::Text(&["anon", "anon"]),
    ];
    let path = write(directory.path(), SCHEMA, &[], &[columns]);
    let rows = TraceLimits {
        rows: 1,
        ..TraceLimits::default()
    };
    assert!(
        error(&path, rows).starts_with("has 2 rows, the limit is 1"),
        "{}",
        error(&path, rows)
    );
    let reader = PageTraceReader::open(&path).unwrap();
    let last = reader.intervals().last().unwrap().unwrap_err().to_string();
    assert!(
        last.contains("has 2000000001 intervals, the limit is 1000000"),
        "{last}"
    );
}

#[test]
fn files_that_are_no_trace_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    assert!(error(&path, TraceLimits::default()).starts_with("cannot be opened: "));
    std::fs::write(&path, b"PAR1 nothing PAR1").unwrap();
    assert!(error(&path, TraceLimits::default()).starts_with("is not readable as Parquet: "));
    std::fs::write(&path, b"").unwrap();
    assert!(error(&path, TraceLimits::default()).starts_with("is not readable as Parquet: "));
}

#[test]
fn a_damaged_trace_is_an_error_and_not_a_crash() {
    let recorded =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/page-traces/sqlite.parquet");
    let sound = std::fs::read(recorded).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let mut refused = 0;
    for cut in 1..20 {
        // A block of the data is overwritten; the footer stays, so that the damage shows while rows are read.
        let mut bytes = sound.clone();
        let at = cut * (sound.len() - 4096) / 20;
        bytes[at..at + 256].fill(0xA5);
        std::fs::write(&path, bytes).unwrap();
        let read =
            PageTraceReader::open(&path).and_then(|reader| reader.intervals().collect::<Result<Vec<_>, _>>());
        refused += i32::from(read.is_err());
    }
    assert!(refused > 10, "{refused} of 19 damaged files were refused");
}

#[test]
fn an_empty_trace_has_no_intervals() {
    let directory = tempfile::tempdir().unwrap();
    let reader = PageTraceReader::open(&write(directory.path(), SCHEMA, &[], &[])).unwrap();
    assert_eq!(
        (reader.intervals().count(), reader.page_ranges(0).unwrap().len()),
        (0, 0)
    );
}
