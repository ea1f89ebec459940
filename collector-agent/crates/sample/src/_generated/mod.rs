//! Tables written by `contract/gen.py`.

pub(crate) mod catalogue;
pub(crate) mod heat_columns;
