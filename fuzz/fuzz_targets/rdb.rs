//! Fuzzes the reader of Redis's values and files: no panic, and no more memory than the limits.

#![no_main]

use std::io::BufRead;

use libfuzzer_sys::fuzz_target;
use skein_rdb::{FileReader, RdbInput, RdbLimits, ValueReader, ValueType, payload};

const LIMITS: RdbLimits = RdbLimits { string_bytes: 1 << 20, blob_memory: 1 << 22 };

fn read_value(input: &mut RdbInput<impl BufRead>) {
    let Some(kind) = input.byte("a type").ok().and_then(|byte| ValueType::of(byte, 0).ok()) else { return };
    let mut reader = ValueReader::new(kind);
    while let Ok(Some(piece)) = reader.next(input) {
        // A blob, and the data that may precede it in its piece.
        assert!(piece.memory() <= 2 * LIMITS.blob_memory + LIMITS.string_bytes * 128);
    }
}

// The first byte selects a value, a sealed payload or a file.
fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    match choice % 3 {
        0 => read_value(&mut RdbInput::new(bytes, LIMITS)),
        1 => {
            let mut sealed = bytes.to_vec();
            payload::seal(&mut sealed);
            let (_, body) = payload::open(&sealed).expect("it was sealed");
            read_value(&mut RdbInput::new(body, LIMITS));
        }
        _ => {
            let file = [b"REDIS0011".as_slice(), bytes].concat();
            let Ok(mut reader) = FileReader::new(&file[..], LIMITS) else { return };
            while let Ok(Some(_)) = reader.next_event() {}
        }
    }
});
