//! The libraries of scripts that Lua itself does not have: `bit`, `struct`, `cjson`, `cmsgpack`.
//!
//! Each file makes the table of one library. They behave as the libraries that Redis 7.0 has under
//! these names; `tests/libraries` compares their results with recorded ones.

