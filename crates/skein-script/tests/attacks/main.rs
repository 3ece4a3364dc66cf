//! Scripts that attack the interpreter: known defects of Lua 5.1 and of Redis's use of it,
//! functions that take long, and deep everything.
//!
//! `docs/security.md` lists the defects with the tests here.

mod deep;
mod defects;
mod endless;

use std::ops::ControlFlow;
use std::time::Duration;

use skein_script::{ReplySink, RespVersion, ScriptDigest, ScriptEngine, ScriptHost, ScriptLogLevel, Stop};

const LIMIT: usize = 32 << 20;
/// The host's claim about the command `slow`, which really ends at once.
const SLOW: Duration = Duration::from_millis(1);

/// A server that replies to every command with its second argument, in RESP. It says that `slow`
/// takes long.
#[derive(Default)]
struct Host {
    arguments: Vec<Vec<u8>>,
    /// Ticks until the script is stopped.
    ticks_left: Option<u32>,
    /// The number of commands so far.
    calls: usize,
}

impl ScriptHost for Host {
    fn argument(&mut self, bytes: &[u8]) {
        self.arguments.push(bytes.to_vec());
    }

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) -> Duration {
        let arguments = std::mem::take(&mut self.arguments);
        self.calls += 1;
        match arguments.get(1) {
            Some(bytes) => reply.extend_from_slice(bytes),
            None => reply.extend_from_slice(b"+OK\r\n"),
        }
        if arguments.first().is_some_and(|name| name == b"slow") { SLOW } else { Duration::ZERO }
    }

    fn forget_arguments(&mut self) {
        self.arguments.clear();
    }

    fn may_call(&mut self) -> Option<bool> {
        self.arguments.clear();
        None
    }

    fn log(&mut self, _: ScriptLogLevel, _: &[u8]) {}

    fn has_written(&self) -> bool {
        false
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        match &mut self.ticks_left {
            None => ControlFlow::Continue(()),
            Some(0) => ControlFlow::Break(Stop("stopped".into())),
            Some(left) => {
                *left -= 1;
                ControlFlow::Continue(())
            }
        }
    }
}

/// The reply as a text.
#[derive(Default)]
struct Text(String);

impl Text {
    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push(' ');
    }

    fn add_bytes(&mut self, sign: &str, bytes: &[u8]) {
        self.add(&format!("{sign}{}", String::from_utf8_lossy(bytes)));
    }
}

impl ReplySink for Text {
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
        self.add("nil");
    }
    fn boolean(&mut self, value: bool) {
        self.add(&value.to_string());
    }
    fn integer(&mut self, value: i64) {
        self.add(&value.to_string());
    }
    fn double(&mut self, value: f64) {
        self.add(&value.to_string());
    }
    fn bulk(&mut self, bytes: &[u8]) {
        self.add_bytes("", bytes);
    }
    fn status(&mut self, text: &[u8]) {
        self.add_bytes("+", text);
    }
    fn error(&mut self, text: &[u8]) {
        self.add_bytes("-", text);
    }
    fn array(&mut self, len: usize) {
        self.add(&format!("*{len}"));
    }
    fn map(&mut self, pairs: usize) {
        self.add(&format!("%{pairs}"));
    }
    fn set(&mut self, len: usize) {
        self.add(&format!("~{len}"));
    }
    fn big_number(&mut self, digits: &[u8]) {
        self.add_bytes("(", digits);
    }
    fn verbatim(&mut self, _: &[u8], text: &[u8]) {
        self.add_bytes("=", text);
    }
}

/// An engine and its host.
struct Scripts {
    engine: ScriptEngine,
    host: Host,
}

impl Scripts {
    fn new() -> Self {
        Self { engine: ScriptEngine::new(LIMIT).unwrap(), host: Host::default() }
    }

    /// Runs a script. Returns its reply, or why it was not compiled.
    fn run(&mut self, source: &str) -> String {
        self.run_with(source, &[])
    }

    fn run_with(&mut self, source: &str, arguments: &[&[u8]]) -> String {
        let (digest, mut reply) = (ScriptDigest::of(source.as_bytes()), Text::default());
        let arguments = arguments.iter().copied();
        let ran = self.engine.run(
            (digest, source.as_bytes()),
            std::iter::empty(),
            arguments,
            &mut self.host,
            &mut reply,
        );
        match ran {
            Ok(()) => reply.0.trim_end().to_owned(),
            Err(error) => format!("-{error}"),
        }
    }

    /// The engine is usable, and nothing of an attack is left.
    fn check(&mut self) {
        self.host.ticks_left = None;
        assert_eq!(
            self.run("return {pcall(error, 'a'), #KEYS, ('x'):rep(3), type(redis.call)}"),
            "*4 nil 0 xxx function"
        );
    }
}
