//! Lua scripts of the server.

mod libraries;
