//! DAMON
