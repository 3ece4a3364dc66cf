//! Lua 5.1 scripts as Redis runs them: EVAL and its relatives, and the functions of FCALL.
//!
//! ```text
//!   source ─► ScriptHead (flags of the first line) ─► ScriptEngine: compiled once, by its digest
//!
//!   run:   KEYS, ARGV ─► Lua ─► redis.call ─► ScriptHost::call ─► reply (RESP) ─► Lua values
//!                         │                                                          │
//!                         └◄─────────────────────────────────────────────────────────┘
//!          returned value or error ─► ReplySink
//!
//!   source ─► load_library: the code runs once and calls redis.register_function
//!               └─► call_function: runs one of its functions as a script runs
//! ```
//!
//! An engine is one Lua state. It belongs to one thread, and runs one script at a time. It does not
//! depend on a server: a [`ScriptHost`] runs the commands, and a [`ReplySink`] encodes the result.
//!
//! # What a script can do
//! 1. It reaches the libraries of the sandbox (`sandbox.lua`) and nothing else: no files, no
//!    processes, no clock, no compiled chunks, no `debug`.
//! 2. It leaves nothing behind: globals and libraries cannot be changed, so the next script finds
//!    the same state. (Local variables of a library of functions outlive a call, as in Redis.)
//! 3. It ends: every 100,000 instructions [`ScriptHost::tick`] may stop it, and no `pcall` of the
//!    script survives that. Functions that take long count their work as instructions (the crate
//!    `skein-lua`), and so does the compiler. Encoders, decoders and the conversion of replies
//!    count theirs (`work_meter`).
//! 4. Its memory has a limit ([`ScriptEngine::new`]), buffers of encoders included. Once it has
//!    written, it has a reserve ([`WRITTEN_RESERVE`]).
//! 5. Its reply has a limit ([`ReplySink::admits`]).
//!
//! Read in this order:
//!
//! - A script: `head` (the flags of its first line), `digest`, `compile`, `compiled_scripts` (the
//!   cache).
//! - A run: this file, `engine`, `host` (the two traits that a server implements), `run_state`,
//!   `kept_values` (functions that outlive it), `memory` and `work_meter` (its limits).
//! - The sandbox: `sandbox.lua`, `redis_library`, `command_calls`, `function_library`, `patterns`,
//!   `libraries`, `failure` (errors that a script sees).
//! - Values: `stack` (raw access to Lua's), `reply_values` (replies to Lua), `returned_values` (Lua
//!   to a reply).
//!
//! Source: Redis's documentation of
//! [scripts](https://redis.io/docs/latest/develop/programmability/lua-api/). Design:
//! `docs/design/server.md`.

mod command_calls;
mod compile;
mod compiled_scripts;
mod digest;
mod engine;
mod failure;
mod function_library;
mod head;
mod host;
mod kept_values;
// Public for their tests, which need no engine.
pub mod libraries;
mod memory;
mod patterns;
mod redis_library;
mod reply_values;
mod returned_values;
mod run_state;
mod stack;
mod work_meter;

pub use digest::ScriptDigest;
pub use engine::{STACK_SIZE, ScriptEngine, ScriptError};
pub use function_library::{FunctionFlags, LibraryError, RegisteredFunction};
pub use head::{ScriptFlags, ScriptHead, ScriptHeadError};
pub use host::{ReplySink, RespVersion, ScriptHost, ScriptLogLevel, Stop};
pub use memory::WRITTEN_RESERVE;
