//! Packs of heat rows folded by page kind, tier and page size: what `domain/heat/folding.py` makes of single rows.
//!
//! A pack is a line of JSON, one head for each row, then all numbers of all rows as little-endian 64-bit integers whose
//! first bytes come first, then the second ones, and so on (`domain/heat/packs.py`).

use std::collections::BTreeMap;

use numpy::{IntoPyArray as _, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

const LEADING: usize = 4;
/// Validity words hold so many intervals.
const HISTORY_BITS: u32 = 64;
/// Samples count as no more pages than this.
const MOST_PAGES: f64 = (1_u64 << 40) as f64;

/// What is made of a column of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Nothing.
    Left,
    Kinds,
    PageSizes,
    Validity,
    /// Bytes by age: what lies behind a missing interval is moved to `Never`.
    Age,
    Never,
    Sum,
    /// Pages of the sample that a stratum was scaled up from.
    Sample,
    /// A part of resident memory, and the resident memory of which it is known.
    Part,
    /// The same of what is active in huge pages.
    Huge,
}

impl Rule {
    fn read(word: &str) -> PyResult<Self> {
        Ok(match word {
            "" => Self::Left,
            "kinds" => Self::Kinds,
            "page_sizes" => Self::PageSizes,
            "validity" => Self::Validity,
            "age" => Self::Age,
            "never" => Self::Never,
            "sum" => Self::Sum,
            "sample" => Self::Sample,
            "part" => Self::Part,
            "huge" => Self::Huge,
            _ => return Err(PyValueError::new_err(format!("no rule {word:?}"))),
        })
    }

    /// Values of each sum that it makes of a column of `width`.
    fn sums(self, width: usize) -> Vec<usize> {
        match self {
            Self::Age | Self::Never | Self::Sum => vec![width],
            Self::Sample => vec![1],
            Self::Part | Self::Huge => vec![width, 1],
            _ => vec![],
        }
    }
}

struct Column {
    width: usize,
    rule: Rule,
    /// What stands for it in rows that lack it; without it, all rows have it.
    absent: Option<i64>,
    /// Where its first sum stands among all of them.
    sum: usize,
}

/// Folds packs whose columns are those of the contract.
#[pyclass(frozen, module = "tierscope_simcore")]
pub(crate) struct HeatFold {
    columns: Vec<Column>,
    kinds: usize,
    page_sizes: usize,
    validity: usize,
    resident: usize,
    active: usize,
    never: usize,
    edges: Vec<i64>,
    hot_window: usize,
    most_kind: i64,
    small_page_bytes: i64,
    widths: Vec<usize>,
}

type Found<'py> = (
    Bound<'py, PyArray1<i64>>,
    Vec<(i64, String, i64)>,
    Vec<Bound<'py, PyArray1<i64>>>,
    u32,
);

#[pymethods]
impl HeatFold {
    /// `columns`: name, values per stratum, rule and what stands for it, in the order in which rows are packed.
    #[new]
    #[pyo3(signature = (columns, *, edges, hot_window, most_kind, small_page_bytes))]
    fn new(
        columns: Vec<(String, usize, String, Option<i64>)>,
        edges: Vec<i64>,
        hot_window: usize,
        most_kind: i64,
        small_page_bytes: i64,
    ) -> PyResult<Self> {
        let place = |name: &str| {
            columns
                .iter()
                .position(|column| column.0 == name)
                .ok_or_else(|| PyValueError::new_err(format!("no column {name}")))
        };
        let (kinds, page_sizes) = (place("kinds")?, place("page_sizes")?);
        let (validity, resident) = (place("validity")?, place("resident_bytes")?);
        let (age, never) = (place("age_bytes")?, place("never_bytes")?);
        let active = place("active_lo_bytes")?;
        let mut widths = vec![];
        let mut made = vec![];
        for (_, width, rule, absent) in columns {
            let rule = Rule::read(&rule)?;
            made.push(Column {
                width,
                rule,
                absent,
                sum: widths.len(),
            });
            widths.extend(rule.sums(width));
        }
        let bucketed = |place: usize| made[place].width == edges.len();
        if edges.first() != Some(&0)
            || !bucketed(age)
            || !bucketed(never)
            || hot_window >= made[active].width
        {
            return Err(PyValueError::new_err("edges and columns do not agree"));
        }
        Ok(Self {
            columns: made,
            kinds,
            page_sizes,
            validity,
            resident,
            active,
            never,
            edges,
            hot_window,
            most_kind,
            small_page_bytes,
            widths,
        })
    }

