//! Generates a configuration file with all options from clap's definition: their help and their
//! defaults.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use super::{file, options};

/// The width of a comment line.
const WIDTH: usize = 100;

const HEAD: &str = "\
# Options of `skein serve --config FILE`. Each line that is not a comment sets one; options on the
# command line go before those here. A line `#name = value` shows the default, or, in capitals,
# what the value is.
#
# Sizes take k, m, g, t (powers of 1024) and times us, ms, s, m, h, in quotes: \"64m\", \"10s\".
";

/// Returns the file's text.
pub fn text(serve: &Command) -> String {
    let mut text = HEAD.to_owned();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for option in options(serve) {
        if !headings.contains(&option.get_help_heading()) {
            headings.push(option.get_help_heading());
        }
    }
    for heading in headings {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n\n## {}\n", heading.unwrap_or("General"));
        for option in options(serve).filter(|option| option.get_help_heading() == heading) {
            let _ = write!(text, "\n{}#{} = {}\n", comment(&help(option)), name(option), value(option));
        }
    }
    text
}

fn name(option: &Arg) -> &str {
    option.get_long().unwrap_or_default()
}

/// Returns an option's help, with its possible values.
fn help(option: &Arg) -> String {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = option
        .get_possible_values()
        .iter()
        .filter(|_| !is_switch(option))
        .map(|choice| match choice.get_help() {
            Some(help) => format!("{}: {help}", choice.get_name()),
            None => choice.get_name().to_owned(),
        })
        .collect();
    if choices.is_empty() { help } else { format!("{help}\n{}", choices.join("\n")) }
}

fn is_switch(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}

/// Returns an option's default, or else the kind of its value, as TOML.
fn value(option: &Arg) -> String {
    if is_switch(option) {
        return "false".to_owned();
    }
    if matches!(option.get_action(), ArgAction::Append) {
        return "[]".to_owned();
    }
    let named =
        option.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
    let default = option.get_default_values().first().map(|value| value.to_string_lossy());
    let text = default.as_deref().unwrap_or(named);
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.to_owned()
    } else {
        file::quoted(text)
    }
}

/// Returns text as comment lines.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    for paragraph in text.lines() {
        let mut line = "#".to_owned();
        for word in paragraph.split_whitespace() {
            if line.len() + 1 + word.len() > WIDTH {
                lines += &line;
                lines.push('\n');
                "#".clone_into(&mut line);
            }
            line.push(' ');
            line += word;
        }
        lines += &line;
        lines.push('\n');
    }
    lines
}
