//! The codec of blocks: columns of numbers, each in the form that gives them back exactly in the fewest bytes.
//!
//! A part is one column or several of n rows, one after another, as a frame of zstd where that is smaller;
//! `docs/method/stored-forms.md` has the bytes.

use std::borrow::Cow;
use std::cell::RefCell;

use numpy::{IntoPyArray as _, PyArray2, PyArrayMethods as _, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zstd::bulk::{Compressor, Decompressor};

/// Every head of a column has it.
const MARK: u8 = 0x80;
/// How a frame of zstd begins. No head of a column is its first byte.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Most bytes of a part.
const INFLATED_MAX: u64 = 1 << 30;

/// No row is present: there are no residuals.
const EMPTY: u8 = 0;
/// Values, kind and missing rows are those of the column before.
const SAME: u8 = 1;
/// A residual is the value.
const VALUES: u8 = 2;
/// A residual is the value less that of the row before.
const STEPS: u8 = 3;
/// A residual is the value less that of the column before in this row. Both have the same kind and missing rows.
const BESIDE: u8 = 4;
/// A residual is a value of the column, and each row has the place of its own among them.
const DICTIONARY: u8 = 5;

/// Where rows are missing: nowhere, as stored here, as in the column before.
const NO_HOLES: u8 = 0;
const HOLES: u8 = 1;
const HOLES_AS_BEFORE: u8 = 2;

/// Integers.
const INTEGER: u8 = 0;
/// What the values of the kinds from 1 on are divided by.
const DIVISORS: [f64; 5] = [1.0, 1e2, 1e3, 1e6, 1e9];
/// Values are the 64 bits of the floating-point numbers.
const BITS: u8 = 6;
/// Whole numbers below it are exact in floating point.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Residuals of which the middle one stands for the middle of all.
const SOME: usize = 15;
/// Most values of a dictionary: their places are bytes.
const MOST_WORDS: usize = 256;

/// A column: its present values as integers, and the rows that have one (`None` = all).
#[derive(Clone)]
struct Column {
    kind: u8,
    values: Vec<i64>,
    present: Option<Vec<bool>>,
}

impl Column {
    fn of_floats(row: impl Iterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = row.collect();
        let known: Vec<f64> = numbers
            .iter()
            .copied()
            .filter(|one| !one.is_nan())
            .collect();
        let present = (known.len() < numbers.len())
            .then(|| numbers.iter().map(|number| !number.is_nan()).collect());
        let (kind, values) = as_integers(&known);
        Self {
            kind,
            values,
            present,
        }
    }

    /// The numbers of all rows, `missing` where there is none.
    fn spread<T: Copy>(&self, n: usize, missing: T, number: impl Fn(i64) -> T, out: &mut Vec<T>) {
        let mut values = self.values.iter().map(|value| number(*value));
        match &self.present {
            None => out.extend(values),
            Some(present) => out.extend(present.iter().take(n).map(|there| {
                let value = if *there { values.next() } else { None };
                value.unwrap_or(missing)
            })),
        }
    }
}

/// Finite numbers without a negative zero as decimal fractions, where `as_float` gives back the same bits; else as bits.
fn as_integers(numbers: &[f64]) -> (u8, Vec<i64>) {
    let plain = |number: &f64| number.is_finite() && (*number != 0.0 || number.is_sign_positive());
    if numbers.iter().all(plain) {
        for (kind, divisor) in (1..).zip(DIVISORS) {
            let exact = |number: &f64| {
                let scaled = (number * divisor).round_ties_even();
                scaled.abs() < EXACT && (scaled / divisor).to_bits() == number.to_bits()
            };
            if numbers.iter().all(exact) {
                let scaled = |number: &f64| (number * divisor).round_ties_even() as i64;
                return (kind, numbers.iter().map(scaled).collect());
            }
        }
    }
    let bits = |number: &f64| number.to_bits().cast_signed();
    (BITS, numbers.iter().map(bits).collect())
}

fn as_float(kind: u8, value: i64) -> f64 {
    match kind {
        BITS => f64::from_bits(value.cast_unsigned()),
        INTEGER | 1 => value as f64,
        _ => value as f64 / DIVISORS[usize::from(kind) - 1],
    }
}

thread_local! {
    /// At the level that zstd has by default, which is 3.
    static DEFLATE: RefCell<Compressor<'static>> = RefCell::default();
    static INFLATE: RefCell<Decompressor<'static>> = RefCell::default();
}

/// The same bytes as a frame, where that is smaller.
fn squeeze(part: Vec<u8>) -> Vec<u8> {
    let small = DEFLATE.with_borrow_mut(|deflate| deflate.compress(&part));
    // Fails only where memory cannot be had.
    small
        .ok()
        .filter(|small| small.len() < part.len())
        .unwrap_or(part)
}

/// What `squeeze` was given.
fn inflate(part: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if !part.starts_with(&FRAME) {
        return Ok(Cow::Borrowed(part));
    }
    let length = zstd::zstd_safe::get_frame_content_size(part).ok().flatten();
    let length = length.filter(|length| *length <= INFLATED_MAX).ok_or(CUT)?;
    let length = usize::try_from(length).map_err(|_| CUT)?;
    let plain = INFLATE.with_borrow_mut(|inflate| inflate.decompress(part, length));
    plain.map(Cow::Owned).map_err(|_| CUT)
}

/// The part of these columns, without dictionaries or with them where `dictionaries`: whichever zstd makes smaller.
fn pack(columns: impl Iterator<Item = Column>, dictionaries: bool) -> Vec<u8> {
    let (mut plain, mut worded) = (vec![], dictionaries.then(Vec::new));
    let mut before: Option<Column> = None;
    for column in columns {
        put_column(&mut plain, worded.as_mut(), &column, before.as_ref());
        before = Some(column);
    }
    let Some(worded) = worded.filter(|worded| *worded != plain) else {
        return squeeze(plain);
    };
    let (plain, worded) = (squeeze(plain), squeeze(worded));
    if worded.len() < plain.len() {
        worded
    } else {
        plain
    }
}

/// Adds a column without a dictionary; to `worded` with one where that takes fewer bytes before zstd.
fn put_column(
    plain: &mut Vec<u8>,
    worded: Option<&mut Vec<u8>>,
    column: &Column,
    before: Option<&Column>,
) {
    let start = plain.len();
    let alike = before.filter(|before| before.present == column.present);
    let width = put_plain(plain, column, alike);
    let Some(worded) = worded else { return };
    let Some(words) = Words::of(&column.values, width) else {
        worded.extend_from_slice(&plain[start..]);
        return;
    };
    let residuals = Residuals::of(&words.values);
    put_head(worded, DICTIONARY, column, &residuals, alike.is_some());
    put_varint(worded, residuals.low);
    worded.push((words.values.len() - 1) as u8);
    residuals.put_planes(worded);
    worded.extend(&words.places);
}

/// Adds a column without a dictionary; how many bytes a residual has. `alike`: the column before, if it has these rows.
fn put_plain(out: &mut Vec<u8>, column: &Column, alike: Option<&Column>) -> usize {
    let values = column.values.as_slice();
    let Some(first) = values.first() else {
        out.push(MARK | EMPTY);
        return 0;
    };
    let beside = alike.filter(|before| before.kind == column.kind);
    let beside = beside.map(|before| before.values.as_slice());
    if beside == Some(values) {
        out.push(MARK | SAME);
        return 0;
    }
    let (form, residuals) = smallest(values, beside);
    let residuals = Residuals::of(&residuals);
    put_head(out, form, column, &residuals, alike.is_some());
    if form == STEPS {
        put_varint(out, *first);
    }
    put_varint(out, residuals.low);
    residuals.put_planes(out);
    residuals.width
}

/// What every column with values begins with.
fn put_head(out: &mut Vec<u8>, form: u8, column: &Column, residuals: &Residuals, as_before: bool) {
    let holes = match &column.present {
        None => NO_HOLES,
        Some(_) if as_before => HOLES_AS_BEFORE,
        Some(_) => HOLES,
    };
    out.push(MARK | holes << 4 | form);
    out.push(column.kind << 4 | residuals.width as u8);
    if let (HOLES, Some(present)) = (holes, &column.present) {
        let bits = |rows: &[bool]| {
            let missing = (0..8).filter(|row| rows.get(*row) == Some(&false));
            missing.map(|row| 0x80_u8 >> row).sum::<u8>()
        };
        out.extend(present.chunks(8).map(bits));
    }
}

/// The form whose residuals need the fewest bits, without a dictionary.
fn smallest<'a>(values: &'a [i64], beside: Option<&[i64]>) -> (u8, Cow<'a, [i64]>) {
    if values.iter().all(|value| *value == values[0]) {
        return (VALUES, Cow::Borrowed(values));
    }
    let mut found = (VALUES, Cow::Borrowed(values));
    let mut least = bits(values);
    let steps = values
        .windows(2)
        .map(|pair| pair[1].wrapping_sub(pair[0]))
        .collect();
    let beside = beside.map(|beside| {
        values
            .iter()
            .zip(beside)
            .map(|(one, other)| one.wrapping_sub(*other))
            .collect()
    });
    for (form, residuals) in [(STEPS, Some(steps)), (BESIDE, beside)] {
        let residuals: Option<Vec<i64>> = residuals;
        let Some(residuals) = residuals else { continue };
        let needed = bits(&residuals);
        if needed < least {
            least = needed;
            found = (form, Cow::Owned(residuals));
        }
    }
    found
}

