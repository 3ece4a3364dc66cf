//! Tries.
mod node;
mod overflow;
mod symbols;
