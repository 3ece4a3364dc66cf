//! The scripts that a server has: `script_cache` those of EVAL, and `functions` the libraries of FCALL.

pub(crate) mod functions;
pub(crate) mod script_cache;

/// Code that a client runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptSort {
    /// EVAL and its relatives.
    Script,
    /// `FCALL` and `FCALL_RO`.
    Function,
}
