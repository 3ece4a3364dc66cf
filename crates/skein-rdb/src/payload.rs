//! The payload of `DUMP`: a value, the version of its format, and a checksum.
//!
//! ```text
//!   type, value      see `value`
//!   u16              version of Redis's file format, little-endian
//!   u64              CRC-64 of all bytes before it, little-endian
//! ```
//!
//! The payload of `FUNCTION DUMP` has the same footer behind its libraries.

use crate::crc64;

/// The version that is written: that of Redis 7.0, which later versions read.
pub const VERSION: u16 = 10;
/// The latest version of Redis that is read: that of Redis 7.4. Some of its types are refused.
pub const VERSION_MAX: u16 = 12;
/// The version of Valkey 9.
pub const VALKEY_9: u16 = 80;
/// Version and checksum.
const FOOTER: usize = 10;

/// Returns whether payloads and files of this version are read.
pub fn is_read(version: u16) -> bool {
    version <= VERSION_MAX || version == VALKEY_9
}

/// Appends version and checksum.
pub fn seal(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let sum = crc64(bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
}

/// Returns the version and the body of a payload, or `None` if it is damaged.
pub fn open(payload: &[u8]) -> Option<(u16, &[u8])> {
    let (body, footer) = payload.split_at_checked(payload.len().checked_sub(FOOTER)?)?;
    let (version, sum) = footer.split_first_chunk::<2>()?;
    let sum = u64::from_le_bytes(sum.try_into().ok()?);
    let summed = &payload[..payload.len() - 8];
    (sum == crc64(summed)).then_some((u16::from_le_bytes(*version), body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_noticed() {
        let mut payload = b"\x00\xc0\x0a".to_vec();
        seal(&mut payload);
        // From DUMP of Redis 7.0.15.
        assert_eq!(payload, b"\x00\xc0\x0a\x0a\x00\x6e\x9f\x57\x45\x0e\xae\x63\xbb"[..].to_vec());
        assert_eq!(open(&payload), Some((VERSION, &b"\x00\xc0\x0a"[..])));
        for at in 0..payload.len() {
            let mut damaged = payload.clone();
            damaged[at] ^= 1;
            assert_eq!(open(&damaged), None);
            assert_eq!(open(&payload[..at]), None);
        }
    }
}
