//! Sequences of commands, a model that says what each must answer, and a server that is held to it.

mod call;
mod model;
mod served;

pub use call::{FuzzCommand, FuzzStep};
pub use model::FuzzModel;
pub use served::CheckedServer;
