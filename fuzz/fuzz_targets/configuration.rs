//! Fuzzes the configuration: any text as a file of options, and as a new value for CONFIG SET. A
//! file's entries must be the same when they are written again.

#![no_main]

use std::fmt::Write;

use libfuzzer_sys::fuzz_target;

// Included by path: the parser belongs to the command, and the whole command would be a large
// dependency.
#[allow(dead_code, reason = "the command also reads files")]
#[path = "../../crates/skein-cli/src/config/file.rs"]
mod file;
#[path = "../../crates/skein-cli/src/config/redis_options.rs"]
mod redis_options;

use file::{ConfigValue, parse};

fuzz_target!(|text: &str| {
    skein_server::fuzzing::configure(text.as_bytes());
    let lines = text.split('\n').count();
    match parse(text) {
        Err(problem) => assert!((1..=lines).contains(&problem.line), "{problem:?}"),
        Ok(entries) => {
            assert!(entries.iter().all(|entry| (1..=lines).contains(&entry.line)));
            let mut anew = String::new();
            for (at, entry) in entries.iter().enumerate() {
                let value = match &entry.value {
                    ConfigValue::Switch(on) => on.to_string(),
                    ConfigValue::One(text) => quoted(text),
                    ConfigValue::Many(texts) => {
                        format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(","))
                    }
                };
                writeln!(anew, "{} = {value}", quoted(&entry.key)).expect("a string takes all");
                assert_eq!(anew.lines().count(), at + 1);
            }
            let again = parse(&anew).expect("what was a file is one");
            let said = |entries: &[file::ConfigEntry]| -> Vec<String> {
                entries.iter().map(|entry| format!("{:?} {:?}", entry.key, entry.value)).collect()
            };
            assert_eq!(said(&entries), said(&again));
        }
    }
});

/// Returns a text as TOML.
fn quoted(text: &str) -> String {
    let escaped = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\U{:08X}", u32::from(c)) });
    format!("\"{}\"", escaped.collect::<String>())
}
