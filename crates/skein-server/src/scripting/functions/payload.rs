//! The payload of FUNCTION DUMP, which is also the value of the stored row. It moves between Redis
//! and this server both ways.
//!
//! ```text
//!   f5 │ string      the source of a library, any number of times
//!   footer           see `skein_rdb::payload`
//! ```

use skein_rdb::write::write_string;
use skein_rdb::{RdbInput, RdbLimits, payload};

use crate::request::command_error::CommandError;
use skein_data::VALUE_BYTES_MAX;

/// The first byte of a library.
const LIBRARY: u8 = 0xf5;

/// The error for a payload that is damaged, or of a version that is not read.
pub(crate) const DAMAGED: CommandError = CommandError::text("ERR DUMP payload version or checksum are wrong");
const NOT_A_LIBRARY: CommandError = CommandError::text("ERR given type is not a function");
const CUT_SHORT: CommandError = CommandError::text("ERR Failed loading library payload");

/// Returns the payload of libraries with these sources.
pub(super) fn write<'s>(sources: impl Iterator<Item = &'s [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for source in sources {
        bytes.push(LIBRARY);
        write_string(&mut bytes, source);
    }
    payload::seal(&mut bytes);
    bytes
}

/// Returns the sources of the libraries in a payload.
///
/// # Errors
/// The payload is damaged, of a version that is not read, or has something else than libraries.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommandError> {
    let (version, body) = payload::open(bytes).ok_or(DAMAGED)?;
    if !payload::is_read(version) {
        return Err(DAMAGED);
    }
    let limits = RdbLimits { string_bytes: VALUE_BYTES_MAX, ..RdbLimits::default() };
    let mut input = RdbInput::new(body, limits);
    let mut sources = Vec::new();
    while input.offset() < body.len() as u64 {
        if input.byte("a library").ok() != Some(LIBRARY) {
            return Err(NOT_A_LIBRARY);
        }
        sources.push(input.string("a library").map_err(|_| CUT_SHORT)?);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// FUNCTION DUMP of Redis 7.0.15 without a library, and with a compressed one.
    const EMPTY: &[u8] = b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda";
    const ONE: &[u8] = b"\xf5\xc3@\x94@\xa4\x1f#!lua name=lib\nredis.register_fu\x06nction{\xc0\x08\x00_`)\n'f',descrip@\x1d\x06='does  \x14\x08callback=\xc0/\x13(keys,args) return {\xe0\x00\x12\x19} end,flags={'no-writes',' F\now-stale'}}\n\x00m\x9d\xbc\xe1nU\xbbn";

    #[test]
    fn payloads_of_redis_are_read() {
        assert_eq!(read(EMPTY).unwrap(), [[0_u8; 0]; 0]);
        assert_eq!(write(std::iter::empty()), EMPTY);
        let sources = read(ONE).unwrap();
        assert_eq!(sources.len(), 1);
        assert_eq!(write(sources.iter().map(Vec::as_slice)), ONE, "the bytes of Redis");
        assert_eq!(sources[0].len(), 164);
        assert!(sources[0].starts_with(b"#!lua name=lib\nredis.register_function{function_name='f'"));
        assert!(sources[0].ends_with(b"flags={'no-writes','allow-stale'}}"));
    }

    /// Incident: FUNCTION RESTORE refused the payloads of Redis 7.2 and of Valkey. Consequence:
    /// `skein copy` from them lost the functions. Fix: like RESTORE, reads all versions of the
    /// format that are known: their libraries have the same form.
    #[test]
    fn payloads_of_later_servers_are_read() {
        // FUNCTION DUMP of Valkey 9.1.
        const VALKEY: &[u8] =
            b"\xf5@C#!lua name=lib\nredis.register_function('f',function() return 7 end)P\x00\xf3?\x88K25\x8c\x03";
        assert_eq!(read(VALKEY).unwrap(), [&VALKEY[3..VALKEY.len() - 10]]);
        let body = &ONE[..ONE.len() - 10];
        for version in [9, 10, 11, payload::VERSION_MAX, payload::VALKEY_9] {
            assert_eq!(read(&sealed(body, version)).unwrap(), read(ONE).unwrap(), "{version}");
        }
    }

    #[test]
    fn damage_is_noticed() {
        for at in 0..ONE.len() {
            let mut damaged = ONE.to_vec();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged).unwrap_err().bytes(), DAMAGED.bytes());
            assert_eq!(read(&ONE[..at]).unwrap_err().bytes(), DAMAGED.bytes());
        }
    }

    /// Returns these bytes with a right footer.
    fn sealed(body: &[u8], version: u16) -> Vec<u8> {
        let bytes = [body, &version.to_le_bytes()].concat();
        [&bytes[..], &skein_rdb::crc64(&bytes).to_le_bytes()].concat()
    }

    #[test]
    fn bodies_that_are_not_libraries_are_refused() {
        assert!(read(&sealed(b"", 9)).is_ok());
        assert_eq!(read(&sealed(b"", 13)).unwrap_err().bytes(), DAMAGED.bytes());
        assert_eq!(read(&sealed(b"\0\x01x", payload::VERSION)).unwrap_err().bytes(), NOT_A_LIBRARY.bytes());
        for body in [&b"\xf5"[..], b"\xf5\x10abc", b"\xf5\xc4", b"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff"] {
            assert_eq!(read(&sealed(body, payload::VERSION)).unwrap_err().bytes(), CUT_SHORT.bytes());
        }
        assert_eq!(
            read(&sealed(b"\xf5\xc0\xfb\xf5\xc1\x00\x01", payload::VERSION)).unwrap(),
            [&b"-5"[..], b"256"]
        );
    }

    #[test]
    fn lengths_of_every_width_are_read_again() {
        let sources = [0, 63, 64, 16383, 16384, 70_000].map(|len| vec![b'x'; len]);
        assert_eq!(read(&write(sources.iter().map(Vec::as_slice))).unwrap(), sources);
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>) {
            let _ = read(&sealed(&body, payload::VERSION));
            let _ = read(&sealed(&[&[LIBRARY, 0xc3][..], &body].concat(), payload::VERSION));
            let _ = read(&body);
        }
    }
}
