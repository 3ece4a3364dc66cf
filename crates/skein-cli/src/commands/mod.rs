//! The subcommands, one module each.

pub mod bench;
pub mod check;
pub mod compact;
pub mod config;
pub mod copy;
pub mod count;
pub mod dump;
pub mod load;
pub mod probe;
pub mod range;
pub mod serve;
pub mod stats;
