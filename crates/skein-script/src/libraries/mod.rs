//! The libraries of scripts that Lua itself does not have: `bit`, `struct`, `cjson`, `cmsgpack`.
//!
//! ```text
//!  bit        struct_format     json: cjson          msgpack: cmsgpack
//!             pack, unpack      encode, decode       pack, unpack
//!   │              │                │ options             │
//!   ├──────────────┼────────────────┼─────────────────────┤
//!   │   arguments: the checks of Lua's auxiliary library  │
//!   │   errors:    texts with the position of the caller  │
//!   ├────────────────────────────────┬────────────────────┤
//!   │   number: C's conversions      │ stack: tables, raw │
//!   └────────────────────────────────┴────────────────────┘
//! ```
//!
//! `random` stands beside them: it replaces two functions of Lua's own `math`, so that a seed gives
//! Redis's sequence.
//!
//! Each module makes the table of one library. The libraries behave as those of Redis 7.0.15 under
//! the same names, in results, error texts and limits. `tests/libraries` compares them with
//! recorded results. Errors are [`mlua::Error::RuntimeError`] with the text that Redis has.
//!
//! Invariants:
//!
//! 1. No input panics, and no input recurses: nested values are on a heap-allocated list of frames.
//! 2. Decoders allocate in proportion to the input, not to a length that the input claims.
//! 3. Encoders stop at [`MAX_ENCODED_BYTES`], because tables may contain a table many times. Their
//!    buffers count toward the memory limit of the script (`encoded_bytes`).
//! 4. The host may stop a script in the middle of a call: encoders and decoders count their work
//!    (`work_meter`).

#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "numbers of scripts are doubles, and the formats cut them off"
)]

pub mod bit;
pub mod json;
pub mod msgpack;
pub mod number;
pub mod struct_format;

pub(crate) mod errors;

mod arguments;
mod encoded_bytes;
pub(crate) mod random;

/// The greatest length of an encoded value: that of a string in Redis, 512 MiB.
pub const MAX_ENCODED_BYTES: usize = 512 << 20;

/// The slots of Lua's stack that a function may have. Its arguments and results share them, and
/// mlua takes one of those that a function of C has.
const STACK_SLOTS: usize = 7999;

/// Returns the text of the error about a value of more than `limit` bytes.
fn too_long(limit: usize) -> String {
    format!("cannot encode a value of more than {limit} bytes: encode its parts one by one")
}
