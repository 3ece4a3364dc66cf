//! The subcommands, one module each.

pub mod check;
pub mod compact;
pub mod config;
pub mod copy;
pub mod count;
pub mod dump;
pub mod external;
pub mod load;
pub mod range;
pub mod serve;
pub mod stats;
