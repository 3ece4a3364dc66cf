//! What COMMAND DOCS says of commands beyond the table: the arguments of each, and summaries of
//! subcommands. Clients show hints and help from it.
//!
//! The arguments are facts: their names, types, tokens and flags are those in the reply of
//! `COMMAND DOCS` of redis-server 7.0.15, and a test compares them with it. One file for each family.
//!
//! Read `notation` first.

mod channels;
mod connection;
mod geo;
mod hashes;
mod keys;
mod lists;
pub(crate) mod notation;
mod scripts;
mod server;
mod sets;
mod skein;
mod sorted_sets;
mod standalone;
mod streams;
mod strings;
mod subcommands;

use std::collections::HashMap;
use std::sync::LazyLock;

/// The full name of a command or subcommand, and its arguments in the notation.
type SyntaxRow = (&'static str, &'static str);

const FAMILIES: [&[SyntaxRow]; 14] = [
    channels::SYNTAX,
    connection::SYNTAX,
    geo::SYNTAX,
    hashes::SYNTAX,
    keys::SYNTAX,
    lists::SYNTAX,
    scripts::SYNTAX,
    server::SYNTAX,
    sets::SYNTAX,
    skein::SYNTAX,
    sorted_sets::SYNTAX,
    standalone::SYNTAX,
    streams::SYNTAX,
    strings::SYNTAX,
];

static BY_NAME: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect());

/// Returns the arguments of a command, or of a subcommand by its full name, in the notation. They are
/// empty for one without arguments.
pub(crate) fn syntax_of(name: &str) -> &'static str {
    BY_NAME.get(name).copied().unwrap_or_default()
}

/// Returns the summary of a subcommand by its full name.
pub(crate) fn summary_of_subcommand(name: &str) -> &'static str {
    let found = subcommands::SUMMARIES.iter().find(|(known, _)| *known == name);
    found.map_or("Prints a help text", |(_, summary)| summary)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::acl::CommandTarget;
    use crate::command_table::key_specs;
    use notation::{DocArgument, DocType, parse};

    /// Returns the fewest words that an argument takes, without its flag `optional`.
    fn fewest_words(argument: &DocArgument) -> usize {
        if argument.is_optional {
            return 0;
        }
        let token = usize::from(argument.token.is_some());
        let parts = argument.parts.iter().map(fewest_words);
        match argument.kind {
            DocType::PureToken => 1,
            DocType::OneOf => token + parts.min().unwrap_or(0),
            DocType::Block => token + parts.sum::<usize>(),
            _ => token + 1,
        }
    }

    fn all_parts(arguments: &[DocArgument], each: &mut impl FnMut(&DocArgument)) {
        for argument in arguments {
            each(argument);
            all_parts(&argument.parts, each);
        }
    }

    /// Commands whose grammar, as in Redis, takes another number of words than they need: it calls a
    /// needed filter optional, or needs a member or a key that may be left out.
    const LOOSE: &[&str] = &["client|kill", "geohash", "geopos", "pfmerge"];

    #[test]
    fn grammars_fit_the_numbers_of_arguments() {
        let mut named = BTreeSet::new();
        for target in CommandTarget::all_present() {
            let name = target.name();
            let row = target.row();
            let arguments = parse(syntax_of(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
            named.insert(name);
            let (arity, words) = match target.subcommand {
                None => (row.arity, 1),
                Some(at) => (row.subcommands[at].1, 2),
            };
            if target.subcommand.is_none() && !row.subcommands.is_empty() {
                assert!(arguments.is_empty(), "{name}: the subcommands have the arguments");
                continue;
            }
            let fewest: usize = words + arguments.iter().map(fewest_words).sum::<usize>();
            let wanted = arity.unsigned_abs() as usize;
            if !LOOSE.contains(&name) {
                assert_eq!(fewest, wanted, "{name}: {}", syntax_of(name));
            }
            let specs = match target.subcommand {
                None => key_specs::of_command(row).len(),
                Some(_) => key_specs::of_subcommand(name).len(),
            };
            all_parts(&arguments, &mut |argument| {
                assert!(argument.key_spec.is_none_or(|at| at < specs), "{name}: {}", argument.name);
                assert!(argument.kind != DocType::Key || argument.key_spec.is_some(), "{name}");
            });
        }
        for (name, _) in FAMILIES.iter().flat_map(|family| family.iter()) {
            assert!(named.contains(name), "there is no command {name}");
        }
        assert_eq!(BY_NAME.len(), FAMILIES.iter().map(|family| family.len()).sum::<usize>(), "each once");
    }

    #[test]
    fn every_subcommand_has_a_summary() {
        let listed: BTreeSet<&str> = subcommands::SUMMARIES.iter().map(|(name, _)| *name).collect();
        let present = CommandTarget::all_present().filter(|target| target.subcommand.is_some());
        let present: BTreeSet<&str> =
            present.map(CommandTarget::name).filter(|name| !name.ends_with("|help")).collect();
        assert_eq!(listed, present);
    }
}
