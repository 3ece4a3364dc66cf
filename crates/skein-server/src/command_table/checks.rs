//! Checks of the whole table: no row contradicts itself or another row.

use std::collections::BTreeSet;

use super::notation::{DocArgument, DocType, parse};
use super::registry::RESERVED_KEY;
use super::{COMMANDS, Command, Flag, ResolvedTag, plan_of};
use crate::acl::CommandTarget;
use crate::commands::{Batched, Run};
use crate::notice::key_events::EventRule;

const PAGE: &str = include_str!("../../../../docs/commands.md");

#[test]
fn only_tags_of_right_requests_have_a_plan() {
    for tag in 0..=u16::MAX {
        let is_right = matches!(ResolvedTag::of(tag), ResolvedTag::Command(_));
        assert_eq!(plan_of(tag).is_some(), is_right, "{tag}");
    }
    assert!(COMMANDS.len() < RESERVED_KEY.into());
}

/// Incident: the table of families in the page lacked `SK.SNAPSHOT`. Consequence: whoever looked
/// for a snapshot there found none. Fix: the entry, and this test.
#[test]
fn every_command_is_in_the_page_of_commands() {
    let (_, page) = PAGE.split_once("\n## Commands by family\n").expect("the chapter");
    let (families, _) = page.split_once("\n## ").expect("a chapter after it");
    let names: BTreeSet<String> = families
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|entry| entry.split_whitespace().next().map(str::to_lowercase))
        .collect();
    let missing: Vec<&str> =
        COMMANDS.iter().map(|command| command.name).filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/commands.md, \"Commands by family\", lacks {missing:?}");
}

#[test]
fn names_are_unique_and_in_lower_case() {
    let mut names = BTreeSet::new();
    for target in CommandTarget::all_present() {
        assert_eq!(target.name(), target.name().to_lowercase());
        assert!(names.insert(target.name()), "{} twice", target.name());
    }
}

#[test]
fn batched_commands_have_a_key() {
    for command in COMMANDS.iter().filter(|command| command.plan.batch.is_some()) {
        assert!(command.keys.0 == 1 && command.arity.abs() >= 2, "{}", command.name);
    }
}

#[test]
fn flags_fit_plans() {
    for command in &COMMANDS {
        let plan = &command.plan;
        let writes = matches!((plan.batch, plan.run), (Some(Batched::Write(_)), _) | (_, Run::Migrate));
        assert!(!writes || command.has(Flag::Write), "{} writes without the flag", command.name);
        assert!(!(command.has(Flag::Write) && command.has(Flag::ReadOnly)), "{}", command.name);
        assert!(
            plan.blocking().is_none() || command.has(Flag::Blocking),
            "{} blocks without the flag",
            command.name
        );
    }
}

/// The keys at fixed positions are arguments of every request, and only functions may depend on the
/// request.
#[test]
fn key_specifications_fit_the_numbers_of_arguments() {
    for command in COMMANDS.iter().filter(|command| command.subcommands.is_empty()) {
        let (first, last, _) = command.keys;
        let fewest = command.arity.abs();
        assert!(first < fewest && last < fewest, "{}: {:?}", command.name, command.keys);
        assert!(command.key_count < fewest.unsigned_abs() as usize, "{}", command.name);
        let varies = command.key_specs.as_slice().iter().any(|spec| spec.flags.contains("variable_flags"));
        assert_eq!(varies, command.key_flags.is_some(), "{}", command.name);
    }
}

/// A command that writes keys must have an event, or it would change them without a notice.
#[test]
fn every_command_that_writes_keys_has_an_event() {
    for command in COMMANDS.iter().filter(|command| command.has(Flag::Write)) {
        let has_event = !matches!(command.event, EventRule::Reads | EventRule::Never);
        assert_eq!(has_event, command.names_keys(), "{}", command.name);
    }
}

