//! The commands of the program, one module each: `bench` runs experiments and shows their results,
//! `probe` measures the machine's memory.

pub mod bench;
pub mod probe;
