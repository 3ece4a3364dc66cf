//! The bounds of scripts: memory, replies, time inside of long calls, and values that outlive a
//! run.

use std::ops::ControlFlow;
use std::time::Duration;

use skein_script::{
    ReplySink, RespVersion, ScriptDigest, ScriptEngine, ScriptError, ScriptHost, ScriptLogLevel, Stop,
};

const LIMIT: usize = 8 << 20;
const REPLY_BYTES_MAX: usize = 1 << 20;

/// A server with two commands: `pop` writes and `read` does not; both reply with `value`.
#[derive(Default)]
struct Host {
    value: Vec<u8>,
    name: Vec<u8>,
    has_written: bool,
    logged: usize,
    ticks: u32,
    /// Ticks until the script is stopped.
    ticks_left: Option<u32>,
}

impl ScriptHost for Host {
    fn argument(&mut self, bytes: &[u8]) {
        self.name = bytes.to_vec();
    }

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) -> Duration {
        self.has_written |= self.name == b"pop";
        reply.extend_from_slice(&self.value);
        Duration::ZERO
    }

    fn forget_arguments(&mut self) {}

    fn may_call(&mut self) -> Option<bool> {
        Some(true)
    }

    fn log(&mut self, _: ScriptLogLevel, text: &[u8]) {
        self.logged += text.len();
    }

    fn has_written(&self) -> bool {
        self.has_written
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        self.ticks += 1;
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

/// Counts the bytes of a reply, and keeps its last error.
#[derive(Default)]
struct Counted {
    bytes: usize,
    most: usize,
    error: Option<String>,
    integer: Option<i64>,
}

impl Counted {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes + 8;
        self.most = self.most.max(self.bytes);
    }
}

impl ReplySink for Counted {
    fn admits(&self, bytes: usize) -> bool {
        self.bytes + bytes <= REPLY_BYTES_MAX
    }
    fn clear(&mut self) {
        self.bytes = 0;
    }
    fn too_long(&mut self) {
        self.error(b"ERR too long");
    }
    fn null(&mut self) {
        self.add(0);
    }
    fn boolean(&mut self, _: bool) {
        self.add(0);
    }
    fn integer(&mut self, value: i64) {
        self.integer = Some(value);
        self.add(0);
    }
    fn double(&mut self, _: f64) {
        self.add(0);
    }
    fn bulk(&mut self, bytes: &[u8]) {
        self.add(bytes.len());
    }
    fn status(&mut self, text: &[u8]) {
        self.add(text.len());
    }
    fn error(&mut self, text: &[u8]) {
        self.error = Some(String::from_utf8_lossy(text).into_owned());
        self.add(text.len());
    }
    fn array(&mut self, _: usize) {
        self.add(0);
    }
    fn map(&mut self, _: usize) {
        self.add(0);
    }
    fn set(&mut self, _: usize) {
        self.add(0);
    }
    fn big_number(&mut self, digits: &[u8]) {
        self.add(digits.len());
    }
    fn verbatim(&mut self, _: &[u8], text: &[u8]) {
        self.add(text.len());
    }
}

fn try_run(engine: &mut ScriptEngine, host: &mut Host, code: &str) -> Result<Counted, ScriptError> {
    let mut reply = Counted::default();
    let digest = ScriptDigest::of(code.as_bytes());
    let none = || std::iter::empty();
    engine.run((digest, code.as_bytes()), none(), none(), host, &mut reply)?;
    Ok(reply)
}

fn run(engine: &mut ScriptEngine, host: &mut Host, code: &str) -> Counted {
    try_run(engine, host, code).unwrap()
}

fn engine() -> ScriptEngine {
    ScriptEngine::new(LIMIT).unwrap()
}

fn bulk(len: usize) -> Vec<u8> {
    [format!("${len}\r\n").as_bytes(), &vec![b'x'; len], b"\r\n"].concat()
}

