//! The five columns of a page trace, read in batches and checked value by value.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescriptor;
use tierscope_sample::heat::PageKind;

use crate::trace_error::TraceProblem;
use crate::trace_pages::Access;

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;
/// Page numbers have 52 bits: an address of 64 without the offset in a page of 4 KiB.
const MAX_PAGE: i64 = (1 << 52) - 1;
const NAMES: [&str; 5] = ["interval", "page", "loads", "stores", "kind"];

/// Where a column is in the file.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) index: usize,
    nullable: bool,
    unsigned: bool,
}

/// The columns in the order of [`NAMES`].
#[derive(Debug, Clone)]
pub(crate) struct Columns([Column; 5]);

impl Columns {
    /// Finds the columns by name and checks their types.
    pub(crate) fn find(metadata: &ParquetMetaData) -> Result<Self, TraceProblem> {
        let schema = metadata.file_metadata().schema_descr();
        let find = |name: &'static str| {
            let mut columns = schema.columns().iter().enumerate();
            let found = columns.find(|(_, column)| column.path().parts() == [name]);
            let (index, column) = found.ok_or_else(|| TraceProblem::Column {
                column: name,
                problem: format!("is missing; a page trace has the columns {}", NAMES.join(", ")),
            })?;
            check_type(name, column)?;
            let nullable = column.max_def_level() > 0;
            Ok(Column {
                name,
                index,
                nullable,
                unsigned: is_unsigned(column),
            })
        };
        let [interval, page, loads, stores, kind] = NAMES.map(find);
        Ok(Self([interval?, page?, loads?, stores?, kind?]))
    }

    pub(crate) fn each(&self) -> &[Column; 5] {
        &self.0
    }
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    let converted = column.converted_type();
    matches!(column.logical_type_ref(), Some(LogicalType::Integer(integer)) if !integer.is_signed)
        || matches!(
            converted,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32
        )
}

fn check_type(name: &'static str, column: &ColumnDescriptor) -> Result<(), TraceProblem> {
    let found = column.physical_type();
    let (fits, expected) = if name == "kind" {
        (found == Type::BYTE_ARRAY, "strings")
    } else {
        (matches!(found, Type::INT32 | Type::INT64), "integers")
    };
    if column.max_rep_level() > 0 || column.self_type().get_basic_info().repetition() == Repetition::REPEATED
    {
        return Err(TraceProblem::Column {
            column: name,
            problem: format!("holds lists, expected {expected}"),
        });
    }
    if !fits {
        return Err(TraceProblem::Column {
            column: name,
            problem: format!("has type {found}, expected {expected}"),
        });
    }
    Ok(())
}

/// Decodes one column of one row group.
struct Decoder<T: DataType> {
    column: Column,
    reader: ColumnReaderImpl<T>,
    levels: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Decoder<T> {
    /// Reads the next batch; `false` at the end. `first_row` is the number of its first row, counted from 0.
    fn fill(&mut self, first_row: u64) -> Result<bool, TraceProblem> {
        self.values.clear();
        self.levels.clear();
        let levels = self.column.nullable.then_some(&mut self.levels);
        let read = self
            .reader
            .read_records(BATCH_ROWS, levels, None, &mut self.values);
        let (rows, values, _) = read.map_err(|error| TraceProblem::Column {
            column: self.column.name,
            problem: format!("cannot be decoded: {error}"),
        })?;
        if values < rows {
            let offset = self
                .levels
                .iter()
                .position(|&level| level == 0)
                .unwrap_or_default();
            let problem = "is null: leave out pages that were not accessed".to_owned();
            return Err(TraceProblem::Row {
                column: self.column.name,
                row: first_row + offset as u64 + 1,
                problem,
            });
        }
        Ok(rows > 0)
    }
}

/// A column of integers of either width.
enum Numbers {
    Narrow(Decoder<Int32Type>),
    Wide(Decoder<Int64Type>),
}

impl Numbers {
    fn column(&self) -> &Column {
        match self {
            Self::Narrow(decoder) => &decoder.column,
            Self::Wide(decoder) => &decoder.column,
        }
    }

    fn fill(&mut self, first_row: u64) -> Result<bool, TraceProblem> {
        match self {
            Self::Narrow(decoder) => decoder.fill(first_row),
            Self::Wide(decoder) => decoder.fill(first_row),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(decoder) => decoder.values.len(),
            Self::Wide(decoder) => decoder.values.len(),
        }
    }

