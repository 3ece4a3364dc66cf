//! The subcommands, one module each.

pub mod bench;
pub mod check;
pub mod compact;
pub mod dump;
pub mod load;
pub mod probe;
pub mod serve;
pub mod stats;
