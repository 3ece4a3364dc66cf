//! COMMAND INFO: a command, or a subcommand, in ten elements.

use crate::acl::{Category, CommandTarget};
use crate::command_table::key_specs::{self, KeyBegin, KeyFind, KeySpec};
use crate::command_table::redis_facts::{subcommand_flags, tips};
use crate::resp::ReplyWriter;

/// Writes the details of a command or a subcommand.
pub(super) fn write(target: CommandTarget, reply: &mut ReplyWriter<'_>) {
    let (command, name) = (target.row(), target.name());
    reply.array(10);
    reply.bulk(name.as_bytes());
    let (arity, flags, keys, specs) = match target.subcommand {
        // As in Redis, a command with subcommands has no flags and no keys itself.
        None if !command.subcommands.is_empty() => (command.arity, Vec::new(), (0, 0, 0), Vec::new()),
        None => (command.arity, command.flags.to_vec(), command.keys, key_specs::of_command(command)),
        Some(at) => {
            let specs = key_specs::of_subcommand(name).to_vec();
            (command.subcommands[at].1, subcommand_flags(name), first_keys(&specs), specs)
        }
    };
    reply.int(arity.into());
    words(&flags, reply);
    for number in [keys.0, keys.1, keys.2] {
        reply.int(number.into());
    }
    let categories: Vec<String> =
        target.categories().iter().map(|category: Category| category.to_string()).collect();
    words(&categories.iter().map(String::as_str).collect::<Vec<_>>(), reply);
    reply.set(tips(name).len());
    for tip in tips(name) {
        reply.bulk(tip.as_bytes());
    }
    reply.set(specs.len());
    for spec in &specs {
        write_spec(spec, reply);
    }
    let subcommands = if target.subcommand.is_none() { command.subcommands.len() } else { 0 };
    reply.set(subcommands);
    for at in 0..subcommands {
        write(CommandTarget { command: target.command, subcommand: Some(at) }, reply);
    }
}

/// Returns first key, last key and step of the first specification, if it has fixed positions.
fn first_keys(specs: &[KeySpec]) -> (i32, i32, i32) {
    match specs.first() {
        Some(KeySpec { begin: KeyBegin::Index(first), find: KeyFind::Range { last, step, .. }, .. }) => {
            (*first, if *last < 0 { *last } else { first + last }, *step)
        }
        _ => (0, 0, 0),
    }
}

fn words(words: &[&str], reply: &mut ReplyWriter<'_>) {
    reply.set(words.len());
    for word in words {
        reply.simple(word);
    }
}

fn write_spec(spec: &KeySpec, reply: &mut ReplyWriter<'_>) {
    reply.map(3);
    reply.bulk(b"flags");
    words(&spec.flags.split_ascii_whitespace().collect::<Vec<_>>(), reply);
    reply.bulk(b"begin_search");
    match spec.begin {
        KeyBegin::Index(index) => kind("index", &[("index", index)], reply),
        KeyBegin::Keyword(word, from) => {
            reply.map(2);
            reply.bulk(b"type");
            reply.bulk(b"keyword");
            reply.bulk(b"spec");
            reply.map(2);
            reply.bulk(b"keyword");
            reply.bulk(word.as_bytes());
            reply.bulk(b"startfrom");
            reply.int(from.into());
        }
        KeyBegin::Unknown => kind("unknown", &[], reply),
    }
    reply.bulk(b"find_keys");
    match spec.find {
        KeyFind::Range { last, step, limit } => {
            kind("range", &[("lastkey", last), ("keystep", step), ("limit", limit)], reply);
        }
        KeyFind::Counted { number, first, step } => {
            kind("keynum", &[("keynumidx", number), ("firstkey", first), ("keystep", step)], reply);
        }
        KeyFind::Unknown => kind("unknown", &[], reply),
    }
}

/// Writes a kind and its numbers.
fn kind(name: &str, numbers: &[(&str, i32)], reply: &mut ReplyWriter<'_>) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(name.as_bytes());
    reply.bulk(b"spec");
    reply.map(numbers.len());
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.int((*number).into());
    }
}
