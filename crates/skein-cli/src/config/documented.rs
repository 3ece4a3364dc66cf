//! Tests that `docs/operations.md` has the rows of the options, with bounds that hold.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};
use skein_server::config::{OPTIONS, Section};

use super::ArgAction;
use crate::Cli;
use crate::units::{parse_duration, parse_size};

const PAGE: &str = include_str!("../../../../docs/operations.md");

/// Returns the rows of the tables of options: name, value's name, default, bounds.
fn rows() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let (_, tables) = PAGE.split_once("\n## Options\n").expect("the chapter");
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let option = cells.next()?.trim_end_matches('`');
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        Some((name, value, cells.next()?, cells.next()?))
    };
    tables.lines().filter_map(row).collect()
}

/// Returns the default in the page's notation: clap's, else the one in the help text, else nothing.
fn default_of(option: &clap::Arg) -> String {
    if let Some(value) = option.get_default_values().first() {
        return value.to_string_lossy().into_owned();
    }
    if matches!(option.get_action(), ArgAction::SetTrue) {
        return "false".to_owned();
    }
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let told = help.split_once("[default: ").map(|(_, rest)| rest.trim_end_matches([']', '.']).to_owned());
    told.unwrap_or_else(|| "none".to_owned())
}

/// Set to make the tables of the page anew.
const WRITE: &str = "SKEIN_WRITE_DOCS";

/// The end of a generated table.
const END: &str = "<!-- end of the options -->\n";

/// Returns the table of a section.
fn table(section: Section, serve: &Command) -> String {
    let effect = match section {
        Section::Limits | Section::Clients => "beyond it ",
        Section::Monitoring => "effect ",
        _ => "",
    };
    let mut text = format!("| option | default | bounds | {effect}|\n| --- | --- | --- | --- |\n");
    for option in OPTIONS.iter().filter(|option| option.section == section && !option.is_hidden) {
        let name = [option.name, option.value_name].join(" ");
        let arg = serve.get_arguments().find(|arg| arg.get_long() == Some(option.name)).expect("an argument");
        let (default, bounds) = (default_of(arg), option.bounds_cell());
        let cell = |text: &str| if text.is_empty() { " ".to_owned() } else { format!(" {text} ") };
        let _ = writeln!(
            text,
            "| `{}` |{}|{}|{}|",
            name.trim_end(),
            cell(&default),
            cell(&bounds),
            cell(&option.docs_cell())
        );
    }
    text
}

/// Incident: the page named each option by hand, as did five other places. Consequence: a new
/// option was seven files, and one of them was forgotten. Fix: the tables follow from the rows.
#[test]
fn the_tables_are_those_of_the_rows() {
    let mut skein = Cli::command();
    skein.build();
    let serve = skein.find_subcommand("serve").expect("the command");
    let mut page = PAGE.to_owned();
    for section in Section::ALL {
        let begin = format!("<!-- options: {} -->\n", section.heading());
        let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("the page lacks {begin}"));
        let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("the page lacks the end of {begin}"));
        page = [before, &begin, &table(section, serve), END, after].concat();
    }
    if std::env::var_os(WRITE).is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
        std::fs::write(file, page).expect("the page is written");
        return;
    }
    let differs = PAGE.lines().zip(page.lines()).find(|(present, expected)| present != expected);
    assert!(
        PAGE == page,
        "docs/operations.md differs from the rows of the options: {differs:#?}\n\
         make its tables anew: {WRITE}=1 cargo test -p skein-cli the_tables_are_those_of_the_rows"
    );
}

/// Returns the message with which `skein serve` rejects this option, or `None` if it would start.
fn refusal(name: &str, value: &str) -> Option<String> {
    // An option of one engine is rejected for the other. Options of TLS require its port.
    let tls = ["--tls-listen=127.0.0.1:0", "--tls-cert=cert.pem", "--tls-key=key.pem"];
    let is_tls = name.starts_with("tls-") && name != "tls-handshake-timeout";
    let contexts: &[&[&str]] = if is_tls { &[&tls] } else { &[&[], &["--engine=disk"]] };
    let refusals = contexts.iter().map(|others| {
        let option = format!("--{name}={value}");
        let line = ["skein", "serve", &option].into_iter().chain(others.iter().copied());
        let cli = match <Cli as clap::Parser>::try_parse_from(line) {
            Ok(cli) => cli,
            Err(error) => return Some(error.to_string()),
        };
        match cli.command {
            // The files of TLS do not exist.
            crate::SkeinCommand::Serve(args) if !is_tls => {
                args.options().err().map(|failure| failure.message)
            }
            _ => None,
        }
    });
    // For an option of the disk engine, the message counts that appears with that engine.
    let refusals: Vec<Option<String>> = refusals.collect();
    let of_other = |text: &String| text.contains(" is of --engine ");
    if refusals.iter().any(Option::is_none) {
        return None;
    }
    refusals.into_iter().flatten().find(|text| !of_other(text))
}

fn is_taken(name: &str, value: &str) -> bool {
    refusal(name, value).is_none()
}

/// Asserts that the message names the option and its value.
#[track_caller]
fn assert_refused(name: &str, value: &str) {
    let text = refusal(name, value).unwrap_or_else(|| panic!("{name} {value} is out of bounds"));
    let digits = value.trim_start_matches('0');
    assert!(text.contains(&format!("--{name}")) && text.contains(digits), "{name} {value}: {text}");
}

#[test]
fn the_bounds_are_those_that_hold() {
    let mut tried = 0;
    for (name, value, _, bounds) in rows() {
        let bounds = bounds.trim_end_matches(" in octal");
        let (min, max) = match (bounds.split_once(" to "), bounds.strip_suffix(" or more")) {
            (Some((min, max)), _) => (min, Some(max)),
            (None, Some(min)) => (min, None),
            _ => {
                let choices = bounds.split('`').skip(1).step_by(2);
                choices.for_each(|choice| assert!(is_taken(name, choice), "{name} {choice}"));
                continue;
            }
        };
        let number = |text: &str| match value {
            "TIME" => parse_duration(text).expect("a time").as_secs(),
            "MODE" => u64::from_str_radix(text, 8).expect("a mode"),
            _ => parse_size(text).expect("a size"),
        };
        let written = |number: u64| if value == "MODE" { format!("{number:o}") } else { number.to_string() };
        assert!(is_taken(name, min), "{name} {min}");
        if let Some(below) = number(min).checked_sub(1) {
            assert_refused(name, &written(below));
        }
        if let Some(max) = max {
            assert!(is_taken(name, max), "{name} {max}");
            let above = number(max) + 1;
            assert_refused(name, &written(above));
        }
        tried += 1;
    }
    assert!(tried > 15, "{tried} bounds were found");
}
