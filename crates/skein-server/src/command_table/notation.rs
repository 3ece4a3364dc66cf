//! The notation of arguments, and its parser.
//!
//! ```text
//!   value                     a string
//!   seconds:int               another type: int, double, pattern or time (Unix time)
//!   key@0                     a key, of the first key specification
//!   pattern@1:pattern         another type with the keys of a specification
//!   NX   auto_id'*'           a token, and one whose name is not the token in lower case
//!   EX=seconds:int            a token and its argument
//!   unit(M|KM)                one of several
//!   limit(offset count)       several together
//!   value...   GET=x...+      repeated, without and with its token
//!   [COUNT=count:int]         optional
//! ```

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocType {
    String,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,
    PureToken,
    OneOf,
    Block,
}

impl DocType {
    /// Returns the name in the reply of COMMAND DOCS.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Key => "key",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::PureToken => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }

    fn of_suffix(word: &str) -> Option<Self> {
        Some(match word {
            "int" => Self::Integer,
            "double" => Self::Double,
            "pattern" => Self::Pattern,
            "time" => Self::UnixTime,
            _ => return None,
        })
    }
}

/// An argument of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DocArgument {
    pub name: String,
    pub kind: DocType,
    pub key_spec: Option<usize>,
    pub token: Option<&'static str>,
    pub is_optional: bool,
    pub is_multiple: bool,
    pub repeats_token: bool,
    /// Of a block or a choice.
    pub parts: Vec<DocArgument>,
}

/// Returns the arguments of a text in the notation.
///
/// # Errors
/// If the text is malformed: names the expected text and the rest of the text.
pub(crate) fn parse(text: &'static str) -> Result<Vec<DocArgument>, String> {
    let mut parser = NotationParser { rest: text };
    let mut arguments = Vec::new();
    while !parser.rest.is_empty() {
        if !arguments.is_empty() {
            parser.expect(" ")?;
        }
        arguments.push(parser.argument()?);
    }
    Ok(arguments)
}

struct NotationParser {
    rest: &'static str,
}

impl NotationParser {
    /// Returns whether the rest begins with `sign`, and skips it then.
    fn skips(&mut self, sign: &str) -> bool {
        self.rest.strip_prefix(sign).is_some_and(|rest| {
            self.rest = rest;
            true
        })
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.skips(sign) { Ok(()) } else { Err(format!("expected {sign:?} at {:?}", self.rest)) }
    }

    /// Returns the text before the first of these signs, or the whole rest.
    fn until(&mut self, signs: &[char]) -> &'static str {
        let end = self.rest.find(signs).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn argument(&mut self) -> Result<DocArgument, String> {
        if self.skips("[") {
            let argument = self.argument()?;
            self.expect("]")?;
            return Ok(DocArgument { is_optional: true, ..argument });
        }
        let token = self.token();
        let mut argument = self.item()?;
        argument.token = token.or(argument.token);
        argument.is_multiple = self.skips("...");
        argument.repeats_token = argument.is_multiple && self.skips("+");
        Ok(argument)
    }

    /// Returns the token before an argument, if there is one.
    fn token(&mut self) -> Option<&'static str> {
        let (token, rest) = self.rest.split_once('=')?;
        let is_token = token
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
        is_token.then(|| self.rest = rest).map(|()| token)
    }

    fn item(&mut self) -> Result<DocArgument, String> {
        let word = self.until(&[' ', '(', ')', '[', ']', '|', '.', '\'']);
        let of = |name: &str, kind, token| DocArgument {
            name: name.to_owned(),
            kind,
            key_spec: None,
            token,
            is_optional: false,
            is_multiple: false,
            repeats_token: false,
            parts: Vec::new(),
        };
        if word.is_empty() {
            return Err(format!("expected a name at {:?}", self.rest));
        }
        if self.skips("'") {
            let token = self.until(&['\'']);
            self.expect("'")?;
            return Ok(of(word, DocType::PureToken, Some(token)));
        }
        if self.skips("(") {
            let (kind, parts) = self.parts()?;
            return Ok(DocArgument { parts, ..of(word, kind, None) });
        }
        if word.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Ok(of(&word.to_ascii_lowercase(), DocType::PureToken, Some(word)));
        }
        let typed = word.rsplit_once(':').and_then(|(name, kind)| Some((name, DocType::of_suffix(kind)?)));
        let (name, kind) = typed.map_or((word, None), |(name, kind)| (name, Some(kind)));
        match name.split_once('@') {
            None => Ok(of(name, kind.unwrap_or(DocType::String), None)),
            Some((name, spec)) => {
                let spec =
                    spec.parse().map_err(|_| format!("expected the number of a specification: {word}"))?;
                Ok(DocArgument { key_spec: Some(spec), ..of(name, kind.unwrap_or(DocType::Key), None) })
            }
        }
    }

    /// Returns the parts up to the closing parenthesis, and whether they are a block or a choice.
    fn parts(&mut self) -> Result<(DocType, Vec<DocArgument>), String> {
        let mut parts = vec![self.argument()?];
        let kind = if self.rest.starts_with('|') { DocType::OneOf } else { DocType::Block };
        let between = if kind == DocType::OneOf { "|" } else { " " };
        while !self.skips(")") {
            self.expect(between)?;
            parts.push(self.argument()?);
        }
        Ok((kind, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_parsed() {
        let parsed = parse("key@0 [EX=wait:time|no]").expect_err("a choice has a name");
        assert!(parsed.starts_with("expected \"]\""), "{parsed}");
        let text = "key@1 ip:port end'*' [NX] [AGG=how(MIN|MAX)] more(a:int b)... [GET=p@2:pattern...+]";
        let parsed = parse(text).expect("a grammar");
        let shown: Vec<_> = parsed
            .iter()
            .map(|argument| (&*argument.name, argument.kind.name(), argument.token, argument.is_optional))
            .collect();
        assert_eq!(
            shown,
            [
                ("key", "key", None, false),
                ("ip:port", "string", None, false),
                ("end", "pure-token", Some("*"), false),
                ("nx", "pure-token", Some("NX"), true),
                ("how", "oneof", Some("AGG"), true),
                ("more", "block", None, false),
                ("p", "pattern", Some("GET"), true),
            ]
        );
        assert_eq!(parsed.iter().map(|argument| argument.key_spec).collect::<Vec<_>>()[..1], [Some(1)]);
        assert_eq!(
            (parsed[6].key_spec, parsed[6].is_multiple, parsed[6].repeats_token),
            (Some(2), true, true)
        );
        assert_eq!((parsed[5].is_multiple, parsed[5].repeats_token, parsed[5].parts.len()), (true, false, 2));
    }

    #[test]
    fn malformed_texts_are_errors() {
        for text in ["[a", "a(b", "a  b", "a(b|c d)", "(a)", "a'b", "a@x", "a]", "a b)", "a...."] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
