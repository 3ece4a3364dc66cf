//! The library `redis`: commands, replies, and questions to the server.

#![expect(clippy::needless_pass_by_value, reason = "the functions of the library have one signature")]

use std::rc::Rc;

use mlua::{Lua, MultiValue, Table, Value};

use crate::ScriptDigest;
use crate::command_calls;
use crate::failure::fault;
use crate::host::{RespVersion, ScriptLogLevel};
use crate::run_state::RunState;

/// The version of Redis that scripts see: that of the commands which SkeinDB has.
const VERSION: &str = "7.0.15";
const VERSION_NUMBER: u32 = 0x0007_000f;

/// The bytes of a text that a script logs. The rest is cut off.
const LOG_TEXT_MAX: usize = 64 << 10;

/// The error of the library if a script has no host. No script can notice it.
fn no_host() -> mlua::Error {
    fault("there is no server behind this script")
}

/// Makes the library's table.
pub(crate) fn table(lua: &Lua, state: &Rc<RunState>) -> mlua::Result<Table> {
    let redis = lua.create_table()?;
    let add = |name: &str, function: fn(&Lua, &RunState, MultiValue) -> mlua::Result<Value>| {
        let state = Rc::clone(state);
        let function = lua.create_function(move |lua, arguments| function(lua, &state, arguments))?;
        redis.raw_set(name, function)
    };
    redis.raw_set("call", command_calls::function(lua, state, command_calls::call)?)?;
    redis.raw_set("pcall", command_calls::function(lua, state, command_calls::pcall)?)?;
    redis.raw_set("acl_check_cmd", command_calls::function(lua, state, command_calls::acl_check_cmd)?)?;
    add("error_reply", error_reply)?;
    add("status_reply", status_reply)?;
    add("sha1hex", sha1hex)?;
    add("log", log)?;
    add("setresp", setresp)?;
    add("set_repl", set_repl)?;
    // Scripts are always replicated by their effects, and there is no debugger.
    add("replicate_commands", |_, _, _| Ok(Value::Boolean(true)))?;
    add("breakpoint", |_, _, _| Ok(Value::Boolean(false)))?;
    add("debug", |_, _, _| Ok(Value::Nil))?;
    for (name, number) in [
        ("LOG_DEBUG", 0),
        ("LOG_VERBOSE", 1),
        ("LOG_NOTICE", 2),
        ("LOG_WARNING", 3),
        ("REPL_NONE", 0),
        ("REPL_AOF", 1),
        ("REPL_REPLICA", 2),
        ("REPL_SLAVE", 2),
        ("REPL_ALL", 3),
        ("REDIS_VERSION_NUM", VERSION_NUMBER),
    ] {
        redis.raw_set(name, number)?;
    }
    redis.raw_set("REDIS_VERSION", VERSION)?;
    Ok(redis)
}

/// Returns the number of an argument, which may be a string of digits.
fn number(lua: &Lua, argument: Option<Value>) -> Option<f64> {
    lua.coerce_number(argument?).ok().flatten()
}

/// Returns a table with one field, from a function's only argument.
fn reply_table(lua: &Lua, field: &str, text: &[u8]) -> mlua::Result<Value> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(field, lua.create_string(text)?)?;
    Ok(Value::Table(table))
}

/// Returns the only argument of a function, if it is a string.
fn only_string(arguments: &MultiValue) -> mlua::Result<Vec<u8>> {
    match (arguments.len(), arguments.front()) {
        (1, Some(Value::String(text))) => Ok(text.as_bytes().to_vec()),
        _ => Err(fault("wrong number or type of arguments")),
    }
}

/// An error without a code gets `ERR`. As in Redis, the code of a text that begins with `-` is its
/// first word.
fn error_reply(lua: &Lua, _: &RunState, arguments: MultiValue) -> mlua::Result<Value> {
    let Ok(text) = only_string(&arguments) else {
        return reply_table(lua, "err", b"ERR wrong number or type of arguments");
    };
    let bare = text.strip_prefix(b"-").unwrap_or(&text);
    let has_code = bare.contains(&b' ');
    let text = if has_code { bare.to_vec() } else { [b"ERR ", bare].concat() };
    reply_table(lua, "err", &text)
}

fn status_reply(lua: &Lua, _: &RunState, arguments: MultiValue) -> mlua::Result<Value> {
    match only_string(&arguments) {
        Ok(text) => reply_table(lua, "ok", &text),
        Err(_) => reply_table(lua, "err", b"ERR wrong number or type of arguments"),
    }
}

fn sha1hex(lua: &Lua, _: &RunState, arguments: MultiValue) -> mlua::Result<Value> {
    if arguments.len() != 1 {
        return Err(fault("wrong number of arguments"));
    }
    let text = text_arguments(lua, arguments)?.pop().unwrap_or_default();
    Ok(Value::String(lua.create_string(ScriptDigest::of(&text).as_str())?))
}

/// Returns arguments as one text with spaces between them, up to a limit: they may name one string
/// many times.
fn joined(lua: &Lua, arguments: MultiValue) -> mlua::Result<Vec<u8>> {
    let mut text = Vec::new();
    for (at, value) in arguments.into_iter().enumerate() {
        if at > 0 {
            text.push(b' ');
        }
        if let Some(part) = lua.coerce_string(value)? {
            let part = part.as_bytes();
            text.extend_from_slice(&part[..part.len().min(LOG_TEXT_MAX.saturating_sub(text.len()))]);
        }
    }
    Ok(text)
}

/// Returns arguments as texts, numbers included. Others become empty.
fn text_arguments(lua: &Lua, arguments: MultiValue) -> mlua::Result<Vec<Vec<u8>>> {
    let text = |value| Ok(lua.coerce_string(value)?.map_or_else(Vec::new, |text| text.as_bytes().to_vec()));
    arguments.into_iter().map(text).collect()
}

fn log(lua: &Lua, state: &RunState, mut arguments: MultiValue) -> mlua::Result<Value> {
    if arguments.len() < 2 {
        return Err(fault("redis.log() requires two arguments or more."));
    }
    let level = match number(lua, arguments.pop_front()) {
        None => return Err(fault("First argument must be a number (log level).")),
        Some(level) => match level as i64 {
            0 => ScriptLogLevel::Debug,
            1 => ScriptLogLevel::Verbose,
            2 => ScriptLogLevel::Notice,
            3 => ScriptLogLevel::Warning,
            _ => return Err(fault("Invalid debug level.")),
        },
    };
    let text = joined(lua, arguments)?;
    state.host.with(|host| host.log(level, &text)).ok_or_else(no_host)?;
    Ok(Value::Nil)
}

fn setresp(lua: &Lua, state: &RunState, mut arguments: MultiValue) -> mlua::Result<Value> {
    if arguments.len() != 1 {
        return Err(fault("redis.setresp() requires one argument."));
    }
    let version = match number(lua, arguments.pop_front()) {
        Some(2.0) => RespVersion::Resp2,
        Some(3.0) => RespVersion::Resp3,
        _ => return Err(fault("RESP version must be 2 or 3.")),
    };
    state.version.set(version);
    Ok(Value::Nil)
}

fn set_repl(lua: &Lua, _: &RunState, mut arguments: MultiValue) -> mlua::Result<Value> {
    if arguments.len() != 1 {
        return Err(fault("redis.set_repl() requires two arguments."));
    }
    match number(lua, arguments.pop_front()) {
        Some(flags) if (0.0..=3.0).contains(&flags) => Ok(Value::Nil),
        _ => Err(fault("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")),
    }
}
