//! Rules of Redis that replies depend on, without a server: patterns, arithmetic and random draws.
//!
//! `glob` matches patterns. `long_double` adds decimal numbers as INCRBYFLOAT does, `hyperloglog` counts
//! distinct elements, and `geo` encodes places. `random` draws elements.

pub(crate) mod geo;
pub(crate) mod glob;
pub(crate) mod hyperloglog;
pub(crate) mod long_double;
pub(crate) mod random;
