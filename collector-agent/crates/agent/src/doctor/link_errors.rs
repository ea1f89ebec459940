//! Whether errors of links rise: totals since boot alone do not say when they happened.

use std::collections::BTreeMap;

use tierscope_sysfs::cxl;

/// Looks after which the totals of that time are the new base: about an hour, one look a minute.
const LOOKS_PER_BASE: u32 = 60;

/// Totals by device as of some looks ago.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkErrors {
    base: BTreeMap<String, u64>,
    looks: u32,
}

impl LinkErrors {
    /// Takes note of the totals; the devices whose errors rose since the base, and by how many.
    pub(crate) fn look(&mut self, devices: &[cxl::Memory]) -> Vec<(String, u64)> {
        let totals: BTreeMap<String, u64> = devices
            .iter()
            .filter_map(|device| Some((device.name.clone(), total(device.pci.as_ref()?.errors)?)))
            .collect();
        let risen = totals
            .iter()
            .filter_map(|(name, total)| {
                // A device that came later, or was reset, starts anew.
                let more = total.checked_sub(*self.base.get(name)?)?;
                (more > 0).then(|| (name.clone(), more))
            })
            .collect();
        if self.looks == 0 {
            self.base = totals;
        }
        self.looks = (self.looks + 1) % LOOKS_PER_BASE;
        risen
    }
}

/// All errors together; `None` where the device reports none of the three.
fn total(errors: cxl::Errors) -> Option<u64> {
    let counts = [errors.correctable, errors.nonfatal, errors.fatal];
    let known: Vec<u64> = counts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, correctable: Option<u64>) -> cxl::Memory {
        cxl::Memory {
            name: name.to_owned(),
            pci: Some(cxl::Pci {
                errors: cxl::Errors {
                    correctable,
                    ..cxl::Errors::default()
                },
                ..cxl::Pci::default()
            }),
            ..cxl::Memory::default()
        }
    }

    #[test]
    fn only_errors_that_came_while_watching_count() {
        let mut errors = LinkErrors::default();
        let look = |errors: &mut LinkErrors, count| {
            errors.look(&[device("mem0", Some(count)), device("mem1", None)])
        };
        assert_eq!(look(&mut errors, 500), []);
        assert_eq!(look(&mut errors, 500), []);
        assert_eq!(look(&mut errors, 503), [("mem0".to_owned(), 3)]);
        for _ in 3..LOOKS_PER_BASE {
            look(&mut errors, 503);
        }
        // The next hour begins: what rose before is no news any more.
        look(&mut errors, 503);
        assert_eq!(look(&mut errors, 503), []);
    }
}
