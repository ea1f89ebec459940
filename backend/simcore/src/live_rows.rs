//! Rows for binary COPY, from columns of many entries: what a batch of an agent becomes in the live tables.
//!
//! A row is its number of fields (i16), then each field as its length (i32, -1 = null) and its bytes, all big-endian. An
//! array field holds dimensions, whether it has nulls, element type, length and lower bound (i32 each), then each element
//! as length and bytes.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

const INT2: i32 = 21;
const INT4: i32 = 23;
const INT8: i32 = 20;
const TEXT: i32 = 25;
const NULL: [u8; 4] = (-1_i32).to_be_bytes();
const ARRAY_HEADER_BYTES: usize = 20;

/// A field of all rows, or one of each.
enum Field<'py> {
    /// The same encoded field in every row.
    Same(Vec<u8>),
    /// An encoded field for each row.
    Each(Vec<Vec<u8>>),
    /// An array of integers of so many bytes.
    Integers(PyReadonlyArrayDyn<'py, i64>, usize),
    /// An array of texts.
    Texts(Vec<String>),
}

impl<'py> Field<'py> {
    fn read(given: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let (kind, value): (String, Bound<'py, PyAny>) = given.extract()?;
        Ok(match kind.as_str() {
            "same" => Self::Same(value.extract()?),
            "each" => Self::Each(value.extract()?),
            "int2" => Self::Integers(value.extract()?, 2),
            "int4" => Self::Integers(value.extract()?, 4),
            "int8" => Self::Integers(value.extract()?, 8),
            "text" => Self::Texts(value.extract()?),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "no field of the kind {kind:?}"
                )));
            }
        })
    }
}

/// Rows that each take some entries of the columns: `groups` has the places of their entries.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn grouped_rows<'py>(
    py: Python<'py>,
    groups: Vec<Vec<usize>>,
    fields: Vec<Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let fields = fields
        .iter()
        .map(Field::read)
        .collect::<PyResult<Vec<_>>>()?;
    let mut out = Vec::new();
    for (row, places) in groups.iter().enumerate() {
        put_count(&mut out, fields.len())?;
        for field in &fields {
            match field {
                Field::Same(bytes) => out.extend_from_slice(bytes),
                Field::Each(rows) => out.extend_from_slice(rows.get(row).ok_or_else(too_few)?),
                Field::Integers(column, bytes) => put_integers(&mut out, column, places, *bytes)?,
                Field::Texts(texts) => put_texts(&mut out, texts, places)?,
            }
        }
    }
    Ok(PyBytes::new(py, &out))
}

fn too_few() -> PyErr {
    PyValueError::new_err("a column has fewer entries than a row asks for")
}

fn put_count(out: &mut Vec<u8>, fields: usize) -> PyResult<()> {
    let count = i16::try_from(fields).map_err(|_| PyValueError::new_err("too many fields"))?;
    out.extend_from_slice(&count.to_be_bytes());
    Ok(())
}