/// About how many bits residuals need beyond their middle, in units of 2^-20. The middle is that of a few of them.
fn bits(residuals: &[i64]) -> u64 {
    let mut some = [0; SOME];
    for (place, one) in some.iter_mut().enumerate() {
        *one = residuals[place * residuals.len() / SOME];
    }
    some.sort_unstable();
    let middle = some[SOME / 2] as f64;
    // Exponent and mantissa of a number are its logarithm, with straight lines between the powers of two.
    let log = |residual: &i64| {
        let beyond = 1.0 + (*residual as f64 - middle).abs();
        (beyond.to_bits() >> 32) - (1023 << 20)
    };
    residuals.iter().map(log).sum()
}

/// Residuals less the least of them, which is taken for as many bytes as the greatest needs.
struct Residuals {
    low: i64,
    above: Vec<u64>,
    width: usize,
}

impl Residuals {
    fn of(residuals: &[i64]) -> Self {
        let low = residuals.iter().copied().min().unwrap_or(0);
        let above: Vec<u64> = residuals
            .iter()
            .map(|residual| residual.wrapping_sub(low).cast_unsigned())
            .collect();
        let most = above.iter().copied().max().unwrap_or(0);
        let width = (u64::BITS - most.leading_zeros()).div_ceil(8) as usize;
        Self { low, above, width }
    }

