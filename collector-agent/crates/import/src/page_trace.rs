//! Page traces: Parquet files with the accesses to every page in every interval (docs/method/heat.md, "Page traces").
//!
//! Columns `interval:int32, page:uint64, loads:uint32, stores:uint32, kind:string` in any order, further columns are
//! ignored; any integer type that holds the values is read. Rows are ordered by interval. A page without a row in an
//! interval was not accessed in it.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use tierscope_sample::heat::PageKind;
use tierscope_sample::page_size;

use crate::trace_columns::Columns;
use crate::trace_error::{TraceError, TraceProblem};
use crate::trace_intervals::Intervals;
use crate::trace_pages::join_ranges;
pub use crate::trace_pages::{Access, PageRange, TraceInterval, TraceLimits};

/// Page size of a trace without `page_size` metadata.
const DEFAULT_PAGE_SIZE_BYTES: u32 = page_size::MODEL_BYTES as u32;
const PAGE_SIZES_BYTES: std::ops::RangeInclusive<u32> = DEFAULT_PAGE_SIZE_BYTES..=1 << 30;
/// Most bytes of one column of one row group after inflating.
const MAX_CHUNK_BYTES: i64 = 1 << 30;

/// An open page trace. Its intervals can be read any number of times.
pub struct PageTraceReader {
    path: PathBuf,
    file: Arc<SerializedFileReader<File>>,
    columns: Columns,
    limits: TraceLimits,
    page_size_bytes: u32,
    interval_seconds: Option<f64>,
}

impl PageTraceReader {
    /// Opens a trace and checks its shape; rows are checked as they are read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::open_with(path, TraceLimits::default())
    }

    /// As [`PageTraceReader::open`], with other limits.
    pub fn open_with(path: &Path, limits: TraceLimits) -> Result<Self, TraceError> {
        let fail = |problem: TraceProblem| TraceError::new(path, problem);
        let file = File::open(path).map_err(|error| fail(TraceProblem::Open(error)))?;
        let reader = SerializedFileReader::new(file)
            .map_err(|error| fail(TraceProblem::Parquet(error.to_string())))?;
        let metadata = reader.metadata();
        let columns = Columns::find(metadata).map_err(fail)?;
        check_sizes(metadata, &columns, limits).map_err(fail)?;
        let page_size_bytes = page_size(metadata).map_err(fail)?;
        let interval_seconds = interval_seconds(metadata).map_err(fail)?;
        let file = Arc::new(reader);
        Ok(Self {
            path: path.to_owned(),
            file,
            columns,
            limits,
            page_size_bytes,
            interval_seconds,
        })
    }

    /// Size of a page: the file's `page_size`, 4096 where it does not say.
    pub fn page_size_bytes(&self) -> u32 {
        self.page_size_bytes
    }

    /// Length of an interval: the file's `interval_seconds`; `None` where it does not say.
    pub fn interval_seconds(&self) -> Option<f64> {
        self.interval_seconds
    }

    /// Rows of the file.
    pub fn rows(&self) -> u64 {
        self.file
            .metadata()
            .file_metadata()
            .num_rows()
            .max(0)
            .cast_unsigned()
    }

    /// The intervals from the first to the last; those without rows are there too, without accesses.
    pub fn intervals(&self) -> Intervals {
        Intervals::new(
            &self.path,
            Arc::clone(&self.file),
            self.columns.clone(),
            self.limits,
        )
    }

    /// Reads the whole trace once: the ranges of its pages by kind, parted where no page follows within `gap_bytes`.
    /// This is what the rows of tiles are cut from, so that a whole trace fits in one epoch.
    pub fn page_ranges(&self, gap_bytes: u64) -> Result<Vec<PageRange>, TraceError> {
        let mut pages: HashSet<(PageKind, u64)> = HashSet::new();
        for interval in self.intervals() {
            pages.extend(interval?.accesses.iter().map(|access| (access.kind, access.page)));
            if pages.len() > self.limits.pages {
                let (found, limit) = (pages.len() as u64, self.limits.pages as u64);
                return Err(TraceError::new(
                    &self.path,
                    TraceProblem::TooLarge {
                        what: "pages",
                        found,
                        limit,
                    },
                ));
            }
        }
        let single = pages
            .into_iter()
            .map(|(kind, page)| PageRange::single(kind, page));
        Ok(join_ranges(
            single.collect(),
            gap_bytes / u64::from(self.page_size_bytes),
        ))
    }
}

fn check_sizes(
    metadata: &ParquetMetaData,
    columns: &Columns,
    limits: TraceLimits,
) -> Result<(), TraceProblem> {
    let rows = metadata.file_metadata().num_rows().max(0).cast_unsigned();
    if rows > limits.rows {
        return Err(TraceProblem::TooLarge {
            what: "rows",
            found: rows,
            limit: limits.rows,
        });
    }
    for group in metadata.row_groups() {
        for column in columns.each() {
            let chunk = group.column(column.index);
            if chunk.uncompressed_size() > MAX_CHUNK_BYTES {
                let found = chunk.uncompressed_size().cast_unsigned();
                let limit = MAX_CHUNK_BYTES.cast_unsigned();
                return Err(TraceProblem::TooLarge {
                    what: "bytes in a column of a row group",
                    found,
                    limit,
                });
            }
            let readable = [Compression::UNCOMPRESSED, Compression::SNAPPY].contains(&chunk.compression())
                || matches!(chunk.compression(), Compression::ZSTD(_));
            if !readable {
                let problem = format!(
                    "is compressed with {}: write it with zstd or snappy",
                    chunk.compression()
                );
                return Err(TraceProblem::Column {
                    column: column.name,
                    problem,
                });
            }
        }
    }
    Ok(())
}

fn metadata_value<'a>(metadata: &'a ParquetMetaData, key: &str) -> Option<&'a str> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

fn page_size(metadata: &ParquetMetaData) -> Result<u32, TraceProblem> {
    let Some(text) = metadata_value(metadata, "page_size") else {
        return Ok(DEFAULT_PAGE_SIZE_BYTES);
    };
    let bytes: Option<u32> = text.trim().parse().ok();
    bytes
        .filter(|bytes| PAGE_SIZES_BYTES.contains(bytes) && bytes.is_power_of_two())
        .ok_or_else(|| TraceProblem::Metadata {
            key: "page_size",
            text: text.to_owned(),
            expected: "a power of two of bytes from 4096 to 1073741824",
        })
}

fn interval_seconds(metadata: &ParquetMetaData) -> Result<Option<f64>, TraceProblem> {
    let Some(text) = metadata_value(metadata, "interval_seconds") else {
        return Ok(None);
    };
    let seconds: Option<f64> = text.trim().parse().ok();
    seconds
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .map(Some)
        .ok_or_else(|| TraceProblem::Metadata {
            key: "interval_seconds",
            text: text.to_owned(),
            expected: "a number of seconds above 0",
        })
}
