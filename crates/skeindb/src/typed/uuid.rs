//! UUIDs: their 16 bytes. UUIDs of version 7 are then in the order of their times.

use uuid::Uuid;

use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

impl EncodeKey for Uuid {
    fn encode_part(&self, out: &mut Vec<u8>) {
        out.extend(self.as_bytes());
    }
}

impl AsKey<Uuid> for Uuid {}

impl Key for Uuid {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        reader.take::<Self, 16>().map(Uuid::from_bytes)
    }
}