    /// Ends of the t intervals, the g groups in order, each sum as `t * g * width` numbers, and the longest run of
    /// valid intervals. None where rows are not in ascending order or not packed as this reads them.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments from Python are owned"
    )]
    fn fold<'py>(&self, py: Python<'py>, bodies: Vec<PyBackedBytes>) -> Option<Found<'py>> {
        let folded = py.detach(|| self.fold_bodies(&bodies))?;
        let sums = folded.sums.into_iter();
        Some((
            folded.ends_us.into_pyarray(py),
            folded.groups,
            sums.map(|values| values.into_pyarray(py)).collect(),
            folded.history,
        ))
    }
}

struct Folded {
    ends_us: Vec<i64>,
    groups: Vec<(i64, String, i64)>,
    sums: Vec<Vec<i64>>,
    history: u32,
}

/// A head: end, boot time, period, duty, groups, tiers, lengths of columns and bits per interval.
#[derive(Deserialize)]
struct Head(
    i64,
    IgnoredAny,
    IgnoredAny,
    IgnoredAny,
    IgnoredAny,
    Vec<String>,
    Vec<i64>,
    #[serde(default = "one")] u32,
);

fn one() -> u32 {
    1
}

/// What rows have in common whose heads end alike.
struct Shape {
    tiers: Vec<usize>,
    /// Where each column begins among the numbers of a row.
    starts: Vec<Option<usize>>,
    numbers: usize,
    bits: u32,
}

/// All rows of some packs.
#[derive(Default)]
struct Rows {
    ends_us: Vec<i64>,
    /// The shape of each.
    shapes: Vec<usize>,
    known: Vec<Shape>,
    tiers: Vec<String>,
    numbers: Vec<i64>,
}

impl HeatFold {
    fn fold_bodies(&self, bodies: &[PyBackedBytes]) -> Option<Folded> {
        let mut rows = Rows::default();
        for body in bodies {
            let cut = body.iter().position(|byte| *byte == b'\n')?;
            let before = rows.numbers.len();
            let wanted = self.read_heads(&body[..cut], &mut rows)?;
            unshuffle(&body[cut + 1..], &mut rows.numbers)?;
            if rows.numbers.len() - before != wanted {
                return None;
            }
        }
        if rows.ends_us.is_empty() || !rows.ends_us.is_sorted_by(|one, next| one < next) {
            return None;
        }
        let (groups, cells) = self.label(&rows);
        Some(self.add_up(rows, groups, &cells))
    }

    /// Adds the rows of a pack; the numbers that they have.
    fn read_heads(&self, text: &[u8], rows: &mut Rows) -> Option<usize> {
        let inner = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
        let (mut at, mut wanted) = (0, 0);
        let mut last: Option<(&[u8], usize)> = None;
        while at < inner.len() {
            let rest = &inner[at..];
            let tail_at = leading_bytes(rest)?;
            let alike = last.filter(|(tail, _)| {
                let after = &rest[tail_at..];
                after.starts_with(tail) && matches!(after.get(tail.len()), None | Some(b','))
            });
            let (end_us, shape, length) = if let Some((tail, shape)) = alike {
                (first_number(rest)?, shape, tail_at + tail.len())
            } else {
                let mut heads = serde_json::Deserializer::from_slice(rest).into_iter::<Head>();
                let head = heads.next()?.ok()?;
                let length = heads.byte_offset();
                let shape = self.shape(&head, rows)?;
                last = Some((rest.get(tail_at..length)?, shape));
                (head.0, shape, length)
            };
            wanted += rows.known[shape].numbers;
            rows.ends_us.push(end_us);
            rows.shapes.push(shape);
            at += length;
            if at < inner.len() {
                if !inner[at..].starts_with(b", ") {
                    return None;
                }
                at += 2;
            }
        }
        Some(wanted)
    }

    /// The number of a head's shape among those that are known.
    fn shape(&self, head: &Head, rows: &mut Rows) -> Option<usize> {
        let Head(_, _, _, _, _, tiers, lengths, bits) = head;
        let mut starts = vec![None; self.columns.len()];
        let mut numbers = 0_usize;
        for (place, length) in lengths.iter().enumerate() {
            let length = usize::try_from(*length).ok();
            if let (Some(column), Some(length)) = (self.columns.get(place), length) {
                if column.rule != Rule::Left && length != tiers.len().checked_mul(column.width)? {
                    return None;
                }
                starts[place] = Some(numbers);
            }
            numbers = numbers.checked_add(length.unwrap_or(0))?;
        }
        let lacks = |(column, start): (&Column, &Option<usize>)| {
            column.rule != Rule::Left && start.is_none() && column.absent.is_none()
        };
        if self.columns.iter().zip(&starts).any(lacks) || *bits == 0 {
            return None;
        }
        let tiers = tiers
            .iter()
            .map(|tier| {
                let found = rows.tiers.iter().position(|known| known == tier);
                found.unwrap_or_else(|| {
                    rows.tiers.push(tier.clone());
                    rows.tiers.len() - 1
                })
            })
            .collect();
        rows.known.push(Shape {
            tiers,
            starts,
            numbers,
            bits: *bits,
        });
        Some(rows.known.len() - 1)
    }