    /// All lowest bytes first, then all second ones and so on.
    fn put_planes(&self, out: &mut Vec<u8>) {
        for plane in 0..self.width {
            out.extend(
                self.above
                    .iter()
                    .map(|number| (number >> (8 * plane)) as u8),
            );
        }
    }
}

/// The values of a column in the order in which they come first, and the place of each row's value among them.
///
/// Columns that change together so have the same places, which zstd finds.
struct Words {
    values: Vec<i64>,
    places: Vec<u8>,
}

impl Words {
    /// None where that takes no fewer bytes than residuals of `width`.
    fn of(values: &[i64], width: usize) -> Option<Self> {
        if width < 2 {
            return None;
        }
        let (least, most) = (values.iter().min()?, values.iter().max()?);
        let range = most.wrapping_sub(*least).cast_unsigned();
        let word_width = (u64::BITS - range.leading_zeros()).div_ceil(8) as usize;
        let pays = |words: usize| {
            words <= MOST_WORDS && words * word_width + values.len() < width * values.len()
        };
        // So many words at least: where they are too many already, which is usual, nothing is sorted.
        let (mut met, mut words) = ([false; 4 * MOST_WORDS], 0);
        for value in values {
            let mixed = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            words += usize::from(!std::mem::replace(&mut met[(mixed >> 54) as usize], true));
        }
        if !pays(words) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if !pays(sorted.len()) {
            return None;
        }
        let mut numbers: Vec<Option<u8>> = vec![None; sorted.len()];
        let mut words = Self {
            values: vec![],
            places: Vec::with_capacity(values.len()),
        };
        for value in values {
            let at = sorted.partition_point(|word| word < value);
            let place = *numbers[at].get_or_insert_with(|| {
                words.values.push(*value);
                (words.values.len() - 1) as u8
            });
            words.places.push(place);
        }
        Some(words)
    }
}

