//! Sequences of commands, a model that says what each must answer, and a server that is held to it.

mod call;
mod model;
mod served;

pub use call::{Call, Step};
pub use model::Model;
pub use served::Served;
