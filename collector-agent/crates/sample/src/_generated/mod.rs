//! Tables written by `contract/gen.py`.

pub(crate) mod advice;
pub(crate) mod catalogue;
pub(crate) mod heat_columns;
