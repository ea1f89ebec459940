//! Hosts that are not this one: recordings sent as one host (`replay`), and a simulated fleet that plays them for ever
//! (`fleet`).

pub mod recording;
pub mod replay;
pub mod simulated;
