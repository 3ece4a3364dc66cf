//! The rules, a file each. Each returns its violations with their place, the broken rule, and the
//! way out.
//!
//! - `commits`: subjects of at most 72 columns, and a body.
//! - `file_sizes`: at most 500 lines.
//! - `module_heads`: a head names the modules below it, and nothing that does not exist.
//! - `rooms`: arrows between the rooms of a crate point down.
//! - `unsafe_code`: a crate without it forbids it.

pub mod commits;
mod file_sizes;
mod module_heads;
mod rooms;
mod unsafe_code;

pub use file_sizes::long_files;
pub use module_heads::{missing_children, unknown_names};
pub use rooms::upward_arrows;
pub use unsafe_code::crates_that_do_not_forbid_it;
