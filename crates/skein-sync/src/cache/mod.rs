//! Cache lines of the processor: their length, values with their own lines, and prefetch.

mod line;
mod prefetch;

pub use line::{CACHE_LINE, CachePadded};
pub use prefetch::{prefetch_lines, prefetch_read};