    /// Value `index` of the batch; row `row` (from 0) of the file, which errors name.
    fn get(&self, index: usize, row: u64, range: std::ops::RangeInclusive<i64>) -> Result<i64, TraceProblem> {
        let value = match self {
            Self::Narrow(decoder) if decoder.column.unsigned => {
                i64::from(decoder.values[index].cast_unsigned())
            }
            Self::Narrow(decoder) => i64::from(decoder.values[index]),
            // An unsigned value of 2^63 or more turns negative, which no range allows that it could be meant for.
            Self::Wide(decoder) => decoder.values[index],
        };
        if range.contains(&value) {
            return Ok(value);
        }
        let shown = match self {
            Self::Wide(decoder) if decoder.column.unsigned => value.cast_unsigned().to_string(),
            _ => value.to_string(),
        };
        let problem = format!("is {shown}, expected {} to {}", range.start(), range.end());
        Err(TraceProblem::Row {
            column: self.column().name,
            row: row + 1,
            problem,
        })
    }
}

pub(crate) struct GroupRows {
    numbers: [Numbers; 4],
    kinds: Decoder<ByteArrayType>,
    next: usize,
}

impl GroupRows {
    pub(crate) fn open(group: &dyn RowGroupReader, columns: &Columns) -> Result<Self, TraceProblem> {
        let [interval, page, loads, stores, kind] = columns.each();
        let numbers = [
            open_numbers(group, interval)?,
            open_numbers(group, page)?,
            open_numbers(group, loads)?,
            open_numbers(group, stores)?,
        ];
        let ColumnReader::ByteArrayColumnReader(reader) = open(group, kind)? else {
            return Err(mismatch(kind));
        };
        Ok(Self {
            numbers,
            kinds: decoder(kind, reader),
            next: 0,
        })
    }

    /// The next row, which is row `row` of the file, counted from 0; `None` at the end of the group.
    pub(crate) fn next_row(&mut self, row: u64) -> Result<Option<(i32, Access)>, TraceProblem> {
        if self.next == self.kinds.values.len() {
            self.next = 0;
            if !self.fill(row)? {
                return Ok(None);
            }
        }
        let at = self.next;
        let [interval, page, loads, stores] = &self.numbers;
        let interval = interval.get(at, row, i64::from(i32::MIN)..=i64::from(i32::MAX))? as i32;
        let counts = 0..=i64::from(u32::MAX);
        let access = Access {
            page: page.get(at, row, 0..=MAX_PAGE)?.cast_unsigned(),
            kind: page_kind(&self.kinds.values[at], row)?,
            loads: loads.get(at, row, counts.clone())? as u32,
            stores: stores.get(at, row, counts)? as u32,
        };
        self.next += 1;
        Ok(Some((interval, access)))
    }

    fn fill(&mut self, row: u64) -> Result<bool, TraceProblem> {
        let more = self.kinds.fill(row)?;
        for numbers in &mut self.numbers {
            numbers.fill(row)?;
            if numbers.len() != self.kinds.values.len() {
                let problem = format!(
                    "has {} values where `kind` has {}",
                    numbers.len(),
                    self.kinds.values.len()
                );
                return Err(TraceProblem::Row {
                    column: numbers.column().name,
                    row: row + 1,
                    problem,
                });
            }
        }
        Ok(more)
    }
}

fn page_kind(name: &ByteArray, row: u64) -> Result<PageKind, TraceProblem> {
    match name.data() {
        b"anon" | b"heap" | b"stack" => Ok(PageKind::Anon),
        b"file" => Ok(PageKind::File),
        b"shmem" | b"tmpfs" => Ok(PageKind::Tmpfs),
        other => {
            let shown: String = String::from_utf8_lossy(other).chars().take(40).collect();
            let problem = format!("is `{shown}`, expected anon, heap, stack, file, shmem or tmpfs");
            Err(TraceProblem::Row {
                column: "kind",
                row: row + 1,
                problem,
            })
        }
    }
}

fn open(group: &dyn RowGroupReader, column: &Column) -> Result<ColumnReader, TraceProblem> {
    group
        .get_column_reader(column.index)
        .map_err(|error| TraceProblem::Column {
            column: column.name,
            problem: format!("cannot be decoded: {error}"),
        })
}

fn open_numbers(group: &dyn RowGroupReader, column: &Column) -> Result<Numbers, TraceProblem> {
    match open(group, column)? {
        ColumnReader::Int32ColumnReader(reader) => Ok(Numbers::Narrow(decoder(column, reader))),
        ColumnReader::Int64ColumnReader(reader) => Ok(Numbers::Wide(decoder(column, reader))),
        _ => Err(mismatch(column)),
    }
}

fn decoder<T: DataType>(column: &Column, reader: ColumnReaderImpl<T>) -> Decoder<T> {
    Decoder {
        column: column.clone(),
        reader,
        levels: Vec::new(),
        values: Vec::new(),
    }
}

fn mismatch(column: &Column) -> TraceProblem {
    let problem = "differs in type between the schema and a row group: the file is damaged".to_owned();
    TraceProblem::Column {
        column: column.name,
        problem,
    }
}
