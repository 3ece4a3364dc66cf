//! The output of `skein bench keysets`: the list of key sets, or the figures of one of them.

use std::fmt::Write;

use skein_terminal::progress::grouped;

use super::family::{self, PaperFigures};
use super::generate::{KeySet, make};
use super::name::ParsedKeySet;
use super::statistics::KeyStatistics;
use crate::Result;

/// The number of keys shown.
const SHOWN: usize = 5;

/// The number of bytes shown of a key.
const SHOWN_BYTES: usize = 60;

/// The width of the list's text in columns.
const TEXT_WIDTH: usize = 90;

/// Returns the list of all key sets: how to write each, its description, and the papers that use
/// it.
pub fn list() -> String {
    let usages = family::ALL.map(|family| (family.usage(), family));
    let width = usages.iter().map(|(usage, _)| usage.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (usage, family) in usages {
        let sources = family.papers.iter().map(|paper| format!("[{}]", paper.source));
        let lines = wrap(&[vec![family.about.to_owned()], sources.collect()].concat().join(" "));
        for (number, line) in lines.iter().enumerate() {
            let name = if number == 0 { usage.as_str() } else { "" };
            line_of(&mut text, format_args!("{name:width$}  {line}"));
        }
    }
    text
}

/// Makes `count` keys of a set and measures them. Returns the figures beside those of the papers.
///
/// # Errors
/// As [`make`].
pub fn describe(name: &str, count: usize, seed: u64) -> Result<String> {
    let named = ParsedKeySet::parse(name, count as u64, seed)?;
    let set = make(name, count, 0, seed)?;
    let mut text = format!("{}\n", set.name);
    for line in wrap(named.family.about) {
        line_of(&mut text, format_args!("  {line}"));
    }
    text.push('\n');
    table(&mut text, &KeyStatistics::of(&set.keys), named.family.papers);
    rest(&mut text, &set);
    Ok(text)
}

/// Appends a line; a write to a string cannot fail.
fn line_of(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

/// Breaks text into lines, between words.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("one is there from the start");
        if last.is_empty() {
            last.push_str(word);
        } else if last.len() + 1 + word.len() <= TEXT_WIDTH {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Appends a table of the measured figures beside those of the papers.
fn table(text: &mut String, measured: &KeyStatistics, papers: &[PaperFigures]) {
    let mut rows = vec![
        vec!["keys".to_owned(), grouped(measured.keys as u64)],
        vec!["mean length, bytes".to_owned(), decimal(Some(measured.mean_bytes))],
        vec!["unique prefix, bits".to_owned(), decimal(Some(measured.unique_prefix_bits))],
        vec![
            "  the same of random bytes".to_owned(),
            decimal(Some(KeyStatistics::random_bits(measured.keys))),
        ],
        vec!["shared by neighbours, bytes".to_owned(), decimal(Some(measured.shared_bytes))],
        vec!["lengths".to_owned(), format!("{} to {}", measured.shortest, measured.longest)],
    ];
    for (number, paper) in papers.iter().enumerate() {
        line_of(text, format_args!("  ({}) {}", number + 1, paper.source));
        let figures = [
            paper.keys.map_or("-".to_owned(), grouped),
            decimal(paper.mean_bytes),
            decimal(paper.unique_prefix_bits),
            decimal(paper.keys.map(|keys| KeyStatistics::random_bits(keys as usize))),
        ];
        rows.iter_mut().zip(figures).for_each(|(row, figure)| row.push(figure));
    }
    let heads = (1..=papers.len()).map(|number| format!("({number})"));
    rows.insert(0, [String::new(), "measured".to_owned()].into_iter().chain(heads).collect());
    for row in rows {
        let figures: Vec<_> = row[1..].iter().map(|figure| format!("{figure:>14}")).collect();
        line_of(text, format_args!("  {:28}{}", row[0], figures.concat()));
    }
}

fn rest(text: &mut String, set: &KeySet) {
    text.push('\n');
    if set.duplicates_dropped > 0 {
        line_of(text, format_args!("  {} duplicates dropped", grouped(set.duplicates_dropped as u64)));
    }
    if let Some(note) = &set.note {
        line_of(text, format_args!("  {note}"));
    }
    line_of(text, format_args!("  the first keys:"));
    for key in set.keys.iter().take(SHOWN) {
        let dots = if key.len() > SHOWN_BYTES { "…" } else { "" };
        line_of(text, format_args!("    {}{dots}", key[..key.len().min(SHOWN_BYTES)].escape_ascii()));
    }
}

fn decimal(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_set_with_its_source() {
        let list = list();
        for expected in ["rand-8 ", "randstr(N,M)", "file:PATH", "[Cuckoo Trie, Table 1]"] {
            assert!(list.contains(expected), "{expected}: {list}");
        }
        assert!(list.lines().all(|line| line.chars().count() <= TEXT_WIDTH + 20), "{list}");
    }

    #[test]
    fn a_description_has_the_papers_figures_beside_ours() {
        let text = describe("az1", 2000, 1).expect("a good name");
        for expected in ["2,000", "82,000,000", "138.2", "142,000,000", "40.0", "Wormhole", "    B00"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        let all = [0, 12, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