/// Incident: SK.FIRST and its relatives, which return the whole contents of a key, were timed
/// together with up to 63 others, because Redis's flag for key lookups was taken as a promise. Add
/// a command here only if, with few arguments, it takes about as long as reading the clock. Check
/// this first.
#[test]
fn what_is_timed_together_is_short() {
    const SHORT: &[&str] = &[
        "auth", "discard", "echo", "exists", "hello", "lastsave", "mget", "mset", "multi", "ping", "pttl",
        "quit", "reset", "select", "time", "touch", "ttl", "unwatch", "watch",
    ];
    let mut together: Vec<&str> = COMMANDS
        .iter()
        .filter(|command| command.has(Flag::TimedTogether))
        .map(|command| command.name)
        .collect();
    together.sort_unstable();
    assert_eq!(together, SHORT);
}

/// Incident: the commands that run while the data is loading were a separate list, which could
/// contradict this table. Fix: like Redis, the server runs the commands that the table flags as
/// `loading`. The exceptions, which cannot run yet, are named here.
#[test]
fn what_is_answered_early_is_flagged_so() {
    // Redis flags each subcommand instead of the command.
    const BY_SUBCOMMAND: [&str; 1] = ["client"];
    const NEEDS_DATA: &[&str] =
        &["debug", "discard", "exec", "lastsave", "monitor", "multi", "unwatch", "watch"];
    // A loading connection has no worker that could deliver a message.
    let needs_data = |command: &Command| NEEDS_DATA.contains(&command.name) || command.has(Flag::PubSub);
    for command in COMMANDS.iter().filter(|command| !BY_SUBCOMMAND.contains(&command.name)) {
        let flagged = command.has(Flag::Loading);
        let expected = flagged && !needs_data(command);
        assert_eq!(command.while_loading.is_some(), expected, "{}", command.name);
        assert!(flagged || !NEEDS_DATA.contains(&command.name), "{}", command.name);
    }
}

#[test]
fn what_is_answered_while_busy_is_flagged_so() {
    // It would read a key in the middle of the script.
    const NEEDS_DATA: &str = "watch";
    for command in &COMMANDS {
        let expected = command.has(Flag::AllowBusy) && command.name != NEEDS_DATA;
        assert_eq!(command.while_busy.is_some(), expected, "{}", command.name);
        for row in command.subcommands {
            let name = row.full_name(command);
            assert_eq!(row.while_busy.is_some(), row.flags.has(Flag::AllowBusy), "{name}");
        }
    }
}

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

/// Commands with a grammar that has another number of words than they need, as in Redis. The
/// grammar calls a needed filter optional, or needs a member or a key that may be left out.
const LOOSE: &[&str] = &["client|kill", "geohash", "geopos", "pfmerge"];

#[test]
fn grammars_fit_the_numbers_of_arguments() {
    for target in CommandTarget::all_present() {
        let (name, row) = (target.name(), target.row());
        let (arity, words, syntax, specs) = match target.subcommand {
            None => (row.arity, 1, row.syntax, row.key_specs),
            Some(at) => {
                let row = &row.subcommands[at];
                (row.arity, 2, row.syntax, row.key_specs)
            }
        };
        let arguments = parse(syntax).unwrap_or_else(|why| panic!("{name}: {why}"));
        if target.subcommand.is_none() && !row.subcommands.is_empty() {
            assert!(arguments.is_empty(), "{name}: the subcommands have the arguments");
            continue;
        }
        let fewest: usize = words + arguments.iter().map(fewest_words).sum::<usize>();
        let wanted = arity.unsigned_abs() as usize;
        if !LOOSE.contains(&name) {
            assert_eq!(fewest, wanted, "{name}: {syntax}");
        }
        all_parts(&arguments, &mut |argument| {
            let has_spec = |at: usize| at < specs.as_slice().len();
            assert!(argument.key_spec.is_none_or(has_spec), "{name}: {}", argument.name);
            assert!(argument.kind != DocType::Key || argument.key_spec.is_some(), "{name}");
        });
    }
}

#[test]
fn every_command_has_a_summary() {
    for command in &COMMANDS {
        assert!(!command.summary.is_empty(), "{}", command.name);
        for row in command.subcommands {
            assert!(!row.summary.is_empty(), "{}", row.full_name(command));
        }
    }
}
