//! Parses a page strictly: every element must be closed in order, every attribute quoted, every id
//! unique, and every link within the page must have a target.

use std::collections::BTreeSet;

/// The content of a page.
#[derive(Debug, Default)]
pub struct HtmlDocument {
    /// Every element's name, in order.
    elements: Vec<String>,
    /// The targets of links and sources.
    pub links: Vec<String>,
}

const NEVER_CLOSED: [&str; 4] = ["meta", "br", "link", "img"];

impl HtmlDocument {
    /// Parses a page.
    ///
    /// # Panics
    /// If it is not well-formed.
    pub fn parse(page: &str) -> Self {
        let mut document = Self::default();
        let mut open: Vec<String> = Vec::new();
        let mut ids = BTreeSet::new();
        let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
        while let Some(at) = rest.find('<') {
            text(&rest[..at], open.last().is_some_and(|name| name == "style"));
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "closes what is open");
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
            for (key, value) in attributes_of(attributes) {
                match key {
                    "id" => assert!(ids.insert(value.to_owned()), "id {value} twice"),
                    "href" | "src" => document.links.push(value.to_owned()),
                    _ => {}
                }
            }
            document.elements.push(name.to_owned());
            if !NEVER_CLOSED.contains(&name) {
                open.push(name.to_owned());
            }
        }
        assert!(open.is_empty(), "never closed: {open:?}");
        for link in document.links.iter().filter_map(|link| link.strip_prefix('#')) {
            assert!(ids.contains(link), "#{link} leads nowhere");
        }
        document
    }

    /// Returns the number of elements with this name.
    pub fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|element| *element == name).count()
    }
}

/// Checks text: no `>`, only known entities, no control characters. CSS may contain `>`.
fn text(text: &str, css: bool) {
    assert!(css || !text.contains('>'), "{text}");
    assert!(text.chars().all(|c| !c.is_control() || c == '\n'), "{text:?}");
    let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
    let known = |at: usize| entities.iter().any(|entity| text[at..].starts_with(entity));
    assert!(text.match_indices('&').all(|(at, _)| known(at)), "{text}");
}

fn attributes_of(mut rest: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    while !rest.trim().is_empty() {
        let (key, after) =
            rest.split_once("=\"").unwrap_or_else(|| panic!("an attribute has a value: {rest}"));
        let (value, after) = after.split_once('"').expect("a value ends");
        assert!(!value.contains('<') && !value.contains('>'), "{value}");
        text(value, false);
        all.push((key.trim(), value));
        rest = after;
    }
    all
}
