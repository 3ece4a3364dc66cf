//! Times of the crate `jiff`: moments, and dates and times without a zone.
//!
//! A `Timestamp` has the encoding of a `SystemTime`.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

use super::time::{NANOS_PER_SECOND, decode_moment, decode_nanos};
use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

impl EncodeKey for Timestamp {
    fn encode_part(&self, out: &mut Vec<u8>) {
        // Before 1970 jiff's nanoseconds are negative.
        let (second, nanos) = (self.as_second(), self.subsec_nanosecond());
        let (second, nanos) = match nanos {
            ..0 => (second - 1, nanos + NANOS_PER_SECOND.cast_signed()),
            _ => (second, nanos),
        };
        second.encode_part(out);
        nanos.cast_unsigned().encode_part(out);
    }
}

impl AsKey<Timestamp> for Timestamp {}

impl Key for Timestamp {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        let (seconds, nanos) = decode_moment::<Self>(reader)?;
        let nanos = i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanos);
        Timestamp::from_nanosecond(nanos)
            .map_err(|error| DecodeError::in_key::<Self>(position, error.to_string()))
    }
}

impl EncodeKey for Date {
    fn encode_part(&self, out: &mut Vec<u8>) {
        (self.year(), self.month(), self.day()).encode_part(out);
    }
}

impl AsKey<Date> for Date {}

impl Key for Date {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        let (year, month, day) = Key::decode_part(reader)?;
        Date::new(year, month, day).map_err(|error| DecodeError::in_key::<Self>(position, error.to_string()))
    }
}

impl EncodeKey for Time {
    fn encode_part(&self, out: &mut Vec<u8>) {
        (self.hour(), self.minute(), self.second()).encode_part(out);
        self.subsec_nanosecond().cast_unsigned().encode_part(out);
    }
}

impl AsKey<Time> for Time {}

impl Key for Time {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        let (hour, minute, second) = Key::decode_part(reader)?;
        let nanos = decode_nanos::<Self>(reader)?.cast_signed();
        Time::new(hour, minute, second, nanos)
            .map_err(|error| DecodeError::in_key::<Self>(position, error.to_string()))
    }
}

impl EncodeKey for DateTime {
    fn encode_part(&self, out: &mut Vec<u8>) {
        (self.date(), self.time()).encode_part(out);
    }
}

impl AsKey<DateTime> for DateTime {}

impl Key for DateTime {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let (date, time) = Key::decode_part(reader)?;
        Ok(DateTime::from_parts(date, time))
    }
}
