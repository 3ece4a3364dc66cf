//! The scripts that a server has: `script_cache` those of EVAL, and `functions` the libraries of FCALL.

pub(crate) mod functions;
pub(crate) mod script_cache;
