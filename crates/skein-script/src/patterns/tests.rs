//! The functions beside those of Lua itself, which are in the same state under `theirs`.

use std::ops::ControlFlow;
use std::rc::Rc;

use mlua::{Function, HookTriggers, Lua, Table, VmState};
use proptest::prelude::*;

use super::add_to;
use crate::failure::text_of;
use crate::run_state::RunState;

/// A state with `ours` and `theirs`, and the state that the functions point to.
struct Both {
    // Dropped first: its functions point to the other one.
    lua: Lua,
    _state: Rc<RunState>,
}

/// Runs a function of both libraries, and shows all that it returns or raises, as one text.
const SHOW: &str = r#"
    local function show(...)
      local shown = {}
      for at = 1, select('#', ...) do
        shown[at] = type((select(at, ...))) .. ":" .. tostring((select(at, ...)))
      end
      return table.concat(shown, "|")
    end
    local name, subject, pattern, extra, count = ...
    local function run(library)
      if name ~= "gmatch" then
        return show(pcall(library[name], subject, pattern, extra, count))
      end
      local found = {}
      local ok, raised = pcall(function()
        local next = library.gmatch(subject, pattern)
        for at = 1, 50 do
          local values = show(next())
          if values == "" then break end
          found[at] = values
        end
      end)
      return table.concat(found, "/") .. tostring(raised)
    end
    return run(ours), run(theirs)
"#;

impl Both {
    fn new() -> Self {
        let (lua, state) = (Lua::new(), Rc::new(RunState::default()));
        let ours = lua.create_table().unwrap();
        add_to(&lua, &ours, &state).unwrap();
        lua.globals().set("ours", ours).unwrap();
        lua.globals().set("theirs", lua.globals().get::<Table>("string").unwrap()).unwrap();
        Self { lua, _state: state }
    }

    fn show(&self) -> Function {
        self.lua.load(SHOW).into_function().unwrap()
    }

    /// Runs a chunk with `f` as a function of ours and of Lua's: both return the same.
    fn agree(&self, chunk: &str) {
        let run = |library: &str| -> String {
            let source = format!("local string = {library} return tostring((function() {chunk} end)())");
            self.lua.load(source).set_name("=t").eval().unwrap_or_else(|error| text_of(&error))
        };
        assert_eq!(run("ours"), run("theirs"), "{chunk}");
    }
}

#[test]
fn results_are_those_of_lua() {
    let both = Both::new();
    for chunk in [
        "return string.find('hello', 'l')",
        "return table.concat({string.find('hello', '(l)(l)()')}, ',')",
        "return table.concat({string.find('a.b', '.', 1, true)}, ',')",
        "return table.concat({string.find('a\\0b', 'b')}, ',')",
        "return table.concat({string.find('a\\0b%', '\\0b%')}, ',')",
        "return string.find('abc', '', 10)",
        "return string.find('abc', '', -10)",
        "return string.find('abc', 'b', -2)",
        "return string.match('2026-11-27', '(%d+)-(%d+)-(%d+)')",
        "return string.match(12345, '%d', 3)",
        "return string.match('  trim  ', '^%s*(.-)%s*$') .. '|'",
        "return string.match('THE (quick) fox', '%((%a+)%)')",
        "return string.match('f(a(b)c)d', '%b()')",
        "return string.gsub('THE (quick) fox', '%f[%a]%a+', '<%0>')",
        "return string.match('abcabc', '(abc)%1')",
        "return string.match('xx', '()%1')",
        "return string.gsub('hello world', '(%w+)', '%1 %1')",
        "return string.gsub('abc', '%w', '%0%0', 2)",
        "return string.gsub('abc', '', '-')",
        "return string.gsub('abc', '()', '%1')",
        "return string.gsub('abc', 'b', '%') == 'a\\0c'",
        "return string.gsub('abc', 'b', '%%%x')",
        "return string.gsub('$name is $x', '%$(%w+)', {name = 'lua', x = 7})",
        "return string.gsub('abc', '%w', function(c) if c == 'b' then return false end return c .. '.' end)",
        "return string.gsub('abc', '^a', 'x')",
        "return string.gsub(123, '2', 7)",
        "return string.gsub('abc', 'b', 'x', -1)",
        "return string.gsub('ab', '.', setmetatable({}, {__index = function(_, k) return k .. k end}))",
        "local n = 0 for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do n = n + v end return n",
        "local s = '' for w in string.gmatch('one two', '%a+') do s = s .. w end return s",
        "local s = 0 for w in string.gmatch('abc', '') do s = s + 1 end return s",
        "return string.gmatch('a^b', '^b')()",
        "return string.find('a]b-c^', '[]]')",
        "return string.find('a-b', '[a%-]', 2)",
        "return string.find('x^', '[x^]', 2)",
        "return string.gsub('\\9\\11\\12 ', '%s', '.')",
        "return string.gsub('a\\0b', '%z', '0')",
    ] {
        both.agree(chunk);
    }
}

