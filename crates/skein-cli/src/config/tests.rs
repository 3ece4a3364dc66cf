use std::collections::BTreeMap;

use clap::{CommandFactory, FromArgMatches};

use super::*;
use crate::{Cli, SkeinCommand as Sub};

/// Parses `skein serve` with these arguments and a file of this text.
fn read(text: &str, line: &str) -> Result<crate::commands::serve::ServeArgs, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("skein.toml");
    std::fs::write(&file, text).expect("a file");
    let mut args: Vec<OsString> = ["skein", "serve", "--config"].map(OsString::from).to_vec();
    args.push(file.clone().into());
    args.extend(line.split_whitespace().map(OsString::from));
    let shorter = |mut failure: Failure| {
        failure.message = failure.message.replace(&file.display().to_string(), "FILE");
        failure
    };
    let (matches, origins) = matches(Cli::command(), args).map_err(shorter)?;
    match Cli::from_arg_matches(&matches).expect("arguments").command {
        Sub::Serve(mut args) => {
            args.origins = origins;
            args.options().map_err(shorter)?;
            Ok(*args)
        }
        _ => panic!("another command"),
    }
}

fn server(text: &str, line: &str) -> skein_server::ServerOptions {
    read(text, line).unwrap_or_else(|failure| panic!("{failure:?}")).options().expect("options").1
}

#[test]
fn a_file_sets_options_and_the_command_line_wins() {
    let text = "listen = \"127.0.0.1:7\"\nmax-clients = 3\nmax-output = \"2k\"\nenable-debug-command = true\nworkers = 2";
    let options = server(text, "");
    assert_eq!(options.listen.to_string(), "127.0.0.1:7");
    assert_eq!((options.clients_max, options.output_bytes_max), (3, 2048));
    assert!(options.debug_command);
    let options = server(text, "--max-clients 4 --listen [::1]:9");
    assert_eq!((options.clients_max, options.listen.to_string().as_str()), (4, "[::1]:9"));
    assert_eq!(options.output_bytes_max, 2048);
    assert!(!server("enable-debug-command = false", "").debug_command);
}

#[test]
fn lists_are_replaced_whole_and_exclusions_are_left_out() {
    let folders = |line| read("log-dir = [\"a\", \"b\"]", line).expect("arguments").options.log_dir;
    assert_eq!(folders(""), ["a", "b"].map(PathBuf::from));
    assert_eq!(folders("--log-dir c"), [PathBuf::from("c")]);
    assert_eq!(read("log-dir = \"a\"", "").expect("arguments").options.log_dir, [PathBuf::from("a")]);
    // --cache-pages excludes --cache, whichever of them the file has.
    for text in ["cache = \"1g\"\nengine = \"disk\"", "cache-pages = 70\nengine = \"disk\""] {
        assert!(read(text, "--cache-pages 100").is_ok(), "{text}");
        assert!(read(text, "--cache 2g").is_ok(), "{text}");
        assert!(read(text, "--max-memory 2g").is_ok(), "{text}");
    }
    assert!(read("engine = \"disk\"\nmax-memory = \"1g\"", "--cache-pages 100").is_ok());
    let Err(both) = read("engine = \"disk\"\nmax-memory = \"1g\"\ncache = \"1g\"", "") else {
        panic!("two sizes");
    };
    assert_eq!(
        both.message,
        "the argument '--max-memory <SIZE>' cannot be used with '--cache <SIZE>' (FILE:2)"
    );
}

