//! The subcommands, one module each:
//!
//! - Serve: `serve`, and `config` (its configuration file).
//! - Read a server or a folder: `range`, `count`, `stats`, `dump`.
//! - Write one: `load`, `copy`.
//! - Maintain a folder: `check`, `compact`.
//! - `external` starts the subcommands of another program, `skein bench` and `skein probe`.

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