/// Incident: a script took a value of 70 MB out of a key, and its memory had a limit of 64 MiB.
/// Consequence: the script ended with an error, and the value was lost.
/// Fix: once a script has written it has a reserve of memory.
#[test]
fn a_script_that_has_written_keeps_what_it_popped() {
    let (mut engine, mut host) = (engine(), Host { value: bulk(LIMIT + 1), ..Host::default() });
    let read = run(&mut engine, &mut host, "return #redis.call('read')");
    assert!(read.error.unwrap().contains("max-script-memory, 8388608 bytes"));
    let popped = run(&mut engine, &mut host, "local v = redis.call('pop') return #(v .. 'z')");
    assert_eq!(popped.integer.map(usize::try_from), Some(Ok(LIMIT + 2)));
    assert!(engine.memory() < LIMIT, "the reserve ends with the script");
    host.has_written = false;
    let next = run(&mut engine, &mut host, "local t = {} for i = 1, 1e6 do t[i] = {} end return #t");
    assert!(next.error.unwrap().contains("max-script-memory, 8388608 bytes"), "the limit is back");
}

/// Incident: a worker that had compiled 7,991 scripts, or scripts of 67 MB, ran no script any more.
/// Consequence: any client could end scripting for all until SCRIPT FLUSH.
/// Fix: compiled scripts are a cache of a quarter of the memory, and take no references of mlua.
#[test]
fn compiled_scripts_are_a_cache() {
    let (mut engine, mut host) = (engine(), Host::default());
    for number in 0..9000_i64 {
        let code = format!("return {number}");
        assert_eq!(run(&mut engine, &mut host, &code).integer, Some(number));
    }
    let deep = "local t = {} local x = t for i = 1, 490 do x[1] = {} x = x[1] end return t";
    assert_eq!(run(&mut engine, &mut host, deep).error, None);
    for size in [500_000, 100_000, 20_000, 1000] {
        for number in 0..40 {
            let code = format!("local s = '{number:06}{}' return {number}", "x".repeat(size));
            assert_eq!(run(&mut engine, &mut host, &code).integer, Some(number));
        }
    }
    let table = "local t = {} for i = 1, 100000 do t[i] = i end return #t";
    assert_eq!(run(&mut engine, &mut host, table).integer, Some(100_000));
    assert!((40..200).contains(&engine.compiled()), "{} are kept", engine.compiled());
    engine.forget_all();
    assert_eq!(engine.compiled(), 0);
    assert_eq!(run(&mut engine, &mut host, "return 5").integer, Some(5));
}

/// A script that is used often stays while others are added and evicted.
#[test]
fn the_scripts_that_were_used_last_stay_compiled() {
    let (mut engine, mut host) = (engine(), Host::default());
    let often = "return 'often'";
    let digest = ScriptDigest::of(often.as_bytes());
    for number in 0..200 {
        run(&mut engine, &mut host, &format!("local s = '{number}{}' return 1", "x".repeat(50_000)));
        run(&mut engine, &mut host, often);
        assert!(engine.has_compiled(digest));
    }
    assert!(engine.compiled() < 100);
}

#[test]
fn a_script_that_is_longer_than_the_memory_names_the_limit() {
    let (mut engine, mut host) = (engine(), Host::default());
    let code = format!("return #'{}'", "x".repeat(LIMIT));
    let error = try_run(&mut engine, &mut host, &code).err().unwrap();
    assert_eq!(error, ScriptError::NoMemory { limit: LIMIT });
    assert_eq!(run(&mut engine, &mut host, "return 1").integer, Some(1));
}

/// Incident: a reply had no bound, and `{t, t}` in 20 levels kept the server busy for minutes.
/// Consequence: memory beyond every limit, and no way to stop the script.
/// Fix: the sink limits the reply, and its elements count as work.
#[test]
fn a_reply_is_bounded() {
    let (mut engine, mut host) = (engine(), Host::default());
    for code in [
        "local t = {} for i = 1, 60 do t = {t, t} end return t",
        "local s = string.rep('x', 1000000) local t = {} for i = 1, 300 do t[i] = s end return t",
        "local s = string.rep('x', 1100000) return s",
        "local s = string.rep('x', 1100000) return {err = s}",
        "local s = string.rep('x', 1100000) return {verbatim_string = {string = s, format = 'txt'}}",
        "local t = {} for i = 1, 60 do t = {map = {[1] = t, [2] = t}} end return t",
    ] {
        let reply = run(&mut engine, &mut host, code);
        assert_eq!(reply.error.as_deref(), Some("ERR too long"), "{code}");
        assert!(reply.most <= REPLY_BYTES_MAX + 64, "{code}: {}", reply.most);
    }
}