#[test]
fn errors_name_file_line_value_and_bound() {
    for (text, expected) in [
        ("\nmax-client = 1", "FILE:2: there is no option max-client; `skein config` prints all"),
        ("config = \"x\"", "FILE:1: there is no option config; `skein config` prints all"),
        ("\n\nmax-clients = 0", "--max-clients is 0; choose 1 to 1048576 (FILE:3)"),
        ("workers = 0", "invalid value '0' for '--workers <N>': 0 is not in 1..=1024 (FILE:1)"),
        (
            "durability = \"some\"",
            "invalid value 'some' for '--durability <LEVEL>' [possible values: none, buffered, sync] (FILE:1)",
        ),
        ("enable-debug-command = \"yes\"", "FILE:1: enable-debug-command is \"yes\"; write true or false"),
        ("max-clients = true", "FILE:1: max-clients is true; write one text or one number"),
        ("max-clients = [1]", "FILE:1: max-clients is [\"1\"]; write one text or one number"),
        (
            "max-output = \"3 apples\"",
            "invalid value '3 apples' for '--max-output <SIZE>': unknown unit \" apples\"; use b, k, m, g or t, as in 64m (FILE:1)",
        ),
        ("x = [", "FILE:1: "),
    ] {
        let Err(failure) = read(text, "") else { panic!("{text} was taken") };
        assert!(failure.message.starts_with(expected), "{text}: {}", failure.message);
        assert_eq!(failure.exit as i32, 2);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let args = ["skein", "serve", "--config", "/nowhere/skein.toml"].map(OsString::from).to_vec();
    let failure = matches(Cli::command(), args).expect_err("no file");
    assert!(failure.message.starts_with("cannot read --config /nowhere/skein.toml: "), "{}", failure.message);
}

/// Incident: a device in place of a file (`--config /dev/zero`) was read until memory was full.
/// Consequence: the system killed the program, and maybe others. Fix: a file has a longest length.
#[test]
fn a_file_that_never_ends_is_refused() {
    let args = ["skein", "serve", "--config", "/dev/zero"].map(OsString::from).to_vec();
    let failure = matches(Cli::command(), args).expect_err("no end");
    assert_eq!(
        failure.message,
        "cannot read --config /dev/zero: it is longer than the limit of 1048576 bytes"
    );
}

/// The printed file has every option. It changes nothing as printed, and nothing if its defaults
/// are uncommented.
#[test]
fn the_printed_file_changes_nothing() {
    let mut skein = Cli::command();
    skein.build();
    let serve = skein.find_subcommand("serve").expect("the command");
    let text = template::text(serve);
    assert_eq!(file::parse(&text), Ok(Vec::new()));
    let plain = format!("{:?}", server("", ""));
    assert_eq!(format!("{:?}", server(&text, "")), plain);
    let is_entry =
        |line: &&str| line.starts_with('#') && line[1..].starts_with(|c: char| c.is_ascii_lowercase());
    let entries: String = text.lines().filter(is_entry).flat_map(|line| [&line[1..], "\n"]).collect();
    let entries = file::parse(&entries).expect("entries");
    let names: Vec<&str> = options(serve).filter_map(Arg::get_long).collect();
    let keys: BTreeMap<&str, &ConfigValue> =
        entries.iter().map(|entry| (&*entry.key, &entry.value)).collect();
    assert_eq!(
        keys.keys().copied().collect::<std::collections::BTreeSet<_>>(),
        names.iter().copied().collect()
    );
    let set: Vec<_> = options(serve)
        .filter(|option| {
            !option.get_default_values().is_empty() || matches!(option.get_action(), ArgAction::Append)
        })
        .filter_map(Arg::get_long)
        .map(|name| format!("{name} = {}", keys[name]))
        .collect();
    let set = set.join("\n");
    assert!(set.contains("max-clients = \"10000\"") && set.contains("log-dir = []"), "{set}");
    assert_eq!(format!("{:?}", server(&set, "")), plain);
    assert!(text.lines().all(|line| line.len() <= 110), "{text}");
}

/// Incident: `skein config --check` named the first mistake only. Consequence: a file with five
/// took five runs. Fix: it names all of them, each with its line.
#[test]
fn a_check_names_all_mistakes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("skein.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        let checked = crate::check_file(&file).map_err(Failure::into_usage);
        checked.map_err(|failure| failure.message.replace(&file.display().to_string(), "FILE"))
    };
    assert_eq!(check("max-clients = 3\nworkers = 2\n"), Ok(()));
    let text = "max-clients = 0\nmax-client = 1\nworkers = 0\n\nmax-output = \"3 apples\"\nport = true\n\
                maxmemory = \"1g\"\ntls-listen = \"127.0.0.1:6381\"\nx = \n";
    let found = check(text).expect_err("it has mistakes");
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], "8 mistakes in FILE:");
    for (line, words) in lines[1..].iter().zip([
        "--max-clients is 0; choose 1 to 1048576 (FILE:1)",
        "FILE:2: there is no option max-client; `skein config` prints all",
        "invalid value '0' for '--workers <N>': 0 is not in 1..=1024 (FILE:3)",
        "unknown unit \" apples\"",
        "FILE:6: port is true; write one text or one number",
        "FILE:7: maxmemory is an option of Redis, and not of skein: use --max-memory SIZE",
        "(FILE:8)",
        "FILE:9: ",
    ]) {
        assert!(line.trim_start().contains(words), "{line} lacks {words}");
    }
    assert_eq!(lines.len(), 9, "{found}");
    // An option that depends on a wrong one is not reported.
    let text = "engine = \"disc\"\ncache = \"1g\"\n";
    let found = check(text).expect_err("a mistake");
    assert!(found.contains("'disc' for '--engine") && found.contains("(FILE:1)"), "{found}");
    assert!(!found.contains("mistakes"), "{found}");
    // One mistake is one line, as that of `skein serve`.
    assert_eq!(
        check("\nmax-client = 1"),
        Err("FILE:2: there is no option max-client; `skein config` prints all".into())
    );
}
