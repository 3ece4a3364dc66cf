//! The grammar of the ordered commands (`SK.RANGE` and its relatives).
//!
//! ```text
//!   SK.RANGE  min max             [REV] [LIMIT n] [NOVALUES | COLUMNS n name...] [SNAPSHOT]
//!             └ KeyRange::parse   └ RangeOptions::parse
//!   SK.PREFIX prefix              ...
//!             └ KeyRange::with_prefix
//! ```
//!
//! `range` has the bounds, `options` the words behind them, and `syntax_error` the mistakes in
//! both. [`slots`] has the hash slots of a cluster.
//!
//! The server and the module for Redis and Valkey parse requests with this crate, so both accept
//! the same words and return the same errors. [`number`] is the one parser of integers: the store
//! and the disk engine parse counters with it, too.

#![forbid(unsafe_code)]

pub mod number;
mod options;
mod range;
pub mod slots;
mod syntax_error;

pub use options::{RangeMoment, RangeOptions, RangeProjection};
pub use range::KeyRange;
pub use syntax_error::SyntaxError;
