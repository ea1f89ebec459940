//! Values of the columns that rows of heat may lack.

/// A value of such a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnValue<'a> {
    /// Of a column with one number per row.
    One(i64),
    /// Of a column with several.
    Several(&'a [i64]),
}

/// Numbers of a column that add up.
pub(crate) trait Sum: Sized {
    fn sum(self, other: Self) -> Self;
}

impl Sum for i64 {
    fn sum(self, other: Self) -> Self {
        self + other
    }
}

impl<const N: usize> Sum for [i64; N] {
    fn sum(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
}

/// The sum of both; `None` where one of them is not known.
pub(crate) fn plus<T: Sum>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.zip(other).map(|(one, other)| one.sum(other))
}
