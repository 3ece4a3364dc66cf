//! A file as a module: its head (the `//!` lines), its code, and the modules that it declares.

/// Returns the head: the text of the `//!` lines, a line each.
pub(crate) fn head(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    lines.flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect()
}

/// Returns the text in which the modules below this one are named: the head, and the comments above
/// the last declaration. A library's head belongs to its users, so its map stands in a comment.
pub(crate) fn map(text: &str) -> String {
    let declared = children(text);
    let is_last = |line: &&str| declared.last().is_some_and(|last| line.ends_with(&format!("mod {last};")));
    let end = text.lines().position(|line| is_last(&line)).unwrap_or(0);
    let comments = text.lines().take(end).map(str::trim_start).filter(|line| line.starts_with("//"));
    comments.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the lines that are not comments.
pub(crate) fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// Modules with a name that explains itself: the tests of a file, the models of its protocol, and
/// the rows of its commands or figures.
const SELF_EXPLAINING: &[&str] = &["tests", "models", "table"];

/// Returns the names of the modules in files of their own that the file declares, without those
/// that explain themselves.
pub(crate) fn children(text: &str) -> Vec<&str> {
    let declared = code(text).filter_map(|line| {
        let name = line.strip_suffix(';')?.strip_prefix("pub(crate) ").or(line.strip_suffix(';'))?;
        let name = name.strip_prefix("pub(super) ").or(name.strip_prefix("pub ")).unwrap_or(name);
        name.strip_prefix("mod ")
    });
    declared.filter(|name| !SELF_EXPLAINING.contains(name)).collect()
}

/// Returns the words of a text that look like identifiers, with their repetitions.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_its_children_are_found() {
        let text = "//! One.\n//!\n//! Two.\n\n// Three.\nmod a;\npub(crate) mod b;\n#[cfg(test)]\nmod tests;\n// mod c;\nmod d {}\n";
        assert_eq!(head(text), "One.\n\nTwo.\n");
        assert_eq!(children(text), ["a", "b"]);
        assert_eq!(map(text), "//! One.\n//!\n//! Two.\n// Three.\n");
    }
}
