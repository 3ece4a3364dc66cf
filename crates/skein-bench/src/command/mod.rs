//! The commands of the program, one module each.

pub mod bench;
pub mod probe;
