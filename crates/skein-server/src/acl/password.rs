//! Password hashes: SHA-256 like Redis's, so that its files stay usable, compared in constant time.
//!
//! As in Redis, the hash has no salt and is quick to compute. So it does not protect a short
//! password from a person with the file. ACL GENPASS generates long ones.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The number of digits of a printed hash.
const DIGITS: usize = 64;

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PasswordHash([u8; DIGITS / 2]);

impl PasswordHash {
    pub(crate) fn of(password: &[u8]) -> Self {
        Self(Sha256::digest(password).into())
    }

    /// Parses 64 hexadecimal digits in lower case. Returns `None` for any other text.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let text: &[u8; DIGITS] = text.try_into().ok()?;
        let mut bytes = [0; DIGITS / 2];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// Returns whether `hashes` contains this hash. The time it takes reveals neither which hash
    /// matched, nor how similar others are.
    pub(crate) fn is_among(&self, hashes: &[Self]) -> bool {
        let equal = hashes.iter().fold(Choice::from(0), |found, hash| found | self.0.ct_eq(&hash.0));
        equal.into()
    }
}

impl fmt::Display for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Prints nothing of the hash, because debug output ends up in logs.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

/// Generates a password of `bits` random bits, rounded up to hexadecimal digits. Errors if the
/// system has no randomness.
pub(crate) fn generate(bits: usize) -> Result<String, getrandom::Error> {
    let digits = bits.div_ceil(4);
    let mut bytes = vec![0; digits.div_ceil(2)];
    getrandom::fill(&mut bytes)?;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.truncate(digits);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_redis() {
        let text = "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4";
        assert_eq!(PasswordHash::of(b"pw").to_string(), text);
        assert!(PasswordHash::parse(text.as_bytes()) == Some(PasswordHash::of(b"pw")));
        for bad in [&text[1..], &text.to_uppercase(), &text.replace('3', "g"), ""] {
            assert!(PasswordHash::parse(bad.as_bytes()).is_none(), "{bad}");
        }
        assert_eq!(format!("{:?}", PasswordHash::of(b"pw")), "Hash");
    }

    #[test]
    fn password_matches_one_of_several() {
        let hashes = [PasswordHash::of(b"a"), PasswordHash::of(b"b")];
        assert!(PasswordHash::of(b"a").is_among(&hashes) && PasswordHash::of(b"b").is_among(&hashes));
        assert!(!PasswordHash::of(b"c").is_among(&hashes) && !PasswordHash::of(b"a").is_among(&[]));
    }

    #[test]
    fn generated_passwords_have_the_requested_length() {
        for (bits, digits) in [(1, 1), (4, 1), (5, 2), (256, 64), (4096, 1024)] {
            let text = generate(bits).expect("randomness");
            assert!(text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        }
        assert_ne!(generate(256), generate(256));
    }
}
