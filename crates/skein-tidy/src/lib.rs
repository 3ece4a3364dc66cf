//! Habits of the project as tests: a habit that nothing checks is soon forgotten.
//!
//! A rule reads the text of the sources and returns its violations, a line each, with the way out.
//! `tests/repository.rs` runs every rule on this repository. The unit tests of a rule show that it
//! notices violations.
//!
//! - `source_tree`: the files of the repository.
//! - `module`: the head of a file, and the modules that it declares.
//! - `rules`: one file for each rule.
//!
//! Functions of more than 70 lines are the business of Clippy (`clippy.toml`), paths in documents
//! that of `skein-cli/tests/e2e/documents.rs`.

#![forbid(unsafe_code)]

mod module;
pub mod rules;
mod source_tree;

pub use source_tree::SourceTree;
