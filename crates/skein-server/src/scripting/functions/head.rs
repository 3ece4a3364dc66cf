//! The first line of a library, `#!lua name=…`.

use skein_script::RegisteredFunction;

use crate::request::command_error::CommandError;
use crate::resp::inline;

/// The name of a library, and where its code begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LibraryHead {
    pub(crate) name: String,
    /// The position of the first line's end, so lines keep their numbers.
    pub(crate) code_at: usize,
}

const INVALID: CommandError = CommandError::text("ERR Invalid library metadata");
const BAD_NAME: CommandError = CommandError::text(
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
);
const TWO_NAMES: CommandError =
    CommandError::text("ERR Invalid metadata value, name argument was given multiple times");

impl LibraryHead {
    /// Reads the first line of a library.
    ///
    /// # Errors
    /// If the line is not as Redis wants it.
    pub(crate) fn parse(source: &[u8]) -> Result<Self, CommandError> {
        if !source.starts_with(b"#!") {
            return Err(CommandError::text("ERR Missing library metadata"));
        }
        let code_at = source.iter().position(|byte| *byte == b'\n').ok_or(INVALID)?;
        let mut line = source[..code_at].to_vec();
        let mut places = Vec::new();
        if !inline::split(&mut line, |start, len| places.push(start..start + len)) {
            return Err(INVALID);
        }
        let mut words = places.into_iter().map(|place| &line[place]);
        let engine = words.next().and_then(|word| word.get(2..)).unwrap_or_default();
        let mut name = None;
        for word in words {
            match word.split_at_checked(5) {
                Some((field, _)) if field.eq_ignore_ascii_case(b"name=") && name.is_some() => {
                    return Err(TWO_NAMES);
                }
                Some((field, value)) if field.eq_ignore_ascii_case(b"name=") => name = Some(value),
                _ => return Err(with_text("ERR Invalid metadata value given: ", word, "")),
            }
        }
        let name = name.ok_or(CommandError::text("ERR Library name was not given"))?;
        if !RegisteredFunction::is_name(name) {
            return Err(BAD_NAME);
        }
        if !engine.eq_ignore_ascii_case(b"lua") {
            return Err(with_text("ERR Engine '", engine, "' not found"));
        }
        Ok(Self { name: String::from_utf8_lossy(name).into_owned(), code_at })
    }
}

fn with_text(before: &str, text: &[u8], after: &str) -> CommandError {
    CommandError::owned([before.as_bytes(), text, after.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_as_redis_does() {
        let head = LibraryHead::parse(b"#!LUA 'NAME=lib_1'\nreturn 1").unwrap();
        assert_eq!(head, LibraryHead { name: "lib_1".into(), code_at: 18 });
        for (source, expected) in [
            (&b"return 1"[..], "Missing library metadata"),
            (b"#!lua", "Invalid library metadata"),
            (b"#!lua 'name=x\n", "Invalid library metadata"),
            (b"#!\n", "Library name was not given"),
            (b"#!lua name=a name=b\n", "Invalid metadata value, name argument was given multiple times"),
            (b"#!lua na\n", "Invalid metadata value given: na"),
            (b"#!lua namex=a\n", "Invalid metadata value given: namex=a"),
            (b"#!py name=a\n", "Engine 'py' not found"),
        ] {
            let error = LibraryHead::parse(source).unwrap_err();
            assert_eq!(error.bytes(), format!("ERR {expected}").as_bytes());
        }
        for source in [&b"#!lua name=\n"[..], b"#!lua name=a-b\n", b"#!py name=\xff\n"] {
            assert_eq!(LibraryHead::parse(source).unwrap_err().bytes(), BAD_NAME.bytes());
        }
    }
}
