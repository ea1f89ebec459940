//! The intervals of a page trace, put together from its rows.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::trace_columns::{Columns, GroupRows};
use crate::trace_error::{TraceError, TraceProblem};
use crate::trace_pages::{Access, TraceInterval, TraceLimits};

/// The rows of a file one after the other, one row group in memory at a time in small batches.
struct Rows {
    file: Arc<SerializedFileReader<File>>,
    columns: Columns,
    next_group: usize,
    group: Option<GroupRows>,
    /// Rows handed out; the number of the row that follows, counted from 0.
    done: u64,
}

impl Rows {
    fn new(file: Arc<SerializedFileReader<File>>, columns: Columns) -> Self {
        Self {
            file,
            columns,
            next_group: 0,
            group: None,
            done: 0,
        }
    }

    fn next_row(&mut self) -> Result<Option<(i32, Access)>, TraceProblem> {
        loop {
            if let Some(group) = &mut self.group {
                if let Some(row) = group.next_row(self.done)? {
                    self.done += 1;
                    return Ok(Some(row));
                }
                self.group = None;
            }
            if self.next_group == self.file.num_row_groups() {
                return Ok(None);
            }
            let group = self.file.get_row_group(self.next_group);
            let group = group.map_err(|error| TraceProblem::Parquet(error.to_string()))?;
            self.group = Some(GroupRows::open(group.as_ref(), &self.columns)?);
            self.next_group += 1;
        }
    }
}

/// Iterator over the intervals of a trace. After an error it ends.
pub struct Intervals {
    path: PathBuf,
    rows: Rows,
    limits: TraceLimits,
    first: Option<i32>,
    /// Number of the interval to hand out next.
    next: Option<i32>,
    /// The first row of a later interval.
    pending: Option<(i32, Access)>,
    failed: bool,
}

impl Intervals {
    /// Of an open trace; `path` is for messages.
    pub(crate) fn new(
        path: &Path,
        file: Arc<SerializedFileReader<File>>,
        columns: Columns,
        limits: TraceLimits,
    ) -> Self {
        let rows = Rows::new(file, columns);
        Self {
            path: path.to_owned(),
            rows,
            limits,
            first: None,
            next: None,
            pending: None,
            failed: false,
        }
    }

    fn read(&mut self) -> Result<Option<TraceInterval>, TraceProblem> {
        let Some((row_interval, access)) = self.take_row()? else {
            return Ok(None);
        };
        let first = *self.first.get_or_insert(row_interval);
        let number = self.next.unwrap_or(row_interval);
        self.next = number.checked_add(1);
        let span = i64::from(row_interval) - i64::from(first) + 1;
        if span > self.limits.intervals {
            let (found, limit) = (span.cast_unsigned(), self.limits.intervals.cast_unsigned());
            return Err(TraceProblem::TooLarge {
                what: "intervals",
                found,
                limit,
            });
        }
        if row_interval != number {
            self.pending = Some((row_interval, access));
            return Ok(Some(TraceInterval {
                number,
                accesses: Vec::new(),
            }));
        }
        let mut accesses = vec![access];
        while let Some((row_interval, access)) = self.take_row()? {
            if row_interval < number {
                return Err(TraceProblem::Row {
                    column: "interval",
                    row: self.rows.done,
                    problem: format!("is {row_interval} after {number}: sort the rows by interval"),
                });
            }
            if row_interval > number {
                self.pending = Some((row_interval, access));
                break;
            }
            accesses.push(access);
        }
        Ok(Some(TraceInterval { number, accesses }))
    }

    fn take_row(&mut self) -> Result<Option<(i32, Access)>, TraceProblem> {
        match self.pending.take() {
            Some(row) => Ok(Some(row)),
            None => self.rows.next_row(),
        }
    }
}

impl Iterator for Intervals {
    type Item = Result<TraceInterval, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let read = self
            .read()
            .map_err(|problem| TraceError::new(&self.path, problem));
        self.failed = read.is_err();
        read.transpose()
    }
}
