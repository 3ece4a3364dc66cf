//! The texts of an option that follow from its row: help, default, bounds.

use std::time::Duration;

use super::parameter::{Parameter, ValueKind};
use super::serve_options::ServeOptions;
use super::value::{FieldValue, size_text, time_text};

impl Parameter {
    /// Returns its meaning for the table of the documents.
    pub fn docs_cell(&self) -> String {
        if self.docs.is_empty() { self.plain_help() } else { self.docs.to_owned() }
    }

    /// Returns the help as one text without the last full stop.
    fn plain_help(&self) -> String {
        let help = self.help.split_whitespace().collect::<Vec<_>>().join(" ");
        help.strip_suffix('.').map(str::to_owned).unwrap_or(help)
    }

    /// Returns the help as `--help` prints it, with the names that the option takes.
    pub fn help_text(&self) -> String {
        let mut help = self.plain_help();
        if let ValueKind::Names(words, _) = self.kind {
            let about = |about: &str| if about.is_empty() { String::new() } else { format!(" ({about})") };
            let words: Vec<String> =
                words().iter().map(|word| format!("{}{}", word.name, about(word.about))).collect();
            help = format!("{help}: {}", words.join(", "));
        }
        if let ValueKind::OneOf(..) = self.kind {
            help = format!("{help}: {}", self.bounds_cell());
        }
        match self.told_default() {
            Some(default) => format!("{help} [default: {default}]"),
            None => help,
        }
    }

    /// Returns the default as it is written on the command line, or `None` without a default. A
    /// default that depends on other options only appears in the help.
    pub fn default_value(&self) -> Option<String> {
        if self.told_default().is_some() { None } else { self.own_default() }
    }

    fn told_default(&self) -> Option<String> {
        let text = match self.kind {
            ValueKind::OneOf(_, default) => Some(default.to_string()),
            _ => self.default_text.map(str::to_owned),
        };
        let depends = self.engine.is_some() || !self.excludes.is_empty();
        text.or_else(|| self.own_default().filter(|_| depends))
    }

    fn own_default(&self) -> Option<String> {
        match self.value_in(&mut ServeOptions::default()) {
            FieldValue::Absent | FieldValue::Paths(_) | FieldValue::Switch(_) => None,
            value => Some(self.written(&value)),
        }
    }

    /// Returns a value as it is written on the command line.
    pub fn written(&self, value: &FieldValue) -> String {
        match (value, self.kind) {
            (FieldValue::Number(number), ValueKind::Size) => size_text(*number),
            (FieldValue::Number(number), ValueKind::Mode) => format!("{number:o}"),
            (FieldValue::Number(number), _) => number.to_string(),
            (FieldValue::Time(time), _) => time_text(*time),
            (FieldValue::Switch(on), _) => on.to_string(),
            (FieldValue::Path(path), _) => path.to_string_lossy().into_owned(),
            (FieldValue::Text(text), _) => text.clone(),
            (FieldValue::ClientMemory(limit), _) => limit.to_string(),
            (FieldValue::Absent | FieldValue::Paths(_), _) => String::new(),
        }
    }

    /// Describes the values that it takes, for the table of the documents.
    pub fn bounds_cell(&self) -> String {
        if let Some(text) = self.bounds_text {
            return text.to_owned();
        }
        if let ValueKind::OneOf([numbers @ .., last], _) = self.kind {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            return format!("{} or {last}", numbers.join(", "));
        }
        let words: Vec<String> = self.kind.words().iter().map(|word| format!("`{}`", word.name)).collect();
        if !words.is_empty() {
            return words.join(", ");
        }
        let shown = |number| match self.kind {
            ValueKind::Size => size_text(number),
            ValueKind::Mode => format!("{number:o}"),
            ValueKind::Time => time_text(Duration::from_secs(number)),
            _ => number.to_string(),
        };
        let bounds = match self.kind {
            ValueKind::NumberBetween(min, max) => Some((min.into(), max.into())),
            _ => self.bounds,
        };
        match (bounds, self.kind) {
            (Some((_, max)), ValueKind::Path) => format!("at most {max} bytes"),
            (Some((min, max)), ValueKind::Mode) => format!("{} to {} in octal", shown(min), shown(max)),
            (Some((min, u64::MAX)), _) => format!("{} or more", shown(min)),
            (Some((min, max)), _) => format!("{} to {}", shown(min), shown(max)),
            (None, ValueKind::Size | ValueKind::ClientMemory) => "any size".to_owned(),
            (None, ValueKind::Time) => "any time".to_owned(),
            (None, ValueKind::TimeOrNever) => "any time, or `never`".to_owned(),
            (None, _) => String::new(),
        }
    }
}