/// Incident: SCRIPT KILL and `--max-script-time` did not stop a script during an encoder, or while
/// its value was converted. Fix: all of these count their work.
#[test]
fn long_calls_are_stopped() {
    let shared = "local t = {} for i = 1, 60 do t = {t, t} end ";
    let empty = "local t = {} for i = 1, 60 do t = {map = {[1] = t}, t} end local n = {} for i = 1, 60 do n = {n, n} end ";
    for code in [
        format!("{shared} return cjson.encode(t)"),
        format!("{shared} return pcall(cjson.encode, t)"),
        "local t = {} for i = 1, 12 do t = {t, t, t, t} end return cmsgpack.pack(t)".to_owned(),
        format!("{empty} return {{map = {{[1] = n, [2] = 1}}}}"),
        "local s = '[' .. string.rep('1,', 100000) .. '1]' return #cjson.decode(s)".to_owned(),
        "local s = '\\220\\255\\255' .. string.rep('\\1', 65535) return #cmsgpack.unpack(s)".to_owned(),
        "return struct.pack(string.rep('x', 100000))".to_owned(),
        "local t = {} for i = 1, 100000 do t[i] = i end return cjson.encode({a = t}) .. cmsgpack.pack(t)"
            .to_owned(),
        "return redis.call('read')".to_owned(),
        "return redis.pcall('read')".to_owned(),
    ] {
        let value = [&b"*100000\r\n"[..], &b":1\r\n".repeat(100_000)].concat();
        let (mut engine, mut host) = (engine(), Host { value, ticks_left: Some(1), ..Host::default() });
        let reply = run(&mut engine, &mut host, &code);
        let error = reply.error.unwrap_or_else(|| panic!("{code}: {} ticks", host.ticks));
        assert!(error.starts_with("ERR stopped"), "{code}: {error}");
        assert_eq!(host.ticks, 2, "{code}");
        host.ticks_left = None;
        let next = format!("return #'{}'", "x".repeat(1_000_000));
        assert_eq!(run(&mut engine, &mut host, &next).integer, Some(1_000_000), "after {code}");
    }
}

/// Incident: `cjson.encode` of a sparse array took 500 MB at a limit of 64.
/// Fix: the buffers of encoders count toward the limit.
#[test]
fn buffers_of_encoders_count_as_memory() {
    let (mut engine, mut host) = (engine(), Host::default());
    for code in [
        "cjson.encode_sparse_array(false, 0, 0) return #cjson.encode({[100000000] = 1})",
        "local t = {1} for i = 1, 25 do t = {t, t} end return #cjson.encode(t)",
        "local t = {} for i = 1, 4 do local n = {} for j = 1, 100 do n[j] = t end t = n end return #cmsgpack.pack(t)",
        "local s = string.rep('x', 3000000) return #cmsgpack.pack(s, s, s, s)",
        "local s = string.rep('x', 3000000) return #struct.pack('ssss', s, s, s, s)",
        "local s = string.rep('\\1', 3000000) return #cjson.encode(s)",
    ] {
        let error = run(&mut engine, &mut host, code).error.unwrap_or_else(|| panic!("{code}"));
        assert!(error.contains("max-script-memory, 8388608 bytes"), "{code}: {error}");
        let caught = format!("local ok, e = pcall(function() {code} end) return ok and 1 or #e");
        let length = run(&mut engine, &mut host, &caught).integer.map(usize::try_from);
        assert_eq!(length, Some(Ok("not enough memory".len())));
    }
    let fits = "local s = string.rep('x', 1000000) return #cjson.encode(s) + #cmsgpack.pack(s)";
    assert_eq!(run(&mut engine, &mut host, fits).integer, Some(2_000_007));
}

#[test]
fn a_logged_text_is_bounded() {
    let (mut engine, mut host) = (engine(), Host::default());
    let many = "local s = string.rep('x', 100000) local t = {} for i = 1, 1000 do t[i] = s end redis.log(2, unpack(t))";
    assert_eq!(run(&mut engine, &mut host, many).error, None);
    assert!((1 << 16..1 << 17).contains(&host.logged), "{}", host.logged);
}

