//! A check of help texts, for the tests of the commands.

use clap::Command;

/// The width of a terminal, in columns.
const WIDTH: usize = 80;

/// Asserts that the help of `command` and of its subcommands fits a terminal: no line is wider, and
/// indented lines, such as examples, are shown as they are written.
///
/// # Panics
/// If a line does not fit; the message names the command.
pub fn assert_fits_a_terminal(command: &mut Command) {
    command.build();
    assert_fits(command, "");
}

fn assert_fits(command: &mut Command, path: &str) {
    let name = format!("{path} {}", command.get_name());
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = command.clone().term_width(WIDTH).render_long_help().to_string();
    assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{name}: {help}");
    for line in after.lines().filter(|line| line.starts_with("  ")) {
        assert!(help.lines().any(|shown| shown == line), "{name} breaks: {line}");
    }
    for subcommand in command.get_subcommands_mut() {
        assert_fits(subcommand, &name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "geese breaks:   geese --in --a --very --long --line")]
    fn a_wide_example_is_noticed() {
        let wide = format!("Examples:\n  geese --in --a --very --long --line {}", "--with-words ".repeat(5));
        assert_fits_a_terminal(&mut Command::new("geese").after_help(wide));
    }
}
