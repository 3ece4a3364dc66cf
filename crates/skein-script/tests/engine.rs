//! Scripts against a host that is a map of strings.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use skein_script::{
    ReplySink, RespVersion, ScriptDigest, ScriptEngine, ScriptHead, ScriptHost, ScriptLogLevel, Stop,
};

const LIMIT: usize = 32 << 20;

/// A server with GET, SET and HGETALL.
#[derive(Default)]
struct Host {
    rows: HashMap<Vec<u8>, Vec<u8>>,
    arguments: Vec<Vec<u8>>,
    logged: Vec<String>,
    /// Ticks until the script is stopped.
    ticks_left: Option<u32>,
}

impl ScriptHost for Host {
    fn argument(&mut self, bytes: &[u8]) {
        self.arguments.push(bytes.to_vec());
    }

    fn call(&mut self, version: RespVersion, reply: &mut Vec<u8>) -> Duration {
        let arguments = std::mem::take(&mut self.arguments);
        let texts: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        match texts[..] {
            [b"get", key] => match self.rows.get(key) {
                Some(value) => {
                    reply.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
                    reply.extend_from_slice(value);
                    reply.extend_from_slice(b"\r\n");
                }
                None => reply.extend_from_slice(b"$-1\r\n"),
            },
            [b"set", key, value] => {
                self.rows.insert(key.to_vec(), value.to_vec());
                reply.extend_from_slice(b"+OK\r\n");
            }
            [b"panic"] => panic!("a command fails"),
            [b"raw", bytes] => reply.extend_from_slice(bytes),
            [b"version"] => {
                reply.extend_from_slice(format!(":{version:?}\r\n").replace("Resp", "").as_bytes());
            }
            _ => reply.extend_from_slice(b"-ERR Unknown Redis command called from script\r\n"),
        }
        Duration::ZERO
    }

    fn forget_arguments(&mut self) {
        self.arguments.clear();
    }

    fn may_call(&mut self) -> Option<bool> {
        let arguments = std::mem::take(&mut self.arguments);
        matches!(&arguments[0][..], b"get" | b"set").then(|| arguments[0] == b"get")
    }

    fn log(&mut self, level: ScriptLogLevel, text: &[u8]) {
        self.logged.push(format!("{level:?} {}", String::from_utf8_lossy(text)));
    }

    fn has_written(&self) -> bool {
        !self.rows.is_empty()
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        match &mut self.ticks_left {
            None => ControlFlow::Continue(()),
            Some(0) => ControlFlow::Break(Stop("Script killed by user with SCRIPT KILL.".into())),
            Some(left) => {
                *left -= 1;
                ControlFlow::Continue(())
            }
        }
    }
}

/// Writes replies as a text for people.
#[derive(Default)]
struct Printed(String);

impl ReplySink for Printed {
    fn admits(&self, _: usize) -> bool {
        true
    }
    fn clear(&mut self) {
        self.0.clear();
    }
    fn too_long(&mut self) {
        self.error(b"ERR too long");
    }
    fn null(&mut self) {
        self.0 += "nil ";
    }
    fn boolean(&mut self, value: bool) {
        let _ = write!(self.0, "#{value} ");
    }
    fn integer(&mut self, value: i64) {
        let _ = write!(self.0, "{value} ");
    }
    fn double(&mut self, value: f64) {
        let _ = write!(self.0, ",{value} ");
    }
    fn bulk(&mut self, bytes: &[u8]) {
        let _ = write!(self.0, "'{}' ", String::from_utf8_lossy(bytes));
    }
    fn status(&mut self, text: &[u8]) {
        let _ = write!(self.0, "+{} ", String::from_utf8_lossy(text));
    }
    fn error(&mut self, text: &[u8]) {
        let _ = write!(self.0, "-{} ", String::from_utf8_lossy(text));
    }
    fn array(&mut self, len: usize) {
        let _ = write!(self.0, "*{len} ");
    }
    fn map(&mut self, pairs: usize) {
        let _ = write!(self.0, "%{pairs} ");
    }
    fn set(&mut self, len: usize) {
        let _ = write!(self.0, "~{len} ");
    }
    fn big_number(&mut self, digits: &[u8]) {
        let _ = write!(self.0, "({} ", String::from_utf8_lossy(digits));
    }
    fn verbatim(&mut self, format: &[u8], text: &[u8]) {
        let _ = write!(self.0, "={}:{} ", String::from_utf8_lossy(format), String::from_utf8_lossy(text));
    }
}