/// Incident: a library of 8,000 functions, or thousands of libraries, used up the references of
/// mlua. Fix: functions are elements of a table.
#[test]
fn an_engine_has_thousands_of_functions() {
    let (mut engine, mut host) = (ScriptEngine::new(32 << 20).unwrap(), Host::default());
    let many = "for i = 1, 9000 do redis.register_function('f' .. i, function() return i end) end";
    assert_eq!(engine.load_library(0, many.as_bytes(), &mut host).unwrap().len(), 9000);
    for id in 1..=9000 {
        let code = format!("redis.register_function('g', function() return {id} end)");
        engine.load_library(id, code.as_bytes(), &mut host).unwrap();
    }
    for (library, name, result) in [(0, "f8999", 8999), (1, "g", 1), (9000, "g", 9000)] {
        let (mut reply, none) = (Counted::default(), || std::iter::empty());
        engine.call_function((library, name), none(), none(), &mut host, &mut reply).unwrap();
        assert_eq!(reply.integer, Some(result));
    }
}

/// Libraries that do not fit together are forgotten, and the caller loads them again when it needs
/// them. An engine reports when its libraries hold too much.
#[test]
fn libraries_make_room_for_each_other() {
    let (mut engine, mut host) = (engine(), Host::default());
    let text = "x".repeat(1 << 20);
    for id in 0..40 {
        // Equal texts would be one string of Lua.
        let code = format!("local s = '{id} {text}' redis.register_function('f', function() return #s end)");
        engine.load_library(id, code.as_bytes(), &mut host).unwrap();
        assert!(engine.has_library(id));
    }
    assert!(engine.loaded_libraries() < 10);
    assert!(!engine.is_exhausted());
    let hoard = "local t = {} redis.register_function('f', function() while true do t[#t + 1] = string.rep('x', 1000 + #t) end end)";
    engine.load_library(99, hoard.as_bytes(), &mut host).unwrap();
    let (mut reply, none) = (Counted::default(), || std::iter::empty());
    engine.call_function((99, "f"), none(), none(), &mut host, &mut reply).unwrap();
    assert!(reply.error.unwrap().contains("max-script-memory"));
    assert!(engine.is_exhausted());
}

/// The results are those of Redis 7.0.15.
#[test]
fn random_numbers_are_those_of_redis() {
    let (mut engine, mut host) = (engine(), Host::default());
    let seeded =
        "math.randomseed(42) local a, b, c = math.random(1000000), math.random(1000000), math.random()";
    for (code, result) in [
        (format!("{seeded} return a"), 744_526),
        (format!("{seeded} return b"), 342_702),
        (format!("{seeded} return c * 1e14"), 11_108_528_222_473),
        (format!("{seeded} return math.random(5, 10)"), 7),
        (format!("{seeded} math.random() return math.random(-3, 3)"), -3),
        ("math.randomseed(-5) return math.random(1000)".to_owned(), 817),
        ("math.randomseed(1.9) return math.random(1000)".to_owned(), 42),
        ("math.randomseed(4294967296 + 7) return math.random(1000)".to_owned(), 267),
        ("math.randomseed(1e300) return math.random(1000)".to_owned(), 171),
        ("math.randomseed(5, 6) return math.random(1000)".to_owned(), 525),
        ("return math.random(-2147483648, 2147483647)".to_owned(), -2_147_483_648),
        ("return math.random('1')".to_owned(), 1),
        ("math.randomseed(5) pcall(math.random, 0) return math.random(1000)".to_owned(), 273),
    ] {
        assert_eq!(run(&mut engine, &mut host, &code).integer, Some(result), "{code}");
    }
    for (code, error) in [
        ("math.random(0)", "bad argument #1 to 'random' (interval is empty)"),
        ("math.random(3, 1)", "bad argument #2 to 'random' (interval is empty)"),
        ("math.random(1, 2, 3)", "wrong number of arguments"),
        ("math.random('x')", "bad argument #1 to 'random' (number expected, got string)"),
        ("math.random(nil)", "bad argument #1 to 'random' (number expected, got nil)"),
        ("math.random(2147483648)", "bad argument #1 to 'random' (interval is empty)"),
        ("math.randomseed()", "bad argument #1 to 'randomseed' (number expected, got no value)"),
    ] {
        let raised = run(&mut engine, &mut host, code).error.unwrap();
        assert!(raised.starts_with(&format!("ERR user_script:1: {error}")), "{code}: {raised}");
    }
}