    /// The groups in order, and that of each stratum of each row.
    fn label(&self, rows: &Rows) -> (Vec<(i64, String, i64)>, Vec<usize>) {
        let mut met: Vec<(i64, usize, i64)> = vec![];
        let mut cells = vec![];
        for (shape, numbers) in rows.each() {
            let kinds = self.cells(shape, numbers, self.kinds);
            let sizes = self.cells(shape, numbers, self.page_sizes);
            for (stratum, tier) in shape.tiers.iter().enumerate() {
                let kind = kinds.get(stratum).copied().unwrap_or(0);
                let kind = if (0..=self.most_kind).contains(&kind) {
                    kind
                } else {
                    0
                };
                let group = (kind, *tier, sizes.get(stratum).copied().unwrap_or(0));
                let found = met.iter().position(|known| *known == group);
                cells.push(found.unwrap_or_else(|| {
                    met.push(group);
                    met.len() - 1
                }));
            }
        }
        let ordered: BTreeMap<(i64, &str, i64), usize> = met
            .iter()
            .enumerate()
            .map(|(place, (kind, tier, size))| ((*kind, rows.tiers[*tier].as_str(), *size), place))
            .collect();
        let mut places = vec![0; met.len()];
        for (place, old) in ordered.values().enumerate() {
            places[*old] = place;
        }
        for cell in &mut cells {
            *cell = places[*cell];
        }
        let groups = ordered
            .into_keys()
            .map(|(kind, tier, size)| (kind, tier.to_owned(), size))
            .collect();
        (groups, cells)
    }

    /// The numbers of a column in a row; nothing where the row lacks it.
    fn cells<'row>(&self, shape: &Shape, numbers: &'row [i64], place: usize) -> &'row [i64] {
        shape.starts[place].map_or(&[], |start| {
            &numbers[start..start + shape.tiers.len() * self.columns[place].width]
        })
    }

    fn add_up(&self, rows: Rows, groups: Vec<(i64, String, i64)>, cells: &[usize]) -> Folded {
        let n_cells = rows.ends_us.len() * groups.len();
        let zeros = |width: &usize| vec![0; n_cells * width];
        let mut sums: Vec<Vec<i64>> = self.widths.iter().map(zeros).collect();
        let mut samples = vec![Sample::default(); n_cells];
        let (mut longest, mut bits, mut stratum_at) = (0, 1, 0);
        for (row, (shape, numbers)) in rows.each().enumerate() {
            bits = bits.max(shape.bits);
            for at in 0..shape.tiers.len() {
                let cell = row * groups.len() + cells[stratum_at];
                stratum_at += 1;
                let stratum = Stratum::of(self, shape, numbers, at);
                longest = longest.max(stratum.run);
                self.add_stratum(&stratum, cell, &mut sums, &mut samples);
            }
        }
        for column in &self.columns {
            if column.rule == Rule::Sample {
                sums[column.sum] = samples.iter().map(Sample::pages).collect();
            }
        }
        Folded {
            ends_us: rows.ends_us,
            groups,
            sums,
            history: longest.min(HISTORY_BITS / bits),
        }
    }

    /// Adds a stratum of a row to a cell, column by column.
    fn add_stratum(
        &self,
        stratum: &Stratum<'_>,
        cell: usize,
        sums: &mut [Vec<i64>],
        samples: &mut [Sample],
    ) {
        for (place, column) in self.columns.iter().enumerate() {
            match (column.rule, stratum.values(place, column.width)) {
                (Rule::Sum | Rule::Never, Some(values)) => {
                    add(&mut sums[column.sum], cell, values);
                }
                (Rule::Age, Some(values)) => {
                    let moved = self.file(values, stratum.run, &mut sums[column.sum], cell);
                    let bucket = self.bucket(stratum.run);
                    let never = &mut sums[self.columns[self.never].sum];
                    let cell = &mut never[cell * self.edges.len() + bucket];
                    *cell = cell.wrapping_add(moved);
                }
                (Rule::Sample, values) => {
                    let pages = values.map_or(column.absent.unwrap_or(0), |found| found[0]);
                    samples[cell].take(stratum.resident, pages);
                }
                (Rule::Part, Some(values)) if values.iter().all(|value| *value >= 0) => {
                    add(&mut sums[column.sum], cell, values);
                    add(&mut sums[column.sum + 1], cell, &[stratum.resident]);
                }
                (Rule::Huge, Some(values))
                    if values[0] >= 0 && stratum.page_size > self.small_page_bytes =>
                {
                    add(&mut sums[column.sum], cell, &[stratum.hot]);
                    add(&mut sums[column.sum + 1], cell, values);
                }
                _ => {}
            }
        }
    }

    /// Adds bytes by age as far as the run of valid intervals reaches; the others.
    fn file(&self, values: &[i64], run: u32, sums: &mut [i64], cell: usize) -> i64 {
        let mut moved = 0_i64;
        let out = &mut sums[cell * values.len()..(cell + 1) * values.len()];
        for ((edge, value), sum) in self.edges.iter().zip(values).zip(out) {
            if *edge > i64::from(run) {
                moved = moved.wrapping_add(*value);
            } else {
                *sum = sum.wrapping_add(*value);
            }
        }
        moved
    }

    /// The age bucket that a run of valid intervals is in.
    fn bucket(&self, run: u32) -> usize {
        self.edges
            .partition_point(|edge| *edge <= i64::from(run))
            .saturating_sub(1)
    }
}