struct Scripts {
    engine: ScriptEngine,
    host: Host,
}

impl Scripts {
    fn new() -> Self {
        Self { engine: ScriptEngine::new(LIMIT).unwrap(), host: Host::default() }
    }

    fn try_run(&mut self, source: &str, keys: &[&str], arguments: &[&str]) -> Result<String, String> {
        let head = ScriptHead::parse(source.as_bytes()).map_err(|error| error.to_string())?;
        let digest = ScriptDigest::of(source.as_bytes());
        let mut reply = Printed::default();
        let (keys, arguments) =
            (keys.iter().map(|key| key.as_bytes()), arguments.iter().map(|text| text.as_bytes()));
        self.engine
            .run((digest, head.code), keys, arguments, &mut self.host, &mut reply)
            .map_err(|error| error.to_string())?;
        Ok(reply.0.trim_end().replace(&format!(" script: {digest}, on @user_script"), " @"))
    }

    fn run(&mut self, source: &str) -> String {
        self.try_run(source, &[], &[]).unwrap()
    }
}

/// The replies are those of Redis 7.0.15. The digest of a script is left out of errors.
/// Scripts, and their replies as `show` prints them.
const REPLIES: &[(&str, &str)] = &[
    ("return {1,2,'a',false,true,nil,3}", "*5 1 2 'a' nil 1"),
    ("return", "nil"),
    ("return 3.99", "3"),
    ("return -3.99", "-3"),
    ("return 1e300", "-9223372036854775808"),
    ("return 0/0", "-9223372036854775808"),
    ("return {err='boo'}", "-boo"),
    ("return redis.error_reply('boo')", "-ERR boo"),
    ("return redis.error_reply('-boo')", "-ERR boo"),
    ("return redis.error_reply('-CODE boo')", "-CODE boo"),
    ("return redis.error_reply('CODE boo bar')", "-CODE boo bar"),
    ("return redis.status_reply('fine')", "+fine"),
    ("return x", "-ERR user_script:1: Script attempted to access nonexistent global variable 'x' @:1."),
    ("x = 1", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
    ("\n\nerror('bad')", "-ERR user_script:3: bad @:3."),
    ("error({err='TABLE bad'})", "-TABLE bad @:1."),
    // Redis 7.0.15 crashes.
    ("error({})", "-ERR unknown error @:1."),
    ("error({err='boo'})", "-boo @:1."),
    ("error()", "-ERR nil @:1."),
    ("error(12)", "-ERR user_script:1: 12 @:1."),
    ("return ('x').y.z", "-ERR user_script:1: attempt to index field 'y' (a nil value) @:1."),
    ("local function f() return f() + 1 end return f()", "-ERR user_script:1: stack overflow @:1."),
    (
        "return string.rep()",
        "-ERR user_script:1: bad argument #1 to 'rep' (string expected, got no value) @:1.",
    ),
    (
        "redis.set_repl(8)",
        "-ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE. @:1.",
    ),
    ("return redis.error_reply(1)", "-ERR wrong number or type of arguments"),
    ("return redis.call('nosuch')", "-ERR Unknown Redis command called from script @:1."),
    ("return redis.call()", "-ERR Please specify at least one argument for this redis lib call @:1."),
    ("redis.call('get', true)", "-ERR Lua redis lib command arguments must be strings or integers @:1."),
    ("return redis.pcall('nosuch')", "-ERR Unknown Redis command called from script"),
    ("return redis.pcall('nosuch').err", "'ERR Unknown Redis command called from script'"),
    ("return {pcall(redis.call, 'nosuch')}", "*2 nil 'ERR Unknown Redis command called from script'"),
    ("local ok, e = pcall(error, {err='A b'}) return e", "'A b'"),
    ("local ok, e = pcall(error, {1}) return e", "*1 1"),
    (
        "return select(2, xpcall(function() redis.call('nosuch') end, function(e) return e.err end))",
        "'ERR Unknown Redis command called from script'",
    ),
    (
        "return {coroutine.resume(coroutine.create(function() redis.call('nosuch') end))}",
        "*2 nil -ERR Unknown Redis command called from script",
    ),
    ("return redis.sha1hex('abc')", "'a9993e364706816aba3e25717850c26c9cd0d89d'"),
    ("return redis.sha1hex()", "-ERR wrong number of arguments @:1."),
    ("return redis.setresp(4)", "-ERR RESP version must be 2 or 3. @:1."),
    ("return redis.setresp()", "-ERR redis.setresp() requires one argument. @:1."),
    ("return redis.log(1)", "-ERR redis.log() requires two arguments or more. @:1."),
    ("return redis.log('x', 'y')", "-ERR First argument must be a number (log level). @:1."),
    ("return redis.log(9, 'y')", "-ERR Invalid debug level. @:1."),
    ("redis.call = 1", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
    ("string.x = 1", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
    ("setmetatable(_G, {})", "-ERR Attempt to modify a readonly table @:1."),
    ("rawset(_G, 'a', 1)", "-ERR Attempt to modify a readonly table @:1."),
    ("return redis.acl_check_cmd('set', 'a', 'b')", "nil"),
    ("return redis.acl_check_cmd('get', 'a')", "1"),
    ("return redis.acl_check_cmd('nosuch')", "-ERR Invalid command passed to redis.acl_check_cmd() @:1."),
    ("redis.setresp(3) return true", "#true"),
    ("redis.setresp(3) return false", "#false"),
    ("return {double=1.5}", ",1.5"),
    ("return {map={a=1}}", "%1 'a' 1"),
    ("return {set={a=true}}", "~1 'a'"),
    ("return {big_number='123'}", "(123"),
    ("return {verbatim_string={string='abc',format='txt'}}", "=txt:abc"),
    ("return redis.breakpoint()", "nil"),
    ("return redis.replicate_commands()", "1"),
    ("return _G", "*0"),
    ("local a = {} setmetatable(a, {__index=function() foo() end}) return a", "*0"),
    ("return #{pcall(string.rep)}", "2"),
    ("return ('x'):rep(3)", "'xxx'"),
    ("return tostring(1e15) .. tostring(0.1)", "'1e+150.1'"),
    ("return loadstring('return 7')()", "7"),
    ("return load(function() return nil end)", "nil"),
    ("return select(2, load(function() return {} end))", "'reader function must return a string'"),
    ("return select(2, load(function() error('boom', 0) end))", "'boom'"),
    ("return {loadstring('x x')}", "*0"),
    ("return select(2, loadstring('x x', '@c'))", "'c:1: '=' expected near 'x''"),
    (
        "return #loadstring(string.dump(function() end))",
        "-ERR user_script:1: attempt to get length of a nil value @:1.",
    ),
    ("local t = {} for k in pairs(redis) do t[#t+1] = k end return #t", "23"),
];

#[test]
fn values_and_errors_become_the_replies_of_redis() {
    let mut scripts = Scripts::new();
    for (source, reply) in REPLIES {
        assert_eq!(scripts.run(source), *reply, "{source}");
    }
}

#[test]
fn keys_and_arguments_are_globals_and_commands_run() {
    let mut scripts = Scripts::new();
    let reply = scripts.try_run("return {KEYS[1], ARGV[2], #KEYS, #ARGV}", &["k"], &["a", "b"]);
    assert_eq!(reply.unwrap(), "*4 'k' 'b' 1 2");
    assert_eq!(scripts.run("return redis.call('get', 'n')"), "nil");
    for (number, text) in
        [("3.5", "3.5"), ("1e20", "1e+20"), ("0.1", "0.10000000000000001"), ("12", "12"), ("-0.0", "-0")]
    {
        let source = format!("redis.call('set', 'n', {number}) return redis.call('get', 'n')");
        assert_eq!(scripts.run(&source), format!("'{text}'"), "{number}");
    }
    assert_eq!(scripts.run("redis.log(redis.LOG_WARNING, 'a', 1)"), "nil");
    assert_eq!(scripts.host.logged, ["Warning a 1"]);
}

#[test]
fn replies_become_values() {
    let mut scripts = Scripts::new();
    for (reply, expression, value) in [
        (":7\r\n", "r", "7"),
        ("$2\r\nab\r\n", "r", "'ab'"),
        ("$-1\r\n", "tostring(r)", "'false'"),
        ("*-1\r\n", "tostring(r)", "'false'"),
        ("_\r\n", "tostring(r)", "'nil'"),
        ("+OK\r\n", "r.ok", "'OK'"),
        ("*2\r\n:1\r\n-ERR a\r\n", "r[2].err", "'ERR a'"),
        ("#t\r\n", "tostring(r)", "'true'"),
        (",1.5\r\n", "r.double", "1"),
        (",inf\r\n", "tostring(r.double)", "'inf'"),
        ("(123\r\n", "r.big_number", "'123'"),
        ("%1\r\n$1\r\na\r\n:1\r\n", "r.map.a", "1"),
        ("~1\r\n$1\r\na\r\n", "tostring(r.set.a)", "'true'"),
        ("=7\r\ntxt:abc\r\n", "r.verbatim_string.string .. r.verbatim_string.format", "'abctxt'"),
        ("*1000000\r\n", "r", "-ERR the server's reply to a command of the script is not RESP @:1."),
    ] {
        let source = format!("local r = redis.call('raw', ARGV[1]) return {expression}");
        assert_eq!(scripts.try_run(&source, &[], &[reply]).unwrap(), value, "{reply:?}");
    }
    assert_eq!(scripts.run("return redis.call('version')"), "2");
    assert_eq!(scripts.run("redis.setresp(3) return redis.call('version')"), "3");
    assert_eq!(scripts.run("return redis.call('version')"), "2", "the next script begins with version 2");
}

#[test]
fn a_script_leaves_nothing_to_the_next_one() {
    let mut scripts = Scripts::new();
    for (source, reply) in [
        ("table.insert(redis, 1) table.insert(_G, 2) return {redis[1], _G[1]}", "*2 1 2"),
        ("return {tostring(rawget(redis, 1)), #_G}", "*2 'nil' 0"),
        ("getmetatable('').__index = nil", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
        ("getmetatable(_G).__index = nil", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
        (
            "table.insert(getmetatable(_G), 1) rawset(getmetatable(_G), 'a', 1)",
            "-ERR Attempt to modify a readonly table @:1.",
        ),
        ("return {#getmetatable(_G), getmetatable(_G).a == nil}", "*2 0 1"),
        ("return ('x'):upper()", "'X'"),
        ("return type(getmetatable(_G)) .. tostring(getmetatable(redis))", "'tablefalse'"),
        ("KEYS[1] = 'x' ARGV = nil", "-ERR user_script:1: Attempt to modify a readonly table @:1."),
        ("return #KEYS", "0"),
        ("return collectgarbage('stop')", "0"),
        ("cjson.encode_number_precision(3) return cjson.encode(0.12345)", "'0.123'"),
        ("return cjson.encode(0.12345)", "'0.12345'"),
    ] {
        assert_eq!(scripts.run(source), reply, "{source}");
    }
    // Incident: `pairs` and `ipairs` returned the table behind the face, so one script could
    // replace functions of all later ones, of other users too.
    for source in [
        "local _, c = pairs(redis) c.call = function() return 'pwned' end",
        "local _, c = ipairs(redis) c.call = function() return 'pwned' end",
        "for _, name in ipairs({'redis', '_G', 'string'}) do local _, c = pairs(_G[name]) rawset(c, 'call', 1) end",
        "local f, c = pairs(redis) local k = f(c) rawset(c, k, 1)",
    ] {
        let refused = scripts.run(source);
        assert!(refused.starts_with("-ERR") && refused.contains("readonly table"), "{source}: {refused}");
    }
    assert_eq!(scripts.run("return redis.call('get', 'n')"), "nil");
    assert_eq!(
        scripts.run("table.insert(redis, 'a') local n = 0 for _ in ipairs(redis) do n = n + 1 end return n"),
        "0"
    );
    for absent in [
        "os", "io", "debug", "require", "package", "module", "dofile", "loadfile", "print", "newproxy",
        "getfenv", "setfenv", "jit",
    ] {
        let found = scripts.run(&format!("return rawget(_G, '{absent}') == nil"));
        assert_eq!(found, "1", "{absent}");
    }
}

/// Incident: a stopped script left its values in the tables of the sandbox, because the loop that
/// removes them was stopped, too. The reply was that of the loop.
#[test]
fn a_stopped_script_leaves_nothing() {
    let mut scripts = Scripts::new();
    scripts.host.ticks_left = Some(20);
    let filled = "for i = 1, 100000 do table.insert(redis, i) end while true do end";
    let reply = scripts.run(filled);
    assert!(
        reply.starts_with("-ERR Script killed by user with SCRIPT KILL.") && reply.contains("@:1."),
        "{reply}"
    );
    scripts.host.ticks_left = None;
    assert_eq!(scripts.run("return #redis"), "0");
}

/// Incident: after a script had used up the memory, the next ones failed until the collector
/// happened to run: it needs memory itself.
#[test]
fn the_script_after_one_that_used_up_the_memory_runs() {
    let mut scripts = Scripts::new();
    for round in 0..5 {
        let greedy = format!("local t = {{}} for i = 1, 1e9 do t[i] = {{i}} end return {round}");
        let reply = scripts.run(&greedy);
        assert!(reply.contains("max-script-memory"), "{reply}");
        assert_eq!(scripts.run(&format!("return 'round {round}'")), format!("'round {round}'"));
        assert_eq!(scripts.run("return 'known'"), "'known'");
    }
}

/// Each script catches all errors and continues, except the end that the host asks for.
#[test]
fn no_script_survives_its_end() {
    const ENDLESS: [&str; 6] = [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function(e) return e end) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do pcall(f) end",
        "local function again() return pcall(again) end while true do pcall(again) xpcall(again, again) end",
    ];
    for source in ENDLESS {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(3);
        let reply = scripts.run(source);
        assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL."), "{source}: {reply}");
        scripts.host.ticks_left = None;
        assert_eq!(scripts.run("return {pcall(error, 'a')}"), "*2 nil 'a'", "the engine is usable");
    }
}

#[test]
fn memory_has_a_limit() {
    for source in [
        "return string.rep('x', 100000000)",
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) if #t < 100 then return end end",
    ] {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(100);
        let reply = scripts.run(source);
        let is_refused = reply.contains("max-script-memory, 33554432 bytes; raise it");
        assert!(is_refused || reply.contains("SCRIPT KILL"), "{source}: {reply}");
        scripts.host.ticks_left = None;
        assert_eq!(scripts.run("return #string.rep('x', 1000000)"), "1000000", "the memory is free again");
        assert!(scripts.engine.memory() < 40 << 20);
    }
    assert!(ScriptEngine::new(1000).unwrap_err().to_string().contains("max-script-memory, 1000 bytes"));
}

#[test]
fn faults_of_sources_are_errors() {
    let mut scripts = Scripts::new();
    let error = scripts.try_run("this is not lua", &[], &[]).unwrap_err();
    assert_eq!(error, "Error compiling script (new function): user_script:1: '=' expected near 'is'");
    assert_eq!(scripts.run("#!lua flags=no-writes\nerror('a')"), "-ERR user_script:2: a @:2.");
    assert_eq!(scripts.run("local a = {} local b = {a} a[1] = b return a").matches("*1").count(), 500);
}

/// A panic in a command ends the script, whatever that catches, and continues behind it. The next
/// script finds the engine as it was.
#[test]
fn no_script_survives_a_panic_of_a_command() {
    let mut scripts = Scripts::new();
    let source = "for _ = 1, 3 do pcall(redis.call, 'panic') redis.pcall('panic') end return 'on'";
    let ran = catch_unwind(AssertUnwindSafe(|| scripts.run(source)));
    let panic = ran.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a command fails"));
    assert_eq!(scripts.run("redis.call('set', 'key', 'value') return redis.call('get', 'key')"), "'value'");
}
