//! Samples as Prometheus sends and asks for them: its remote-write and remote-read protocols, the bodies in which
//! series are kept, and rows of kernel counters made of them. No I/O, no clock.

pub mod body;
pub mod fold;
mod index;
mod labels;
mod message;
pub mod read;
pub mod request;
mod varint;

pub use body::{Body, BodyError, Sample};
pub use index::{Index, SeriesRef};
pub use labels::Labels;
pub use request::{Limits, Refusals, Request, Unreadable};
