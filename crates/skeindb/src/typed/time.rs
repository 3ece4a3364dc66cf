//! Durations and moments.
//!
//! A duration is its whole seconds, 8 bytes, and its nanoseconds, 4 bytes. A moment is the whole
//! seconds since 1970, as an `i64`, and the nanoseconds behind this second. So nanoseconds count
//! upwards before 1970, too.

use std::time::{Duration, SystemTime};

use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

pub(super) const NANOS_PER_SECOND: u32 = 1_000_000_000;

impl EncodeKey for Duration {
    fn encode_part(&self, out: &mut Vec<u8>) {
        self.as_secs().encode_part(out);
        self.subsec_nanos().encode_part(out);
    }
}

impl AsKey<Duration> for Duration {}

impl Key for Duration {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let seconds = u64::from_be_bytes(reader.take::<Self, 8>()?);
        Ok(Duration::new(seconds, decode_nanos::<Self>(reader)?))
    }
}

impl EncodeKey for SystemTime {
    fn encode_part(&self, out: &mut Vec<u8>) {
        let (seconds, nanos) = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => (0_i64.wrapping_add_unsigned(since.as_secs()), since.subsec_nanos()),
            Err(error) => before_1970(error.duration()),
        };
        seconds.encode_part(out);
        nanos.encode_part(out);
    }
}

/// Returns the whole seconds and nanoseconds of the moment that precedes 1970 by `ahead`.
fn before_1970(ahead: Duration) -> (i64, u32) {
    let seconds = 0_i64.wrapping_sub_unsigned(ahead.as_secs());
    match ahead.subsec_nanos() {
        0 => (seconds, 0),
        nanos => (seconds.wrapping_sub(1), NANOS_PER_SECOND - nanos),
    }
}

impl AsKey<SystemTime> for SystemTime {}

impl Key for SystemTime {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        let (seconds, nanos) = decode_moment::<Self>(reader)?;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = if seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(whole)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(whole)
        };
        second.and_then(|second| second.checked_add(Duration::from_nanos(nanos.into()))).ok_or_else(|| {
            let found = format!("{seconds} seconds since 1970, which the system cannot represent");
            DecodeError::in_key::<Self>(position, found)
        })
    }
}

/// Reads the whole seconds and nanoseconds of a moment of type `T`.
pub(super) fn decode_moment<T>(reader: &mut KeyReader<'_>) -> Result<(i64, u32), DecodeError> {
    Ok((i64::decode_part(reader)?, decode_nanos::<T>(reader)?))
}

/// Reads the nanoseconds of a second, in a part of type `T`.
pub(super) fn decode_nanos<T>(reader: &mut KeyReader<'_>) -> Result<u32, DecodeError> {
    let position = reader.position();
    match u32::from_be_bytes(reader.take::<T, 4>()?) {
        nanos if nanos < NANOS_PER_SECOND => Ok(nanos),
        nanos => Err(DecodeError::in_key::<T>(position, format!("{nanos} nanoseconds, more than a second"))),
    }
}
