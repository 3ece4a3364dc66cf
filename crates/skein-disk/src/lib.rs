//! The disk engine: persistent tries on a page buffer manager, for data larger than memory.
#![expect(dead_code, reason = "the store that uses the tries is not there yet")]

mod buffer;
mod catalog;
mod error;
mod page;
mod page_file;
mod policy;
mod record;
mod trie;

pub use error::{DiskError, Result};
pub use page_file::Reading;
pub use policy::Policy;
