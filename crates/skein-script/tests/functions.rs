//! Libraries of functions: the abilities of their code, and the state that a call sees.

use std::ops::ControlFlow;
use std::time::Duration;

use skein_script::{
    LibraryError, ReplySink, RespVersion, ScriptDigest, ScriptEngine, ScriptHost, ScriptLogLevel, Stop,
};

/// A server that replies to every command with a number.
#[derive(Default)]
struct Host {
    /// Ticks until the code is stopped.
    ticks_left: Option<u32>,
}

impl ScriptHost for Host {
    fn argument(&mut self, _: &[u8]) {}

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) -> Duration {
        reply.extend_from_slice(b":7\r\n");
        Duration::ZERO
    }

    fn forget_arguments(&mut self) {}

    fn may_call(&mut self) -> Option<bool> {
        Some(true)
    }

    fn log(&mut self, _: ScriptLogLevel, _: &[u8]) {}

    fn has_written(&self) -> bool {
        false
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        match &mut self.ticks_left {
            Some(0) => ControlFlow::Break(Stop("stopped".into())),
            Some(left) => {
                *left -= 1;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Continue(()),
        }
    }
}

/// Keeps integers, texts and errors.
#[derive(Default)]
struct Reply(Vec<String>);

impl Reply {
    fn add(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }
}

impl ReplySink for Reply {
    fn admits(&self, _: usize) -> bool {
        true
    }
    fn clear(&mut self) {
        self.0.clear();
    }
    fn too_long(&mut self) {
        self.add("too long");
    }
    fn null(&mut self) {
        self.add("null");
    }
    fn boolean(&mut self, value: bool) {
        self.add(value.to_string());
    }
    fn integer(&mut self, value: i64) {
        self.add(value.to_string());
    }
    fn double(&mut self, value: f64) {
        self.add(value.to_string());
    }
    fn bulk(&mut self, bytes: &[u8]) {
        self.add(String::from_utf8_lossy(bytes));
    }
    fn status(&mut self, text: &[u8]) {
        self.bulk(text);
    }
    fn error(&mut self, text: &[u8]) {
        self.bulk(text);
    }
    fn array(&mut self, _: usize) {}
    fn map(&mut self, _: usize) {}
    fn set(&mut self, _: usize) {}
    fn big_number(&mut self, digits: &[u8]) {
        self.bulk(digits);
    }
    fn verbatim(&mut self, _: &[u8], text: &[u8]) {
        self.bulk(text);
    }
}

fn engine() -> ScriptEngine {
    ScriptEngine::new(16 << 20).expect("an engine")
}

fn call(engine: &ScriptEngine, library: u64, name: &str) -> String {
    let mut reply = Reply::default();
    let (keys, arguments) = ([&b"k"[..]].into_iter(), [&b"a"[..]].into_iter());
    match engine.call_function((library, name), keys, arguments, &mut Host::default(), &mut reply) {
        Ok(()) => reply.0.join(" "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_library_registers_functions_that_are_called() {
    let mut engine = engine();
    let code = b"local n = 0
        local function more() n = n + 1 return n end
        redis.register_function('count', more)
        redis.register_function{function_name = 'both', callback = function(keys, args)
            return {keys[1], args[1], redis.call('x'), KEYS == nil}
        end, description = 'text', flags = {'no-writes', 'ALLOW-OOM'}}
        redis.register_function('pure', function() return string.rep('x', 3) end)";
    let functions = engine.load_library(1, code, &mut Host::default()).expect("a library");
    let names: Vec<_> = functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["count", "both", "pure"]);
    assert_eq!(functions[1].description.as_deref(), Some(&b"text"[..]));
    assert_eq!(functions[1].flags.names().collect::<Vec<_>>(), ["no-writes", "allow-oom"]);
    assert_eq!((call(&engine, 1, "count"), call(&engine, 1, "count")), ("1".into(), "2".into()));
    assert_eq!(call(&engine, 1, "pure"), "xxx");
    let missing = "Script attempted to access nonexistent global variable 'KEYS'";
    assert!(call(&engine, 1, "both").contains(missing));
    assert_eq!(call(&engine, 1, "nosuch"), "Function not found");
    assert_eq!(call(&engine, 2, "count"), "Function not found");
    engine.retain_libraries(|id| id != 1);
    assert!(!engine.has_library(1) && engine.loaded_libraries() == 0);
}

#[test]
fn a_library_sees_little_while_it_loads() {
    let mut engine = engine();
    for (code, expected) in [
        ("redis.call('x')", "nonexistent global variable 'call'"),
        ("string.rep('x', 3)", "nonexistent global variable 'string'"),
        ("pcall(error)", "nonexistent global variable 'pcall'"),
        ("x = 1", "Attempt to modify a readonly table"),
        ("redis.x = 1", "Attempt to modify a readonly table"),
        ("redis.register_function('a b', function() end)", "can only contain letters"),
        ("x x", "Error compiling function: user_function:1:"),
    ] {
        let error = engine.load_library(1, code.as_bytes(), &mut Host::default()).expect_err(code);
        assert!(error.to_string().contains(expected), "{code}: {error}");
        assert!(!engine.has_library(1));
    }
    let mut host = Host { ticks_left: Some(3) };
    let stopped = engine.load_library(1, b"while true do end", &mut host);
    assert_eq!(stopped, Err(LibraryError::Register("ERR stopped".into())));
}

/// A failed load, a script and a call leave each other's globals alone.
#[test]
fn scripts_and_functions_have_globals_of_their_own() {
    let mut engine = engine();
    let code = b"redis.register_function('late', function() return redis.register_function end)
        local register = redis.register_function
        redis.register_function('again', function() return register('x', function() end) end)
        redis.register_function('text', function() return loadstring('return type(KEYS)')() end)";
    engine.load_library(1, code, &mut Host::default()).expect("a library");
    let mut reply = Reply::default();
    let script = b"return {type(KEYS), type(redis.register_function), type(redis.breakpoint)}";
    let none = || std::iter::empty::<&[u8]>();
    let digest = ScriptDigest::of(script);
    engine.run((digest, script), none(), none(), &mut Host::default(), &mut reply).expect("a script");
    assert_eq!(reply.0, ["table", "nil", "function"]);
    assert_eq!(call(&engine, 1, "late"), "null");
    assert!(
        call(&engine, 1, "again")
            .starts_with("ERR redis.register_function can only be called on FUNCTION LOAD command")
    );
    assert!(call(&engine, 1, "text").contains("nonexistent global variable 'KEYS'"));
}
