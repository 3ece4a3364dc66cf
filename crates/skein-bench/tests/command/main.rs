//! The program `skein-bench`, as `skein bench` and `skein probe` start it. One test program, so
//! that it is linked once.

mod bench;
mod bitbase;
mod cells;
mod common;
mod cuckoo;
mod families;
mod mlpindex;
#[path = "../../../skein-cli/tests/e2e/outcome.rs"]
mod outcome;
mod probe;
mod wormhole;
