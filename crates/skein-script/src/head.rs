//! The first line of a script, `#!lua flags=…`, which declares the needs of the script.

use thiserror::Error;

/// The declarations of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScriptFlags {
    /// The script has a first line with flags. Without one, Redis's older rules hold: a script may
    /// write, and it begins even if memory is full.
    pub declared: bool,
    /// `no-writes`: a write is an error.
    pub no_writes: bool,
    /// `allow-oom`: the script may begin, and write, even if memory is full.
    pub allow_oom: bool,
}

/// A first line that Redis would refuse, too.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ScriptHeadError {
    #[error("Invalid script shebang")]
    Unfinished,
    #[error("Unexpected engine in script shebang: {0}")]
    Engine(String),
    #[error("Unknown lua shebang option: {0}")]
    Option(String),
    #[error("Unexpected flag in script shebang: {0}")]
    Flag(String),
}

/// A script without its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptHead<'s> {
    /// The flags of the first line.
    pub flags: ScriptFlags,
    /// The Lua code. It begins with the line break of the first line, so lines keep their numbers.
    pub code: &'s [u8],
}

impl<'s> ScriptHead<'s> {
    /// Splits a script into its flags and its code.
    ///
    /// ```
    /// # use skein_script::ScriptHead;
    /// let head = ScriptHead::parse(b"#!lua flags=no-writes\nreturn 1").unwrap();
    /// assert!(head.flags.no_writes && head.code == b"\nreturn 1");
    /// ```
    ///
    /// # Errors
    /// If the first line names another engine, or an option or a flag that Redis does not know.
    pub fn parse(source: &'s [u8]) -> Result<Self, ScriptHeadError> {
        if !source.starts_with(b"#!") {
            return Ok(Self { flags: ScriptFlags::default(), code: source });
        }
        let end = source.iter().position(|byte| *byte == b'\n').ok_or(ScriptHeadError::Unfinished)?;
        let line = String::from_utf8_lossy(&source[..end]);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("#!lua") => {}
            other => return Err(ScriptHeadError::Engine(other.unwrap_or_default().to_owned())),
        }
        let mut flags = ScriptFlags { declared: true, ..ScriptFlags::default() };
        for word in words {
            let list = word.strip_prefix("flags=").ok_or_else(|| ScriptHeadError::Option(word.to_owned()))?;
            for flag in list.split(',').filter(|flag| !flag.is_empty()) {
                flags.set(flag)?;
            }
        }
        Ok(Self { flags, code: &source[end..] })
    }
}

impl ScriptFlags {
    fn set(&mut self, flag: &str) -> Result<(), ScriptHeadError> {
        match flag {
            "no-writes" => self.no_writes = true,
            "allow-oom" => self.allow_oom = true,
            // There are no stale replicas and no slots here, so nothing to allow.
            "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
            _ => return Err(ScriptHeadError::Flag(flag.to_owned())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_redis_does() {
        let parse = |text: &'static str| ScriptHead::parse(text.as_bytes());
        assert_eq!(parse("return 1").unwrap().flags, ScriptFlags::default());
        let head = parse("#!lua\nreturn 1").unwrap();
        assert!(head.flags.declared && !head.flags.no_writes && head.code == b"\nreturn 1");
        let both = parse("#!lua flags=no-writes,allow-oom\n").unwrap();
        assert!(both.flags.no_writes && both.flags.allow_oom);
        for (text, error) in [
            ("#!lua", "Invalid script shebang"),
            ("#!py\nreturn 1", "Unexpected engine in script shebang: #!py"),
            ("#!lua name=x\n", "Unknown lua shebang option: name=x"),
            ("#!lua flags=xx\n", "Unexpected flag in script shebang: xx"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), error);
        }
    }
}
