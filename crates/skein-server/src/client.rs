//! What a connection has said about itself.

use crate::resp::Protocol;

/// A client, as the commands see it.
#[derive(Debug)]
pub(crate) struct Client {
    /// Rises from 1; never used twice.
    pub id: u64,
    pub protocol: Protocol,
    /// Whether the password was given, or there is none.
    pub authenticated: bool,
    /// As set with CLIENT SETNAME.
    pub name: Vec<u8>,
    /// As set with CLIENT SETINFO.
    pub library: Vec<u8>,
    pub library_version: Vec<u8>,
}

impl Client {
    pub(crate) fn new(id: u64, authenticated: bool) -> Self {
        Self {
            id,
            protocol: Protocol::default(),
            authenticated,
            name: Vec::new(),
            library: Vec::new(),
            library_version: Vec::new(),
        }
    }
}

/// Compares in a time that depends on the lengths alone, so that how long a wrong password takes says
/// nothing about the right one.
pub(crate) fn same_secret(given: &[u8], secret: &[u8]) -> bool {
    let mut difference = given.len() ^ secret.len();
    for (i, byte) in given.iter().enumerate() {
        let other = secret[i % secret.len().max(1)..].first().copied().unwrap_or(0);
        difference |= usize::from(byte ^ other);
    }
    // The optimizer must not end the loop early.
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::same_secret;

    #[test]
    fn secrets() {
        for (given, secret, same) in [
            ("a", "a", true),
            ("", "", true),
            ("a", "b", false),
            ("aa", "a", false),
            ("", "a", false),
            ("a", "", false),
        ] {
            assert_eq!(same_secret(given.as_bytes(), secret.as_bytes()), same, "{given} {secret}");
        }
    }
}
