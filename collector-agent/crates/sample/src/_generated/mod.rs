//! Tables written by `contract/gen_catalogue.py` from `contract/metrics`.

pub(crate) mod catalogue;
