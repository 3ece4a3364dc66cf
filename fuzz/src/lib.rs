//! Sequences of commands, a model that returns the expected replies, and a server that is checked
//! against it.
//!
//! Read `call` first (the commands), then `model`, then `served`.

mod call;
mod model;
mod served;

pub use call::{FuzzCommand, FuzzSequence, FuzzStep};
pub use model::FuzzModel;
pub use served::CheckedServer;
