//! Tests of the bounds of the options, and of the properties of all rows.

use std::collections::BTreeSet;

use super::*;
use crate::UnixSocket;

#[test]
fn public_address_requires_a_password() {
    for (listen, password, fine) in [
        ("127.0.0.1:0", None, true),
        ("[::1]:0", None, true),
        ("0.0.0.0:0", None, false),
        ("192.168.0.1:6380", None, false),
        ("[::]:0", None, false),
        ("0.0.0.0:0", Some("secret"), true),
        ("127.0.0.1:0", Some(""), false),
    ] {
        let options = ServerOptions {
            listen: listen.parse().expect("an address"),
            password: password.map(|password| password.as_bytes().to_vec()),
            ..ServerOptions::default()
        };
        assert_eq!(options.check().is_ok(), fine, "{listen} {password:?}");
    }
}

#[test]
fn message_names_option_value_and_valid_range() {
    let wrong = |change: fn(&mut ServerOptions)| {
        let mut options = ServerOptions::default();
        change(&mut options);
        options.check().expect_err("an option out of range").to_string()
    };
    for (change, message) in [
        ((|options| options.workers = 0) as fn(&mut ServerOptions), "workers is 0; choose 1 to 1024"),
        (|options| options.workers = 1025, "workers is 1025; choose 1 to 1024"),
        (|options| options.clients_max = 0, "clients_max is 0; choose 1 to 1048576"),
        (|options| options.databases = 1025, "databases is 1025; choose 1 to 1024"),
        (|options| options.request_bytes_max = 5, "request_bytes_max is 5; choose 1024 to 2147483648"),
        (|options| options.arg_bytes_max = 5, "arg_bytes_max is 5; choose 1024 to 1073741824"),
        (
            |options| options.request_bytes_max = options.arg_bytes_max - 1,
            "arg_bytes_max is 536870912; choose 1024 to 536870911",
        ),
        (|options| options.args_max = 15, "args_max is 15; choose 16 to 16777216"),
        (|options| options.pipeline_max = 0, "pipeline_max is 0; choose 1 to 1048576"),
        (|options| options.output_bytes_max = 1, "output_bytes_max is 1; choose 1024 to 1099511627776"),
        (|options| options.reply_bytes_max = 1, "reply_bytes_max is 1; choose 1024 to 1099511627776"),
        (|options| options.scan_cursors_max = 0, "scan_cursors_max is 0; choose 16 to 16777216"),
        // Incident: a time of centuries was accepted, and the workers panicked when they added
        // it to the current time at a stop.
        (
            |options| options.stop_timeout = Duration::MAX,
            "stop_timeout is 18446744073709551615 s; choose up to 86400 s",
        ),
        (
            |options| options.idle_timeout = Duration::from_secs(1 << 31),
            "idle_timeout is 2147483648 s; choose up to 2147483647 s",
        ),
        (
            |options| options.unix_socket = Some(UnixSocket { path: "".into(), mode: 0o700 }),
            "unix_socket.path has 0 bytes; choose a path of 1 to 107 bytes",
        ),
        (
            |options| options.unix_socket = Some(UnixSocket { path: "a".into(), mode: 0o1777 }),
            "unix_socket.mode is 1777; choose 0 to 777",
        ),
        (
            |options| options.idle_timeout = Duration::from_millis(100),
            "idle_timeout is 100ms; choose whole seconds",
        ),
        (
            |options| options.tls_handshake_timeout = Duration::from_millis(1500),
            "tls_handshake_timeout is 1.5s; choose whole seconds",
        ),
        (
            |options| options.keepalive = Duration::MAX,
            "keepalive is 18446744073709551615 s; choose up to 2147483647 s",
        ),
    ] {
        assert_eq!(wrong(change), format!("option {message}"));
    }
}

#[test]
fn names_are_unique_and_refer_to_options() {
    let names: BTreeSet<&str> = OPTIONS.iter().map(|option| option.name).collect();
    assert_eq!(names.len(), OPTIONS.len());
    for option in OPTIONS.iter() {
        let others = option.excludes.iter().chain(option.requires);
        assert!(others.copied().all(|other| names.contains(other)), "{option:?}");
        assert_eq!(option.help.is_empty(), option.is_global, "{option:?}");
    }
    let parameters: BTreeSet<&str> = CONFIG_PARAMETERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(parameters.len(), CONFIG_PARAMETERS.len());
    let decide = CONFIG_PARAMETERS.iter().filter_map(|(_, row)| row.written_with);
    let decide = decide.chain(OPTIONS.iter().filter_map(|option| option.written_with));
    assert!(decide.into_iter().all(|name| parameters.contains(name)));
}

/// A field holds the values that its option takes, and its default is within the bounds.
#[test]
fn fields_take_the_values_of_their_options() {
    for option in OPTIONS.iter().filter(|option| !option.is_global) {
        let mut options = ServeOptions::default();
        let value = match option.kind {
            ValueKind::Number
            | ValueKind::OneOf(..)
            | ValueKind::NumberBetween(..)
            | ValueKind::Size
            | ValueKind::Mode => FieldValue::Number(7),
            ValueKind::Time | ValueKind::TimeOrNever => FieldValue::Time(Duration::from_secs(7)),
            ValueKind::Switch => FieldValue::Switch(true),
            ValueKind::SwitchOff => FieldValue::Switch(false),
            ValueKind::Text => FieldValue::Text("x".to_owned()),
            ValueKind::Path | ValueKind::PathOrEmpty => FieldValue::Path("x".into()),
            ValueKind::Paths => FieldValue::Paths(vec!["x".into()]),
            ValueKind::ClientMemory => FieldValue::ClientMemory(crate::ClientMemoryLimit::Percent(7)),
            ValueKind::Words(words) | ValueKind::Names(words, _) => {
                FieldValue::Text(words()[0].name.to_owned())
            }
        };
        assert_eq!(option.set(&mut options, value.clone()), Ok(()), "{option:?}");
        assert_eq!(option.value_in(&mut options), value, "{option:?}");
        if let (FieldValue::Number(default), Some((min, max))) =
            (option.value_in(&mut ServeOptions::default()), option.bounds)
        {
            assert!((min..=max).contains(&default), "{option:?}");
        }
    }
    assert!(ServerOptions::default().check().is_ok());
}

/// Incident: `--help` had names of values that were typed by hand. Consequence: users did not find
/// an existing policy. Fix: names come from the list of their type, in help and documents.
#[test]
fn helps_tell_of_all_names() {
    for option in OPTIONS.iter() {
        if let ValueKind::Names(words, check) = option.kind {
            for word in words() {
                assert!(option.help_text().contains(word.name), "{option:?} does not tell of {}", word.name);
                assert!(option.bounds_cell().contains(word.name), "{option:?}");
                assert_eq!(check(word.name), Ok(()), "{option:?}");
            }
            assert!(check("zzz").is_err(), "{option:?}");
        }
    }
}