/// A signed integer of 64 bits, zigzag and then seven bits a byte, the lowest first.
fn put_varint(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= u64::from(MARK) {
        out.push(rest as u8 | MARK);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// What is wrong with a part.
type Fault = &'static str;
const CUT: Fault = "a part of a block ends early: it has other rows, or is damaged";
const LONG: Fault = "a number in a part of a block is longer than 64 bits";
const NO_PART: Fault = "this is not a part of a block";

struct Reader<'part> {
    rest: &'part [u8],
}

impl<'part> Reader<'part> {
    fn take(&mut self, length: usize) -> Result<&'part [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CUT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    fn varint(&mut self) -> Result<i64, Fault> {
        let mut rest = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            rest |= u64::from(byte & 0x7f) << shift;
            if byte < MARK {
                return Ok((rest >> 1).cast_signed() ^ -((rest & 1).cast_signed()));
            }
        }
        Err(LONG)
    }

    /// Reads residuals of `width` bytes, each of them `low` and a number of planes.
    fn residuals(&mut self, width: usize, low: i64, out: &mut [i64]) -> Result<(), Fault> {
        let raw = self.take(width.checked_mul(out.len()).ok_or(CUT)?)?;
        if width > 8 {
            return Err(LONG);
        }
        for (plane, bytes) in raw.chunks(out.len().max(1)).enumerate() {
            for (number, byte) in out.iter_mut().zip(bytes) {
                *number |= i64::from(*byte) << (8 * plane);
            }
        }
        for number in out {
            *number = number.wrapping_add(low);
        }
        Ok(())
    }
}

/// Calls `each` with every column of a part of n rows.
fn read(
    part: &[u8],
    n: usize,
    mut each: impl FnMut(&Column) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let part = inflate(part)?;
    let mut reader = Reader { rest: &part };
    let mut column = Column {
        kind: INTEGER,
        values: vec![],
        present: None,
    };
    while !reader.rest.is_empty() {
        let head = reader.byte()?;
        let (form, holes) = (head & 0x0f, head >> 4 & 0x07);
        if head & MARK == 0 || form > DICTIONARY || holes > HOLES_AS_BEFORE {
            return Err(NO_PART);
        }
        if form == EMPTY {
            column = Column {
                kind: INTEGER,
                values: vec![],
                present: Some(vec![false; n]),
            };
        } else if form != SAME {
            let second = reader.byte()?;
            let (kind, width) = (second >> 4, usize::from(second & 0x0f));
            if kind > BITS {
                return Err(NO_PART);
            }
            if holes == NO_HOLES {
                column.present = None;
            } else if holes == HOLES {
                let bits = reader.take(n.div_ceil(8))?;
                column.present = Some(
                    (0..n)
                        .map(|row| bits[row / 8] & (0x80 >> (row % 8)) == 0)
                        .collect(),
                );
            }
            let count = column
                .present
                .as_ref()
                .map_or(n, |present| present.iter().filter(|there| **there).count());
            let before = (column.kind == kind).then_some(column.values);
            column.values = read_values(&mut reader, form, width, count, before)?;
            column.kind = kind;
        }
        each(&column)?;
    }
    Ok(())
}

fn read_values(
    reader: &mut Reader<'_>,
    form: u8,
    width: usize,
    count: usize,
    before: Option<Vec<i64>>,
) -> Result<Vec<i64>, Fault> {
    let mut values = vec![0; count];
    if form == STEPS {
        let (first, rest) = values
            .split_first_mut()
            .ok_or("a column of a block has steps and no rows")?;
        *first = reader.varint()?;
        let mut value = *first;
        let low = reader.varint()?;
        reader.residuals(width, low, rest)?;
        for step in rest {
            value = value.wrapping_add(*step);
            *step = value;
        }
        return Ok(values);
    }
    let low = reader.varint()?;
    if form == DICTIONARY {
        let mut words = vec![0; usize::from(reader.byte()?) + 1];
        reader.residuals(width, low, &mut words)?;
        for (value, place) in values.iter_mut().zip(reader.take(count)?) {
            let word = words.get(usize::from(*place));
            *value =
                *word.ok_or("a column of a block names a value that its dictionary has not")?;
        }
        return Ok(values);
    }
    reader.residuals(width, low, &mut values)?;
    if form == BESIDE {
        let before = before.filter(|before| before.len() == count);
        let before = before.ok_or("a column of a block is told from another that is not there")?;
        for (value, beside) in values.iter_mut().zip(before) {
            *value = value.wrapping_add(beside);
        }
    }
    Ok(values)
}

