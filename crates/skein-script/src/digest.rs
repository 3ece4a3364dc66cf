//! The names of scripts: the SHA-1 of their source.

use std::fmt;

use sha1::{Digest as _, Sha1};

/// The SHA-1 of a text in 40 hexadecimal digits, in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptDigest([u8; Self::LEN]);

impl ScriptDigest {
    /// The number of digits.
    pub const LEN: usize = 40;

    /// Returns the digest of a text.
    ///
    /// ```
    /// # use skein_script::ScriptDigest;
    /// assert_eq!(ScriptDigest::of(b"return 1").as_str(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    /// ```
    pub fn of(text: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; Self::LEN];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(Sha1::digest(text)) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        Self(hex)
    }

    /// Reads a digest in either case. Returns `None` if the text is no digest.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let hex: [u8; Self::LEN] = text.try_into().ok()?;
        hex.iter().all(u8::is_ascii_hexdigit).then(|| Self(hex.map(|digit| digit.to_ascii_lowercase())))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for ScriptDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ScriptDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
