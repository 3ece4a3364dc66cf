//! The tokens of a JSON text.
//!
//! Beyond JSON, the tokenizer accepts the numbers of C's `strtod`, unless an option excludes it. A
//! zero byte ends the text.

use crate::libraries::number::parse_prefix;

/// A token. The text of a string is in the buffer of [`Tokens`].
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    /// Bytes that are no token, and why.
    Error(&'static str),
}

impl Token {
    /// Returns the name of the token in error texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(reason) => reason,
        }
    }
}

/// A text that is being read.
pub(super) struct Tokens<'t> {
    text: &'t [u8],
    /// The position of the next token, or of a space before it.
    position: usize,
    /// The position of the last token, or of the error in it.
    token_position: usize,
    /// The bytes of the last string.
    string: &'t mut Vec<u8>,
    accept_invalid_numbers: bool,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t [u8], string: &'t mut Vec<u8>, accept_invalid_numbers: bool) -> Self {
        Self { text, position: 0, token_position: 0, string, accept_invalid_numbers }
    }

    /// Returns the bytes of the last string.
    pub(super) fn string(&self) -> &[u8] {
        self.string
    }

    /// Returns the position of the last token, or of the error in it, counted from 1.
    pub(super) fn character(&self) -> usize {
        self.token_position + 1
    }

    /// Returns the byte at a position. The end reads as zero bytes.
    fn byte(&self, position: usize) -> u8 {
        self.text.get(position).copied().unwrap_or(0)
    }

    /// Returns the next token.
    pub(super) fn next(&mut self) -> Token {
        while matches!(self.byte(self.position), b' ' | b'\t' | b'\n' | b'\r') {
            self.position += 1;
        }
        self.token_position = self.position;
        let token = match self.byte(self.position) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            0 => return Token::End,
            b'"' => return self.next_string(),
            b'-' | b'0'..=b'9' if !self.accept_invalid_numbers && self.is_invalid_number() => {
                return Token::Error("invalid number");
            }
            b'-' | b'0'..=b'9' => return self.next_number(),
            _ => return self.next_word(),
        };
        self.position += 1;
        token
    }

    fn starts_with(&self, word: &[u8]) -> bool {
        self.text[self.position..].starts_with(word)
    }

    fn next_word(&mut self) -> Token {
        let words: [(&[u8], Token); 3] =
            [(b"true", Token::Boolean(true)), (b"false", Token::Boolean(false)), (b"null", Token::Null)];
        if let Some((word, token)) = words.into_iter().find(|(word, _)| self.starts_with(word)) {
            self.position += word.len();
            return token;
        }
        if self.accept_invalid_numbers && self.is_invalid_number() {
            return self.next_number();
        }
        Token::Error("invalid token")
    }

    /// Whether the number here is one that `strtod` accepts and JSON does not.
    fn is_invalid_number(&self) -> bool {
        let rest = &self.text[self.position..];
        let magnitude = match rest.first() {
            Some(b'+') => return true,
            Some(b'-') => &rest[1..],
            _ => rest,
        };
        match magnitude {
            [b'0', next, ..] => next.is_ascii_digit() || next.eq_ignore_ascii_case(&b'x'),
            [a, b, c, ..] => {
                let word = [a, b, c].map(u8::to_ascii_lowercase);
                word == *b"inf" || word == *b"nan"
            }
            _ => false,
        }
    }

    fn next_number(&mut self) -> Token {
        match parse_prefix(&self.text[self.position..]) {
            Some((value, length)) => {
                self.position += length;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        }
    }

    fn next_string(&mut self) -> Token {
        self.string.clear();
        self.position += 1;
        loop {
            let rest = &self.text[self.position..];
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0)).unwrap_or(rest.len());
            self.string.extend_from_slice(&rest[..plain]);
            self.position += plain;
            let problem = match self.byte(self.position) {
                b'"' => {
                    self.position += 1;
                    return Token::String;
                }
                b'\\' => match self.unescape() {
                    Ok(()) => continue,
                    Err(problem) => problem,
                },
                _ => "unexpected end of string",
            };
            self.token_position = self.position;
            return Token::Error(problem);
        }
    }

    /// Reads the escape here. An error leaves the position at the backslash.
    fn unescape(&mut self) -> Result<(), &'static str> {
        let byte = match self.byte(self.position + 1) {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unescape_unicode().ok_or("invalid unicode escape code"),
            _ => return Err("invalid escape code"),
        };
        self.string.push(byte);
        self.position += 2;
        Ok(())
    }

    /// Reads the escape of a character, or those of a surrogate pair.
    fn unescape_unicode(&mut self) -> Option<()> {
        const HIGH_SURROGATES: std::ops::RangeInclusive<u32> = 0xd800..=0xdbff;
        const LOW_SURROGATES: std::ops::RangeInclusive<u32> = 0xdc00..=0xdfff;
        let first = self.code_unit(self.position)?;
        let (code, length) = if HIGH_SURROGATES.contains(&first) {
            let second = self.code_unit(self.position + 6).filter(|unit| LOW_SURROGATES.contains(unit))?;
            (0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff), 12)
        } else {
            (first, 6)
        };
        let character = char::from_u32(code)?;
        self.string.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.position += length;
        Some(())
    }

    /// Returns the code unit of the escape at a position.
    fn code_unit(&self, position: usize) -> Option<u32> {
        let digits = self.text.get(position..position + 6)?.strip_prefix(b"\\u")?;
        let add = |code: u32, byte: &u8| Some(code << 4 | char::from(*byte).to_digit(16)?);
        digits.iter().try_fold(0, add)
    }
}
