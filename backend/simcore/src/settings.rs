//! Numbers by name, as Python gives them.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Numbers by name. What a simulation needs must be there.
pub(crate) struct Settings<'a>(pub(crate) &'a HashMap<String, f64>);

impl Settings<'_> {
    pub(crate) fn number(&self, name: &str) -> PyResult<f64> {
        let missing = || PyValueError::new_err(format!("the setting {name} is missing"));
        self.0.get(name).copied().ok_or_else(missing)
    }

    pub(crate) fn count(&self, name: &str) -> PyResult<u64> {
        let value = self.number(name)?;
        if (0.0..=2f64.powi(60)).contains(&value) {
            Ok(value as u64)
        } else {
            Err(PyValueError::new_err(format!(
                "{name} is {value}; a number from 0 to 2^60 is needed"
            )))
        }
    }

    pub(crate) fn weight(&self, name: &str) -> PyResult<u32> {
        u32::try_from(self.count(name)?)
            .map_err(|_| PyValueError::new_err(format!("{name} is too large")))
    }

    pub(crate) fn is_on(&self, name: &str) -> PyResult<bool> {
        Ok(self.number(name)? != 0.0)
    }
}