/// Bytes as a part: as a frame where that is smaller.
#[pyfunction]
pub(crate) fn pack_bytes<'py>(py: Python<'py>, raw: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &squeeze(raw.to_vec()))
}

/// The bytes that `pack_bytes` was given.
#[pyfunction]
pub(crate) fn unpack_bytes<'py>(py: Python<'py>, part: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let raw = inflate(part).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &raw))
}

/// A part of columns [c, n] of float64, NaN where missing.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn pack_floats<'py>(
    py: Python<'py>,
    columns: PyReadonlyArray2<'py, f64>,
) -> Bound<'py, PyBytes> {
    let columns = columns.as_array();
    let rows = columns.rows().into_iter();
    PyBytes::new(
        py,
        &pack(rows.map(|row| Column::of_floats(row.iter().copied())), true),
    )
}

/// A part of columns [c, n] of int64; `present` [c, n], None = all; `dictionaries`: whether these are tried.
#[pyfunction]
#[pyo3(signature = (columns, present = None, *, dictionaries = true))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn pack_ints<'py>(
    py: Python<'py>,
    columns: PyReadonlyArray2<'py, i64>,
    present: Option<PyReadonlyArray2<'py, bool>>,
    dictionaries: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns = columns.as_array();
    let present = present.as_ref().map(PyReadonlyArray2::as_array);
    if present.is_some_and(|present| present.dim() != columns.dim()) {
        return Err(PyValueError::new_err(
            "columns and what is present of them differ in shape",
        ));
    }
    let rows = columns.rows().into_iter().enumerate().map(|(place, row)| {
        let there = present.and_then(|present| {
            let there = present.row(place);
            (!there.iter().all(|there| *there)).then(|| there.to_vec())
        });
        let values = match &there {
            None => row.to_vec(),
            Some(there) => row
                .iter()
                .zip(there)
                .filter(|(_, there)| **there)
                .map(|(value, _)| *value)
                .collect(),
        };
        Column {
            kind: INTEGER,
            values,
            present: there,
        }
    });
    Ok(PyBytes::new(py, &pack(rows, dictionaries)))
}

/// The columns [c, n] of a part of n rows as float64, NaN where missing.
#[pyfunction]
pub(crate) fn unpack_floats<'py>(
    py: Python<'py>,
    part: &[u8],
    n: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (mut columns, mut numbers) = (0, vec![]);
    read(part, n, |column| {
        columns += 1;
        column.spread(
            n,
            f64::NAN,
            |value| as_float(column.kind, value),
            &mut numbers,
        );
        Ok(())
    })
    .map_err(PyValueError::new_err)?;
    numbers.into_pyarray(py).reshape([columns, n])
}

type Integers<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<bool>>);

/// The columns [c, n] of a part of n integer rows, 0 where missing, and which are present [c, n]; `places`: of these
/// columns alone, ascending.
#[pyfunction]
#[pyo3(signature = (part, n, places = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn unpack_ints<'py>(
    py: Python<'py>,
    part: &[u8],
    n: usize,
    places: Option<Vec<usize>>,
) -> PyResult<Integers<'py>> {
    let (mut place, mut columns, mut numbers, mut there) = (0, 0, vec![], vec![]);
    read(part, n, |column| {
        if column.kind != INTEGER {
            return Err("a part of integers was asked for, this one has fractions");
        }
        place += 1;
        let wanted = |places: &Vec<usize>| places.binary_search(&(place - 1)).is_ok();
        if !places.as_ref().is_none_or(wanted) {
            return Ok(());
        }
        columns += 1;
        column.spread(n, 0, |value| value, &mut numbers);
        match &column.present {
            None => there.resize(columns * n, true),
            Some(present) => there.extend(present),
        }
        Ok(())
    })
    .map_err(PyValueError::new_err)?;
    let shape = [columns, n];
    Ok((
        numbers.into_pyarray(py).reshape(shape)?,
        there.into_pyarray(py).reshape(shape)?,
    ))
}
