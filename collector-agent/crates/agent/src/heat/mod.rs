//! Heat of the listed processes: the back ends that can measure it, and what they share.
//!
//! One back end measures at a time: the best one that the host allows and the owner's settings name
//! ([`crate::ladder`]). Each one folds what it saw once per interval.

pub(crate) mod backend;
pub(crate) mod referenced;

use crate::ladder::Offer;

/// The back ends of this program. One is added by its line here and its entry in [`crate::collectors`].
pub(crate) const OFFERS: &[Offer] = &[Offer {
    name: referenced::NAME,
    probe: referenced::probe,
    make: referenced::make,
}];
