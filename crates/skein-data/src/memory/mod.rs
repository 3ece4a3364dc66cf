//! The engine in memory, as sessions and open batches use it: `skein-store`, whose reads do not
//! fail.
//!
//! Read `session` (the current keys), then `batch` (the keys with the writes of an open batch).

mod batch;
mod session;

pub(crate) use batch::MemoryBatch;
pub(crate) use session::MemorySession;
