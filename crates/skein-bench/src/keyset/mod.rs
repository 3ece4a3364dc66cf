//! Key sets: which keys an index holds.

mod keys;
mod random;

pub use keys::Keys;
pub use random::{Random, mix};
