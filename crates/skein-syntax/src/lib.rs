//! How the ordered commands (`SK.RANGE` and its like) are written, for whoever answers or sends them.
//!
//! ```text
//!   SK.RANGE  min max          [REV] [LIMIT n] [NOVALUES | COLUMNS n name...] [SNAPSHOT]
//!             └ Range::parse   └ RangeOptions::parse
//!   SK.PREFIX prefix           ...
//!             └ Range::with_prefix
//! ```
//!
//! The server and the module for Redis and Valkey read requests by this, so that both take the same words and answer the same errors.

mod mistake;
pub mod number;
mod options;
mod range;
pub mod slots;

pub use mistake::Mistake;
pub use options::{RangeOptions, Shown};
pub use range::Range;
