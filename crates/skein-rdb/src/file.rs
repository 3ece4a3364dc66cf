//! Files of Redis, as `SAVE` writes them.
//!
//! ```text
//!   REDIS0010 │ fa name value │ fe database │ fb keys, keys with times │ fc time │ type key value │ …
//!             │ f5 library    │ …                                      │ ff │ CRC-64
//! ```
//!
//! The file is read once, from front to back. Only one piece of one value is in memory. A file of
//! Valkey 9 begins with `VALKEY080`.

use std::io::BufRead;

use crate::payload::{self, VALKEY_9};
use crate::{RdbError, RdbInput, RdbLimits, Result, ValuePiece, ValueReader, ValueType};

/// The first bytes of a file, and of a file of Valkey 9. Digits of the version follow.
const MAGIC: &[u8; 5] = b"REDIS";
const VALKEY_MAGIC: &[u8; 6] = b"VALKEY";
/// The first version with a checksum.
const SUMMED_FROM: u16 = 5;

/// Returns whether a file that begins with these bytes is one of Redis or Valkey.
pub fn is_file(head: &[u8]) -> bool {
    let is_head = |magic: &[u8]| {
        head.strip_prefix(magic).is_some_and(|rest| {
            let digits = 9 - magic.len();
            rest.len() >= digits && rest[..digits].iter().all(u8::is_ascii_digit)
        })
    };
    is_head(MAGIC) || is_head(VALKEY_MAGIC)
}

/// A key of a file, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKey {
    /// Its name.
    pub key: Vec<u8>,
    /// The number of its database.
    pub database: u64,
    /// The time when it expires, in milliseconds since 1970.
    pub expires: Option<u64>,
    /// The type of its value, or the type that this crate does not read.
    pub kind: Result<ValueType, u8>,
}

/// A part of a file.
#[derive(Debug, PartialEq)]
pub enum FileEvent {
    /// A fact about the file, for example the version of the server.
    Fact(Vec<u8>, Vec<u8>),
    /// The source of a library of functions.
    Library(Vec<u8>),
    /// Data that a module wrote beside its keys. It is skipped.
    ModuleData,
    /// A key. The pieces of its value follow. If it is the value of a module, none follows.
    Key(FileKey),
    /// The next piece of the value.
    Piece(ValuePiece),
}

/// The fields before a key.
#[derive(Default)]
struct KeyAttributes {
    expires: Option<u64>,
}

/// Reads a file.
#[derive(Debug)]
pub struct FileReader<R> {
    input: RdbInput<R>,
    version: u16,
    database: u64,
    value: Option<ValueReader>,
    is_skipping: bool,
    ended: bool,
}

impl<R: BufRead> FileReader<R> {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// It is no such file, or a later version.
    pub fn new(source: R, limits: RdbLimits) -> Result<Self> {
        const EXPECTED: &str = "REDIS and four digits, or VALKEY and three";
        let mut input = RdbInput::new(source, limits);
        let head: [u8; 9] = input.array(EXPECTED)?;
        let digits = head.strip_prefix(MAGIC).or_else(|| head.strip_prefix(VALKEY_MAGIC));
        let version = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let version: u16 = version
            .filter(|version| *version > 0)
            .ok_or_else(|| RdbError::damaged(0, "other bytes", EXPECTED))?;
        if !payload::is_read(version) {
            let most = payload::VERSION_MAX;
            return Err(RdbError::unsupported(
                0,
                format!("version {version} of the format; versions up to {most} are read, and {VALKEY_9}"),
            ));
        }
        Ok(Self { input, version, database: 0, value: None, is_skipping: false, ended: false })
    }

    /// Returns the version of the format.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Returns the number of bytes that were read.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Skips the rest of the present value. Its nodes and strings are still checked, except that
    /// nothing is kept.
    pub fn skip_value(&mut self) {
        self.is_skipping = true;
    }