/// The errors have the text and the place of Lua's.
#[test]
fn errors_are_those_of_lua() {
    let both = Both::new();
    for call in [
        "find('a', '%')",
        "find('a', '[a')",
        "find('a', '[%')",
        "find('a', '%f')",
        "find('a', '%b')",
        "find('a', '%bx')",
        "find('a', '(a')",
        "find('a', 'a)')",
        "find('a', '%1')",
        "find('a', '(%1)')",
        "find('a', '%0')",
        "find('a', string.rep('()', 33))",
        "find()",
        "find('a')",
        "find({}, 'a')",
        "find('a', 'a', {})",
        "match('a')",
        "match(nil, 'a')",
        "match('a', '(()a')",
        "gmatch('a')",
        "gsub('a')",
        "gsub('a', 'a')",
        "gsub('a', 'a', true)",
        "gsub('a', 'a', 'b', 'c')",
        "gsub('a', 'a', '%2')",
        "gsub('a', '(a', '%1')",
        "gsub('a', 'a', function() return {} end)",
        "gsub('a', '.', {a = print})",
        "gsub('abc', '.', function(c) error('in ' .. c) end)",
    ] {
        let call = call.replace("string.rep('()', 33)", &format!("'{}'", "()".repeat(33)));
        both.agree(&format!("return select(2, pcall(function() string.{call} end))"));
        both.agree(&format!("return string.{call}"));
    }
}

/// Incident: `string.find(string.rep('a', 30000), string.rep('a*', 30000))` by a user with
/// read-only rights. Consequence: Lua's matcher recursed once for each item, the worker's stack
/// overflowed and the process ended. Fix: a matcher without recursion, which refuses patterns that
/// need too much.
#[test]
fn long_patterns_need_no_stack() {
    let run = || {
        let both = Both::new();
        let found = |chunk: &str| -> String {
            let chunk = format!("return tostring(select(2, pcall(function() {chunk} end)))");
            both.lua.load(chunk).eval().unwrap()
        };
        let long = |item: &str, count: usize| format!("string.rep('{item}', {count})");
        for (subject, pattern) in [
            (long("a", 30_000), long("a*", 30_000)),
            (long("a", 30_000), long("a?", 30_000)),
            (long("a", 30_000), long("a-", 30_000) + " .. 'b'"),
        ] {
            let text = found(&format!("return ours.find({subject}, {pattern})"));
            assert!(text == "1" || text.ends_with("pattern too complex"), "{pattern}: {text}");
        }
        assert_eq!(found(&format!("return ours.find({0}, {0} .. '$')", long("a", 1_000_000))), "1");
        assert_eq!(found("return #ours.match(theirs.rep('a', 1e6), '.-$')"), "1000000");
        assert_eq!(
            found("return #ours.match(theirs.rep('(', 1e6) .. theirs.rep(')', 1e6), '%b()')"),
            "2000000"
        );
        let nested = "local function deep(n) return (ours.gsub('x', '.', function() return n == 0 and 'end' or deep(n - 1) end)) end return deep(150)";
        assert_eq!(found(nested), "end");
    };
    // A small stack: Lua's own would need more for each of these.
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

/// A pattern with exponential cost is interrupted by the hook of the engine.
#[test]
fn a_costly_pattern_is_interrupted() {
    let both = Both::new();
    let triggers = HookTriggers::new().every_nth_instruction(100_000);
    let ticks = Rc::new(std::cell::Cell::new(0));
    let seen = Rc::clone(&ticks);
    both.lua
        .set_hook(triggers, move |_, _| {
            seen.set(seen.get() + 1);
            match if seen.get() < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) } {
                ControlFlow::Continue(()) => Ok(VmState::Continue),
                ControlFlow::Break(()) => Err(mlua::Error::RuntimeError("stopped".into())),
            }
        })
        .unwrap();
    for chunk in [
        "ours.find(theirs.rep('a', 200), theirs.rep('a*', 100) .. 'b')",
        "ours.find(theirs.rep('a', 1e6), '.-.-.-b')",
        "ours.match(theirs.rep('a', 1e6), '(a*)%1*b')",
        "ours.gsub(theirs.rep('(', 1e5), '%b()', '')",
        "for _ in ours.gmatch(theirs.rep('a', 1e6), 'a*b') do end",
        "ours.find(theirs.rep('b', 1e5), '[' .. theirs.rep('a', 1e5) .. ']')",
        "ours.gsub(theirs.rep('a', 3e6), '', theirs.rep('b', 100))",
    ] {
        ticks.set(0);
        let error = both.lua.load(chunk).exec().unwrap_err().to_string();
        assert!(error.contains("stopped"), "{chunk}: {error}");
        assert_eq!(ticks.get(), 5, "{chunk}");
    }
}

