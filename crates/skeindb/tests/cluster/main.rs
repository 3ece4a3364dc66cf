//! The cluster's client against nodes that do the worst that the contract of a page allows.
//!
//! The nodes are threads of the test (`fake`), so a test decides about the events between two
//! pages.

mod fake;
mod ranges;
mod routes;