/// A stratum of a row, and what more than one rule asks of it.
struct Stratum<'row> {
    shape: &'row Shape,
    numbers: &'row [i64],
    at: usize,
    /// Valid intervals up to the newest one.
    run: u32,
    resident: i64,
    page_size: i64,
    /// Bytes active within the hot window.
    hot: i64,
}

impl<'row> Stratum<'row> {
    fn of(fold: &HeatFold, shape: &'row Shape, numbers: &'row [i64], at: usize) -> Self {
        let cells = |place| fold.cells(shape, numbers, place);
        Self {
            shape,
            numbers,
            at,
            run: (!cells(fold.validity)[at]).trailing_zeros(),
            resident: cells(fold.resident)[at],
            page_size: cells(fold.page_sizes).get(at).copied().unwrap_or(0),
            hot: cells(fold.active)[at * fold.columns[fold.active].width + fold.hot_window],
        }
    }

    /// Its numbers of a column; None where the row lacks the column.
    fn values(&self, place: usize, width: usize) -> Option<&'row [i64]> {
        let first = self.shape.starts[place]? + self.at * width;
        Some(&self.numbers[first..first + width])
    }
}

impl Rows {
    /// Shape and numbers of each row.
    fn each(&self) -> impl Iterator<Item = (&Shape, &[i64])> {
        let mut at = 0;
        self.shapes.iter().map(move |shape| {
            let shape = &self.known[*shape];
            let first = at;
            at += shape.numbers;
            (shape, &self.numbers[first..at])
        })
    }
}

fn add(sums: &mut [i64], cell: usize, values: &[i64]) {
    let width = values.len();
    for (sum, value) in sums[cell * width..(cell + 1) * width]
        .iter_mut()
        .zip(values)
    {
        *sum = sum.wrapping_add(*value);
    }
}

/// The sample that a cell's strata were scaled up from together: Kish's effective size.
#[derive(Clone, Default)]
struct Sample {
    whole: f64,
    variance: f64,
}

impl Sample {
    fn take(&mut self, resident: i64, pages: i64) {
        let weight = resident as f64;
        self.whole += weight;
        if pages > 0 {
            self.variance += weight * weight / pages as f64;
        }
    }

    /// 0 where every page was looked at; a sampled cell has one page at least.
    fn pages(&self) -> i64 {
        if self.variance > 0.0 {
            let size = (self.whole * self.whole / self.variance).min(MOST_PAGES);
            size.round_ties_even().max(1.0) as i64
        } else {
            0
        }
    }
}

/// The bytes before a head's fifth value: numbers and nulls, in which no comma stands.
fn leading_bytes(text: &[u8]) -> Option<usize> {
    let mut commas = text
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b',')
        .map(|(place, _)| place);
    commas.nth(LEADING - 1)
}

/// The integer that a head begins with.
fn first_number(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"[")?;
    let end = digits.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn unshuffle(raw: &[u8], out: &mut Vec<i64>) -> Option<()> {
    let count = raw.len() / 8;
    if !raw.len().is_multiple_of(8) {
        return None;
    }
    let first = out.len();
    out.resize(first + count, 0);
    let mut planes = [&raw[..0]; 8];
    for (place, plane) in planes.iter_mut().enumerate() {
        *plane = &raw[place * count..(place + 1) * count];
    }
    for (at, value) in out[first..].iter_mut().enumerate() {
        *value = i64::from_le_bytes(std::array::from_fn(|place| planes[place][at]));
    }
    Some(())
}
