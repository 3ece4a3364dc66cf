//! COMMAND INFO: a command, or a subcommand, in ten elements.

use crate::acl::{Category, CommandTarget};
use crate::command_table::CommandFlags;
use crate::command_table::key_specs::{KeyBegin, KeyFind, KeySpec, KeySpecs};
use crate::resp::Reply;

/// Writes the details of a command or a subcommand.
pub(super) fn write(target: CommandTarget, reply: &mut Reply) {
    let command = target.row();
    let (arity, flags, specs, tips) = match target.subcommand {
        // As in Redis, a command with subcommands has no flags and no keys itself.
        None if !command.subcommands.is_empty() => {
            (command.arity, CommandFlags::NONE, &KeySpecs::NONE, command.tips)
        }
        None => (command.arity, command.flags, &command.key_specs, command.tips),
        Some(at) => {
            let row = &command.subcommands[at];
            (row.arity, row.flags, &row.key_specs, row.tips)
        }
    };
    reply.array(10);
    reply.bulk(target.name().as_bytes());
    reply.int(arity.into());
    reply.words(flags.shown());
    let (first, last, step) = specs.positions();
    for number in [first, last, step] {
        reply.int(number.into());
    }
    let categories: Vec<String> =
        target.categories().iter().map(|category: Category| category.to_string()).collect();
    reply.words(categories.iter().map(String::as_str));
    let tips: Vec<&str> = tips.split_ascii_whitespace().collect();
    reply.set(tips.len());
    for tip in tips {
        reply.bulk(tip.as_bytes());
    }
    reply.set(specs.as_slice().len());
    for spec in specs.as_slice() {
        write_spec(spec, reply);
    }
    let subcommands = if target.subcommand.is_none() { command.subcommands.len() } else { 0 };
    reply.set(subcommands);
    for at in 0..subcommands {
        write(CommandTarget { command: target.command, subcommand: Some(at) }, reply);
    }
}

fn write_spec(spec: &KeySpec, reply: &mut Reply) {
    reply.map(3);
    reply.bulk(b"flags");
    reply.words(spec.flags.split_ascii_whitespace());
    reply.bulk(b"begin_search");
    match spec.begin {
        KeyBegin::Index(index) => kind("index", &[("index", index)], reply),
        KeyBegin::Keyword(word, from) => {
            reply.map(2);
            reply.named("type").bulk(b"keyword");
            reply.bulk(b"spec");
            reply.map(2);
            reply.named("keyword").bulk(word.as_bytes());
            reply.named("startfrom").int(from.into());
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
fn kind(name: &str, numbers: &[(&str, i32)], reply: &mut Reply) {
    reply.map(2);
    reply.named("type").bulk(name.as_bytes());
    reply.bulk(b"spec");
    reply.map(numbers.len());
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.int((*number).into());
    }
}
