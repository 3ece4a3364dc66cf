//! Cache lines of the processor: their length and values with their own lines (`line`), and
//! `prefetch`.

mod line;
mod prefetch;

pub use line::{CACHE_LINE, CachePadded};
pub use prefetch::{prefetch_lines, prefetch_read};