/// Prints the time of ordinary calls as a ratio to that of Lua's functions, in one run: use
/// `cargo test --release -p skein-script --lib patterns -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn time_beside_lua() {
    const ROUNDS: u32 = 7;
    let both = Both::new();
    for call in [
        "find(line, 'value')",
        "find(line, ':', 1, true)",
        "find(line, '^user:%d+')",
        "match(line, '^(%a+):(%d+)')",
        "match(line, '([^:]*)$')",
        "gsub(line, '%s+', ' ')",
        "gsub(line, '(%w+)=(%w+)', '%2=%1')",
        "gsub(line, '%d', function(d) return d end)",
        "gmatch(line, '[^,]+')()",
        "find(long, 'needle')",
        "match(long, '.-(n%a+)')",
        "gsub(long, 'a', 'b')",
    ] {
        let time = |library: &str| {
            let chunk = format!(
                "local line, long = 'user:1234:name=alice, city=paris, value', ('haystack '):rep(500) .. 'needle'
                 for _ = 1, ... do {library}.{call} end"
            );
            let run = both.lua.load(chunk).into_function().unwrap();
            let begun = std::time::Instant::now();
            run.call::<()>(if call.contains("long") { 500 } else { 20_000 }).unwrap();
            begun.elapsed().as_secs_f64()
        };
        let best = |library: &str| (0..ROUNDS).map(|_| time(library)).fold(f64::INFINITY, f64::min);
        println!("{:.2} {call}", best("ours") / best("theirs"));
    }
}

/// Parts of patterns, the malformed ones included.
fn pattern() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        4 => "[ab]".prop_map(String::from),
        2 => "%[abcdlpsuwxzAW%.bf0123]".prop_map(String::from),
        2 => r"\[\^?[ab%\]\-c]{1,4}\]".prop_map(String::from),
        1 => "%f\\[[a%w]{1,2}\\]",
        1 => "%b(ab|\\(\\)|aa)",
        2 => "[().$^%\\[\\]*+?-]",
        1 => Just("\0".to_owned()),
    ];
    let quantified =
        (item, prop_oneof![4 => Just(""), 1 => Just("*"), 1 => Just("+"), 1 => Just("-"), 1 => Just("?")]);
    let parts = prop::collection::vec(quantified.prop_map(|(item, often)| item + often), 0..7);
    let grouped = (parts, any::<bool>(), 0_usize..7).prop_map(|(mut parts, group, at)| {
        if group && at < parts.len() {
            parts[at] = format!("({})", parts[at]);
        }
        parts.concat()
    });
    (prop_oneof![3 => Just(""), 1 => Just("^")], grouped).prop_map(|(anchor, rest)| anchor.to_owned() + &rest)
}

proptest! {
    #[test]
    fn every_function_agrees_with_lua(
        subject in "[abAB01 ().\\-\\]\0]{0,14}",
        pattern in pattern(),
        template in "[ab%012]{0,4}",
        init in -4_i32..8,
    ) {
        let both = Both::new();
        let show = both.show();
        let bytes = |text: &str| both.lua.create_string(text).unwrap();
        for (name, extra) in [("find", None), ("match", None), ("gmatch", None), ("gsub", Some(&template))] {
            let extra = match extra {
                Some(template) => mlua::Value::String(bytes(template)),
                None => mlua::Value::Integer(i64::from(init)),
            };
            let (ours, theirs): (mlua::LuaString, mlua::LuaString) =
                show.call((name, bytes(&subject), bytes(&pattern), extra, mlua::Value::Nil)).unwrap();
            prop_assert_eq!(ours.to_string_lossy(), theirs.to_string_lossy(), "{} {:?} {:?}", name, subject, pattern);
        }
    }
}
