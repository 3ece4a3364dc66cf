//! Scripts that attack the interpreter: any functions with arguments at the limits, deep and cyclic
//! tables, metatables, coroutines, chunks within chunks, and a collector that runs all the time.
//!
//! An input is a list of [`Step`]s. Every call is protected, so a script goes on after its errors.

use std::fmt::{self, Write as _};
use std::ops::ControlFlow;
use std::time::Duration;

use arbitrary::Arbitrary;
use skein_script::{ReplySink, RespVersion, ScriptDigest, ScriptEngine, ScriptHost, ScriptLogLevel, Stop};

mod words;

use words::{FUNCTIONS, METHODS, NUMBERS, PATTERNS, TEXTS};

/// The variables of a script: results go to one, and arguments come from all.
const VARIABLES: usize = 6;
/// Steps of a script, those of chunks and functions within it included.
const MOST_STEPS: usize = 60;
/// Chunks and functions within each other.
const MOST_DEPTH: usize = 4;
const MEMORY: usize = 16 << 20;
/// Ticks of a script, each some milliseconds.
const MOST_TICKS: u32 = 40;

/// An argument.
#[derive(Arbitrary, Debug)]
pub enum Operand {
    /// A number at a limit.
    Limit(u8),
    /// A small number.
    Small(i8),
    /// A text at a limit.
    Text(u8),
    /// A pattern, a format, or one of arbitrary bytes.
    Pattern(u8),
    /// Any bytes, as a text.
    Bytes([u8; 3]),
    /// A function of a library.
    Function(u8),
    /// A value that an earlier step has left.
    Variable(u8),
    /// Another variable's field.
    Field(u8, u8),
    /// All values of an array.
    Unpacked(u8),
    /// Nil.
    Nil,
    /// The arguments of the function around it.
    Dots,
}

/// A step.
#[derive(Arbitrary, Debug)]
pub enum Step {
    /// Calls a function.
    Call(u8, u8, Vec<Operand>),
    /// Calls a method of a text.
    Method(u8, Operand, Vec<Operand>),
    /// Applies an operator.
    Operator(u8, u8, Operand, Operand),
    /// Makes a table of these.
    Table(u8, Vec<Operand>),
    /// Sets a field.
    Set(u8, Operand, Operand),
    /// Puts a table into itself, so many times: deep, or cyclic.
    Nest(u8, u8, bool),
    /// Sets a metamethod.
    Metamethod(u8, u8, Operand),
    /// Makes a function of these steps.
    Closure(u8, Vec<Step>),
    /// Makes a coroutine of a variable.
    Coroutine(u8, u8),
    /// Yields.
    Yield(Operand),
    /// Compiles these steps under a name.
    Chunk(u8, Operand, Vec<Step>),
    /// Repeats these steps.
    Loop(u8, Vec<Step>),
    /// Sorts, with a variable or a constant as the comparator.
    Sort(u8, u8),
    /// Runs the collector.
    Collect(u8),
    /// Raises an error.
    Error(Operand),
    /// Calls a command. Its reply is this text.
    Command(u8, Vec<Operand>),
}

/// Writes scripts.
#[derive(Default)]
struct ScriptWriter {
    text: String,
    steps: usize,
}

fn pick<'w>(words: &[&'w str], number: u8) -> &'w str {
    words[usize::from(number) % words.len()]
}

fn variable(number: u8) -> String {
    format!("v{}", usize::from(number) % VARIABLES)
}

/// Writes bytes as a text of Lua.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("'");
    for byte in bytes {
        let _ = write!(text, "\\{byte:03}");
    }
    text + "'"
}

impl Operand {
    fn text(&self) -> String {
        match self {
            Self::Limit(number) => pick(NUMBERS, *number).to_owned(),
            Self::Small(number) => format!("({number})"),
            Self::Text(number) => pick(TEXTS, *number).to_owned(),
            Self::Pattern(number) => pick(PATTERNS, *number).to_owned(),
            Self::Bytes(bytes) => quoted(bytes),
            Self::Function(number) => pick(FUNCTIONS, *number).to_owned(),
            Self::Variable(number) => variable(*number),
            Self::Field(table, key) => format!("field({}, {})", variable(*table), variable(*key)),
            Self::Unpacked(number) => format!("unpacked({})", variable(*number)),
            Self::Nil => "nil".to_owned(),
            Self::Dots => "...".to_owned(),
        }
    }
}

fn list(operands: &[Operand]) -> String {
    operands.iter().map(Operand::text).collect::<Vec<_>>().join(", ")
}

fn after_comma(operands: &[Operand]) -> String {
    operands.iter().map(|operand| format!(", {}", operand.text())).collect()
}

impl ScriptWriter {
    /// Writes a function of steps, as an expression.
    fn function(&mut self, steps: &[Step], depth: usize) -> String {
        let outer = std::mem::take(&mut self.text);
        self.all(steps, depth + 1);
        let inner = std::mem::replace(&mut self.text, outer);
        format!("function(...) {inner} return v0, v1, ... end")
    }