    /// Returns the next part. Returns `None` at the end, after it has verified the checksum.
    ///
    /// # Errors
    /// The file is damaged, a limit is exceeded, or the source failed. No more may be read then.
    pub fn next_event(&mut self) -> Result<Option<FileEvent>> {
        while let Some(value) = &mut self.value {
            match value.next(&mut self.input)? {
                Some(piece) if !self.is_skipping => return Ok(Some(FileEvent::Piece(piece))),
                Some(_) => {}
                None => self.value = None,
            }
        }
        self.is_skipping = false;
        if self.ended {
            return Ok(None);
        }
        self.next_key_or_fact()
    }

    fn next_key_or_fact(&mut self) -> Result<Option<FileEvent>> {
        const LENGTH: &str = "a number of keys";
        let mut attributes = KeyAttributes::default();
        loop {
            let offset = self.input.offset();
            match self.input.byte("a type or the end of the file")? {
                0xff => return self.end().map(|()| None),
                0xfe => self.database = self.input.length("the number of a database")?,
                0xfd => {
                    let seconds = u32::from_le_bytes(self.input.array("a time in seconds")?);
                    attributes.expires = Some(u64::from(seconds) * 1000);
                }
                0xfc => attributes.expires = Some(self.input.u64_le("a time in milliseconds")?),
                0xfb => {
                    self.input.length(LENGTH)?;
                    self.input.length(LENGTH)?;
                }
                0xfa => {
                    let name = self.input.string("the name of a fact")?;
                    return Ok(Some(FileEvent::Fact(name, self.input.string("a fact")?)));
                }
                // How often a key was used, and when.
                0xf9 => drop(self.input.byte("the frequency of a key")?),
                0xf8 => drop(self.input.length("the idle time of a key")?),
                0xf7 => {
                    self.input.length("the number of a module")?;
                    self.skip_module_value()?;
                    return Ok(Some(FileEvent::ModuleData));
                }
                0xf5 => return self.input.string("a library").map(|code| Some(FileEvent::Library(code))),
                // The sizes of a slot of a cluster.
                0xf4 => {
                    for _ in 0..3 {
                        self.input.length(LENGTH)?;
                    }
                }
                byte @ 0xe0.. => {
                    return Err(RdbError::damaged(offset, format!("the byte {byte:02x}"), "a type"));
                }
                kind => return self.key(kind, offset, &attributes).map(Some),
            }
        }
    }

    /// Reads the key of a value of this type. Skips the value if it is a module's.
    fn key(&mut self, kind: u8, offset: u64, attributes: &KeyAttributes) -> Result<FileEvent> {
        const MODULE_WITH_OPCODES: u8 = 7;
        let key = self.input.string("a key")?;
        let kind = match ValueType::of(kind, offset) {
            Ok(kind) => {
                self.value = Some(ValueReader::new(kind));
                Ok(kind)
            }
            Err(_) if kind == MODULE_WITH_OPCODES => {
                self.input.length("the number of a module")?;
                self.skip_module_value()?;
                Err(kind)
            }
            Err(error) => return Err(error),
        };
        Ok(FileEvent::Key(FileKey { key, database: self.database, expires: attributes.expires, kind }))
    }

    /// Skips the data of a module: parts with an opcode each, and 0 at the end.
    fn skip_module_value(&mut self) -> Result<()> {
        const EXPECTED: &str = "a part of a module's value";
        loop {
            let offset = self.input.offset();
            match self.input.length(EXPECTED)? {
                0 => return Ok(()),
                1 | 2 => drop(self.input.length(EXPECTED)?),
                3 => self.input.skip(4, EXPECTED)?,
                4 => self.input.skip(8, EXPECTED)?,
                5 => self.input.skip_string(EXPECTED)?,
                other => return Err(RdbError::damaged(offset, format!("part {other}"), EXPECTED)),
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        if self.version < SUMMED_FROM {
            return Ok(());
        }
        let (offset, sum) = (self.input.offset(), self.input.sum());
        // Redis writes 0 if its checksums are off.
        match self.input.u64_le("the checksum of the file")? {
            0 => Ok(()),
            written if written == sum => Ok(()),
            _ => Err(RdbError::damaged(offset, "another checksum", "the checksum of the file")),
        }
    }
}