fn put_int(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A length of the stream; COPY takes fields below 1 GiB.
fn length(bytes: usize) -> PyResult<i32> {
    i32::try_from(bytes).map_err(|_| PyValueError::new_err("a field of more than 2 GiB"))
}

fn put_array_header(
    out: &mut Vec<u8>,
    body_bytes: usize,
    has_nulls: bool,
    element: i32,
    count: usize,
) -> PyResult<()> {
    if count == 0 {
        for value in [12, 0, 0, element] {
            put_int(out, value);
        }
        return Ok(());
    }
    let field_bytes = length(ARRAY_HEADER_BYTES + body_bytes)?;
    for value in [
        field_bytes,
        1,
        i32::from(has_nulls),
        element,
        length(count)?,
        1,
    ] {
        put_int(out, value);
    }
    Ok(())
}

fn put_integers(
    out: &mut Vec<u8>,
    column: &PyReadonlyArrayDyn<'_, i64>,
    places: &[usize],
    bytes: usize,
) -> PyResult<()> {
    let values = column
        .as_slice()
        .map_err(|_| PyValueError::new_err("a column is not contiguous"))?;
    let entries = column.shape().first().copied().unwrap_or(0);
    let width = values.len().checked_div(entries).unwrap_or(0);
    let count = places.len() * width;
    let element = match bytes {
        2 => INT2,
        4 => INT4,
        _ => INT8,
    };
    put_array_header(out, count * (4 + bytes), false, element, count)?;
    out.reserve(count * (4 + bytes));
    for place in places {
        let start = place * width;
        for value in values.get(start..start + width).ok_or_else(too_few)? {
            put_int(out, bytes as i32);
            // Fits, as was checked when the batch was read.
            out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
        }
    }
    Ok(())
}

fn put_texts(out: &mut Vec<u8>, texts: &[String], places: &[usize]) -> PyResult<()> {
    let chosen = places
        .iter()
        .map(|place| texts.get(*place).ok_or_else(too_few))
        .collect::<PyResult<Vec<_>>>()?;
    let body_bytes = chosen.iter().map(|text| 4 + text.len()).sum();
    put_array_header(out, body_bytes, false, TEXT, chosen.len())?;
    for text in chosen {
        put_int(out, length(text.len())?);
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}

/// A fixed field of every row: null, or one integer for each.
enum Leading {
    Null,
    Int2(Vec<i16>),
    Int8(Vec<i64>),
}

impl Leading {
    fn read(given: Option<Bound<'_, PyAny>>, rows: usize) -> PyResult<Self> {
        let Some(given) = given else {
            return Ok(Self::Null);
        };
        let (found, count) = if let Ok(column) = given.extract::<PyReadonlyArray1<'_, i64>>() {
            (Self::Int8(column.as_array().to_vec()), column.len())
        } else {
            let column: PyReadonlyArray1<'_, i16> = given.extract()?;
            (Self::Int2(column.as_array().to_vec()), column.len())
        };
        if count == rows {
            Ok(found)
        } else {
            Err(too_few())
        }
    }

    fn put(&self, out: &mut Vec<u8>, row: usize) {
        match self {
            Self::Null => out.extend_from_slice(&NULL),
            Self::Int2(values) => {
                put_int(out, 2);
                out.extend_from_slice(&values[row].to_be_bytes());
            }
            Self::Int8(values) => {
                put_int(out, 8);
                out.extend_from_slice(&values[row].to_be_bytes());
            }
        }
    }
}

/// Rows of fixed fields followed by one bigint[] each; an element that is not present is null.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are owned"
)]
pub(crate) fn int8_matrix_rows<'py>(
    py: Python<'py>,
    leading: Vec<Option<Bound<'py, PyAny>>>,
    values: PyReadonlyArray2<'py, i64>,
    present: Option<PyReadonlyArray2<'py, bool>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let [rows, width] = *values.shape() else {
        return Err(too_few());
    };
    if present
        .as_ref()
        .is_some_and(|present| present.shape() != [rows, width])
    {
        return Err(too_few());
    }
    let leading = leading
        .into_iter()
        .map(|column| Leading::read(column, rows))
        .collect::<PyResult<Vec<_>>>()?;
    let contiguous = |_| PyValueError::new_err("a matrix is not contiguous");
    let cells = values.as_slice().map_err(contiguous)?;
    let there = present
        .as_ref()
        .map(|present| present.as_slice().map_err(contiguous))
        .transpose()?;
    let out = py.detach(|| encode_matrix(&leading, cells, there, (rows, width)))?;
    Ok(PyBytes::new(py, &out))
}

fn encode_matrix(
    leading: &[Leading],
    cells: &[i64],
    there: Option<&[bool]>,
    (rows, width): (usize, usize),
) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(rows * (64 + 12 * leading.len() + 12 * width));
    for row in 0..rows {
        let span = row * width..(row + 1) * width;
        let there = there.map(|there| &there[span.clone()]);
        let missing = there.map_or(0, |there| {
            there.iter().filter(|is_there| !**is_there).count()
        });
        put_count(&mut out, leading.len() + 1)?;
        for column in leading {
            column.put(&mut out, row);
        }
        put_array_header(&mut out, 12 * width - 8 * missing, missing > 0, INT8, width)?;
        for (place, value) in cells[span].iter().enumerate() {
            if there.is_none_or(|there| there[place]) {
                put_int(&mut out, 8);
                out.extend_from_slice(&value.to_be_bytes());
            } else {
                out.extend_from_slice(&NULL);
            }
        }
    }
    Ok(out)
}
