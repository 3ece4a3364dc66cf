//! What knows of the processor's caches: the length of a line, values with lines of their own, prefetch.

mod line;
mod prefetch;

pub use line::{CACHE_LINE, CachePadded};
pub use prefetch::{prefetch_lines, prefetch_read};
