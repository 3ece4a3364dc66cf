//! Sequences of commands, a model that returns the expected replies, and a server that is checked
//! against it; and generated scripts.
//!
//! Read `call` first (the commands), then `model`, then `served`. `script` stands alone.

mod call;
mod model;
mod script;
mod served;

pub use call::{FuzzCommand, FuzzSequence, FuzzStep};
pub use model::FuzzModel;
pub use script::{GeneratedScript, Operand, Step, run_script};
pub use served::CheckedServer;
