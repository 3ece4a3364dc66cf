//! `cjson.decode(text)`.
//!
//! ```text
//!  text:   { "a" : [ 1 , …
//!  stack:  table  "a"  table  1
//!  frames: Object       Array { length: 0 }
//! ```

use mlua::{Lua, MultiValue, Result, Value};

use super::options::Options;
use super::tokens::{Token, Tokens};
use crate::libraries::arguments::Arguments;
use crate::libraries::errors::{argument_error, error};
use crate::run_state::RunState;
use crate::stack::{Stack, protected};
use crate::work_meter::{Stopped, WorkMeter, shared_state, stopped_error};

/// Returns the value of a JSON text.
pub(super) fn decode(lua: &Lua, values: MultiValue, options: &Options) -> Result<Value> {
    let arguments = Arguments::new(lua, values);
    if arguments.count() != 1 {
        return Err(argument_error(lua, 1, "expected 1 argument"));
    }
    let text = arguments.string(1)?;
    let text = text.as_bytes();
    if matches!(text[..], [0, _, ..] | [_, 0, ..]) {
        return Err(error(lua, "JSON parser does not support UTF-16 or UTF-32"));
    }
    let state = shared_state(lua);
    let (mut string, mut frames) = (Vec::new(), Vec::new());
    let mut decoder = Decoder {
        tokens: Tokens::new(&text, &mut string, options.decode_invalid_numbers),
        frames: &mut frames,
        max_depth: options.decode_max_depth,
        work: WorkMeter::new(state.as_deref()),
    };
    // SAFETY: `decode` owns nothing but the decoder, which owns nothing that must be dropped.
    let (outcome, value) = unsafe {
        protected(lua, (), |stack| {
            let outcome = decoder.decode(stack);
            if outcome.is_err() {
                stack.clear();
            }
            outcome
        })?
    };
    outcome.map_err(|failure: Failure| failure.into_error(lua, state.as_deref()))?;
    Ok(value)
}

type Outcome<T = ()> = std::result::Result<T, Failure>;

/// Why a text has no value.
#[derive(Clone, Copy)]
enum Failure {
    Unexpected { expected: &'static str, found: Token, character: usize },
    Depth { depth: usize, character: usize },
    Stopped,
}

impl From<Stopped> for Failure {
    fn from(Stopped: Stopped) -> Self {
        Failure::Stopped
    }
}

impl Failure {
    fn into_error(self, lua: &Lua, state: Option<&RunState>) -> mlua::Error {
        match self {
            Failure::Stopped => stopped_error(state),
            Failure::Unexpected { expected, found, character } => {
                let found = found.name();
                error(lua, format_args!("Expected {expected} but found {found} at character {character}"))
            }
            Failure::Depth { depth, character } => {
                let text =
                    format!("Found too many nested data structures ({depth}) at character {character}");
                error(lua, text)
            }
        }
    }
}

/// An array or object that is partly decoded.
#[derive(Clone, Copy)]
enum Frame {
    /// On the stack: the table.
    Array { length: i32 },
    /// On the stack: the table and the key of the value.
    Object,
}

struct Decoder<'d> {
    tokens: Tokens<'d>,
    frames: &'d mut Vec<Frame>,
    max_depth: i32,
    work: WorkMeter<'d>,
}

impl Decoder<'_> {
    /// Pushes the value of the text.
    fn decode(&mut self, stack: &mut Stack) -> Outcome {
        let mut token = self.tokens.next();
        loop {
            token = match self.begin_value(token, stack)? {
                Some(first) => first,
                None => match self.end_value(stack)? {
                    Some(next) => next,
                    None => return Ok(()),
                },
            };
        }
    }

    fn unexpected<T>(&self, expected: &'static str, found: Token) -> Outcome<T> {
        Err(Failure::Unexpected { expected, found, character: self.tokens.character() })
    }

    /// Pushes a value. Returns the token of the first value in it, if it is not complete.
    fn begin_value(&mut self, token: Token, stack: &mut Stack) -> Outcome<Option<Token>> {
        self.work.spend(0)?;
        match token {
            Token::String => stack.push_bytes(self.tokens.string()),
            Token::Number(value) => stack.push_number(value),
            Token::Boolean(value) => stack.push_boolean(value),
            Token::Null => stack.push_null(),
            Token::ObjectBegin => {
                self.begin_table(Frame::Object, stack)?;
                match self.tokens.next() {
                    Token::ObjectEnd => self.end_table(),
                    key => return self.key(key, stack).map(Some),
                }
            }
            Token::ArrayBegin => {
                self.begin_table(Frame::Array { length: 0 }, stack)?;
                match self.tokens.next() {
                    Token::ArrayEnd => self.end_table(),
                    first => return Ok(Some(first)),
                }
            }
            other => return self.unexpected("value", other),
        }
        Ok(None)
    }

    fn begin_table(&mut self, frame: Frame, stack: &mut Stack) -> Outcome {
        let depth = self.frames.len() + 1;
        let within_limit = i32::try_from(depth).is_ok_and(|depth| depth <= self.max_depth);
        if !within_limit || !stack.reserve(3) {
            return Err(Failure::Depth { depth, character: self.tokens.character() });
        }
        stack.push_table();
        self.frames.push(frame);
        Ok(())
    }

    fn end_table(&mut self) {
        self.frames.pop();
    }

    /// Pushes a key, and returns the first token of its value.
    fn key(&mut self, key: Token, stack: &mut Stack) -> Outcome<Token> {
        if key != Token::String {
            return self.unexpected("object key string", key);
        }
        stack.push_bytes(self.tokens.string());
        match self.tokens.next() {
            Token::Colon => Ok(self.tokens.next()),
            other => self.unexpected("colon", other),
        }
    }

    /// Adds the complete value on top to its table, and tables that this completes to theirs.
    /// Returns the first token of the next value, or `None` at the end of the text.
    fn end_value(&mut self, stack: &mut Stack) -> Outcome<Option<Token>> {
        loop {
            match self.frames.last_mut() {
                None => match self.tokens.next() {
                    Token::End => return Ok(None),
                    other => return self.unexpected("the end", other),
                },
                Some(Frame::Array { length }) => {
                    *length += 1;
                    stack.set_element(*length);
                    match self.tokens.next() {
                        Token::Comma => return Ok(Some(self.tokens.next())),
                        Token::ArrayEnd => self.end_table(),
                        other => return self.unexpected("comma or array end", other),
                    }
                }
                Some(Frame::Object) => {
                    stack.set();
                    match self.tokens.next() {
                        Token::Comma => {
                            let key = self.tokens.next();
                            return self.key(key, stack).map(Some);
                        }
                        Token::ObjectEnd => self.end_table(),
                        other => return self.unexpected("comma or object end", other),
                    }
                }
            }
        }
    }
}