    fn all(&mut self, steps: &[Step], depth: usize) {
        for step in steps {
            self.steps += 1;
            if self.steps > MOST_STEPS || depth > MOST_DEPTH {
                return;
            }
            let line = self.step(step, depth);
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn step(&mut self, step: &Step, depth: usize) -> String {
        match step {
            Step::Call(to, function, operands) => {
                format!("{} = call({}{})", variable(*to), pick(FUNCTIONS, *function), after_comma(operands))
            }
            Step::Method(method, on, operands) => {
                let (method, on) = (pick(METHODS, *method), on.text());
                format!(
                    "v0 = call(function(s, ...) return s:{method}(...) end, {on}{})",
                    after_comma(operands)
                )
            }
            Step::Operator(to, operator, a, b) => {
                let operator = pick(words::OPERATORS, *operator);
                let (to, a, b) = (variable(*to), a.text(), b.text());
                format!("{to} = call(function(a, b) return {operator} end, {a}, {b})")
            }
            Step::Table(to, operands) => format!("{} = {{{}}}", variable(*to), list(operands)),
            Step::Set(table, key, value) => {
                format!("call(rawset, {}, {}, {})", variable(*table), key.text(), value.text())
            }
            Step::Nest(table, levels, is_cyclic) => {
                let (table, levels) = (variable(*table), u32::from(*levels) * 40);
                if *is_cyclic {
                    format!("{table} = {{1}} {table}[1] = {table} {table}[{table}] = {table}")
                } else {
                    format!("for _ = 1, {levels} do {table} = {{{table}}} end")
                }
            }
            Step::Metamethod(table, name, value) => {
                let (table, name) = (variable(*table), pick(words::METAMETHODS, *name));
                format!("call(meta, {table}, '{name}', {})", value.text())
            }
            Step::Closure(to, steps) => format!("{} = {}", variable(*to), self.function(steps, depth)),
            Step::Coroutine(to, of) => {
                format!("{} = call(coroutine.wrap, {})", variable(*to), variable(*of))
            }
            Step::Yield(value) => format!("call(coroutine.yield, {})", value.text()),
            Step::Chunk(to, name, steps) => {
                let inner = self.function(steps, depth);
                let name = name.text();
                format!(
                    "{} = call(loadstring, {}, {name})",
                    variable(*to),
                    quoted(format!("return {inner}").as_bytes())
                )
            }
            Step::Loop(times, steps) => {
                format!("for i = 1, {} do v1 = i call({}, v0) end", times % 64, self.function(steps, depth))
            }
            Step::Sort(table, by) => format!("call(table.sort, {}, {})", variable(*table), variable(*by)),
            Step::Collect(times) => format!("collectgarbage() collectgarbage('step', {times})"),
            Step::Error(value) => format!("call(error, {}, 2)", value.text()),
            Step::Command(reply, operands) => {
                format!(
                    "v2 = call(redis.call, 'x', {}{})",
                    pick(words::REPLIES, *reply),
                    after_comma(operands)
                )
            }
        }
    }
}

/// A script of steps. `cargo fuzz fmt` prints its text.
#[derive(Arbitrary)]
pub struct GeneratedScript(Vec<Step>);

impl fmt::Debug for GeneratedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl GeneratedScript {
    /// Returns the text of the script.
    pub fn text(&self) -> String {
        script_of(&self.0)
    }
}

fn script_of(steps: &[Step]) -> String {
    let mut writer = ScriptWriter::default();
    writer.all(steps, 0);
    format!(
        "local v0, v1, v2, v3, v4, v5 = {{}}, 'text', 3, error, {{1, 2, 3}}, nil\n{}\n{}\nreturn {{v0, v1, v2, v3, v4}}",
        words::PRELUDE,
        writer.text
    )
}

/// Runs a script in an engine of its own, which must be usable afterwards.
///
/// # Panics
/// If it is not.
pub fn run_script(source: &str) {
    let Ok(mut engine) = ScriptEngine::new(MEMORY) else { panic!("an engine does not begin") };
    let mut host = Echo { arguments: Vec::new(), ticks: 0 };
    run(&mut engine, &mut host, source);
    host.ticks = 0;
    assert_eq!(run(&mut engine, &mut host, "return #('x'):rep(10)").integers, [10], "after {source}");
}

fn run(engine: &mut ScriptEngine, host: &mut Echo, source: &str) -> Counted {
    let mut reply = Counted::default();
    let script = (ScriptDigest::of(source.as_bytes()), source.as_bytes());
    let arguments = [&b"argument"[..], &[0, 255]];
    // An error is that of a text that is too long to compile.
    let _ = engine.run(script, arguments.into_iter(), arguments.into_iter(), host, &mut reply);
    reply
}

/// A server that replies with the second argument.
struct Echo {
    arguments: Vec<Vec<u8>>,
    ticks: u32,
}

impl ScriptHost for Echo {
    fn argument(&mut self, bytes: &[u8]) {
        self.arguments.push(bytes.to_vec());
    }

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) -> Duration {
        let arguments = std::mem::take(&mut self.arguments);
        reply.extend_from_slice(arguments.get(1).map_or(b"+OK\r\n", |text| text));
        Duration::ZERO
    }

    fn forget_arguments(&mut self) {
        self.arguments.clear();
    }

    fn may_call(&mut self) -> Option<bool> {
        self.arguments.clear();
        Some(true)
    }

    fn log(&mut self, _: ScriptLogLevel, _: &[u8]) {}

    fn has_written(&self) -> bool {
        false
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        self.ticks += 1;
        if self.ticks > MOST_TICKS {
            ControlFlow::Break(Stop("stopped".into()))
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Reads all of a reply.
#[derive(Default)]
struct Counted {
    integers: Vec<i64>,
    bytes: usize,
}

impl ReplySink for Counted {
    fn admits(&self, bytes: usize) -> bool {
        bytes < MEMORY
    }
    fn clear(&mut self) {
        self.integers.clear();
    }
    fn too_long(&mut self) {}
    fn null(&mut self) {}
    fn boolean(&mut self, _: bool) {}
    fn integer(&mut self, value: i64) {
        self.integers.push(value);
    }
    fn double(&mut self, _: f64) {}
    fn bulk(&mut self, bytes: &[u8]) {
        self.bytes += bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>();
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
