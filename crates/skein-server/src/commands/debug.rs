//! DEBUG, for tests of clients. The server's options must allow it.

use std::time::{Duration, UNIX_EPOCH};

use skein_data::is_reserved;

use super::dump::write_whole_payload;
use super::keys::object::encoding;
use super::subcommands::{help, unknown_or_wrong};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, RESERVED_KEY_NAMED, Replied, is};
use crate::report::info::LRU_CLOCK;
use crate::resp::{Args, Protocol, Reply};

/// The longest sleep.
const SLEEP_MAX: Duration = Duration::from_secs(60 * 60);

const HELP: &[&str] = &[
    "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "ERROR <string>",
    "    Reply with this error.",
    "OBJECT <key>",
    "    Describe the value of a key: its encoding in Redis, the bytes of its payload, its idle time.",
    "PROTOCOL <type>",
    "    Reply with a value of this type of the protocol.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Let expired keys stay in memory, hidden, or remove them again.",
    "SET-DISABLE-DENY-SCRIPTS <0|1>",
    "    Let scripts call DEBUG, or no longer.",
    "SLEEP <seconds>",
    "    Stop serving the clients of this worker for <seconds>. Decimals allowed.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn debug(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if !context.shared.options.debug_command {
        return Err(CommandError::text(
            "ERR DEBUG command not allowed. To allow it, start the server with the option enable-debug-command.",
        ));
    }
    let subcommand = args.get(1);
    if is(subcommand, "HELP") && args.len() == 2 {
        help(HELP, reply);
    } else if is(subcommand, "SLEEP") && args.len() == 3 {
        std::thread::sleep(parse_sleep(args.get(2))?);
        reply.ok();
    } else if is(subcommand, "ERROR") && args.len() == 3 {
        let line = |byte: &u8| if b"\r\n".contains(byte) { b' ' } else { *byte };
        return Err(CommandError::owned(args.get(2).iter().map(line).collect::<Vec<u8>>()));
    } else if is(subcommand, "OBJECT") && args.len() == 3 {
        describe(context, args.get(2), reply)?;
    } else if is(subcommand, "PROTOCOL") && args.len() == 3 {
        write_example(args.get(2), reply)?;
    } else if is(subcommand, "SET-ACTIVE-EXPIRE") && args.len() == 3 {
        context.shared.data.store.pause_expiry(!parse_switch(args)?);
        reply.ok();
    } else if is(subcommand, "SET-DISABLE-DENY-SCRIPTS") && args.len() == 3 {
        context.shared.settings.debug_in_scripts.set(parse_switch(args)?);
        reply.ok();
    } else {
        return Err(unknown_or_wrong(args));
    }
    Ok(AfterCommand::Done)
}

/// Bytes of a payload around the contents: the type, the version and the checksum.
const AROUND_CONTENTS: usize = 1 + 2 + 8;

/// Writes the description of a key for DEBUG OBJECT. Values have no address.
fn describe(context: &mut CommandContext, name: &[u8], reply: &mut Reply) -> Replied {
    if is_reserved(name) {
        return Err(RESERVED_KEY_NAMED);
    }
    let key = context.client.keyspace().stored(name);
    let limits = context.shared.settings.encodings.limits();
    let encoding = context.look_up_unused(&key, |row| row?.map(|row| encoding(row, &limits)).transpose())?;
    let encoding = encoding.ok_or(CommandError::text("ERR no such key"))?;
    let idle = context.shared.data.store.idle_time(&key).unwrap_or_default().as_secs();
    let mut payload = Vec::new();
    let most = context.shared.settings.reply_bytes_max.get();
    let mut writer = Reply::new(&mut payload, Protocol::Resp2);
    write_whole_payload(&mut context.session, &key, most, |_, _| {}, &mut writer)?;
    let text = bulk_text(&payload).len().saturating_sub(AROUND_CONTENTS);
    let used = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs().saturating_sub(idle) & LRU_CLOCK;
    reply.simple(&format!(
        "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{text} lru:{used} lru_seconds_idle:{idle}"
    ));
    Ok(())
}

/// Returns the text of a bulk string.
fn bulk_text(reply: &[u8]) -> &[u8] {
    let head = reply.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    reply.get(head..reply.len().saturating_sub(2)).unwrap_or_default()
}

/// Returns whether the switch in argument 2 is on.
fn parse_switch(args: &Args) -> CommandResult<bool> {
    match args.get(2) {
        b"0" => Ok(false),
        b"1" => Ok(true),
        _ => {
            let name = args.get(1).escape_ascii();
            Err(CommandError::owned(format!("ERR DEBUG {name}: give 1 for on or 0 for off")))
        }
    }
}

/// The double that Redis shows: not a rough number pi.
#[expect(clippy::approx_constant, reason = "the reply of Redis")]
const EXAMPLE: f64 = 3.141;

/// Writes the value that Redis has for each type of the protocol.
fn write_example(kind: &[u8], reply: &mut Reply) -> Replied {
    let is_new = reply.protocol() == Protocol::Resp3;
    match kind.to_ascii_lowercase().as_slice() {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.int(12345),
        b"double" => reply.double(EXAMPLE),
        b"bignum" => reply.big_number(b"1234567999999999999999999999999999999"),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|number| reply.int(number));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|number| reply.int(number));
        }
        b"map" => {
            reply.map(3);
            for number in 0..3 {
                reply.int(number);
                reply.boolean(number == 1);
            }
        }
        b"attrib" => {
            if is_new {
                reply.attributes(1);
                reply.bulk(b"key-popularity");
                reply.array(2);
                reply.bulk(b"key:123");
                reply.int(90);
            }
            reply.bulk(b"Some real reply following the attribute");
        }
        b"push" if !is_new => {
            return Err(CommandError::text("ERR RESP2 is not supported by this command"));
        }
        b"push" => {
            reply.push(2);
            reply.bulk(b"server-cpu-usage");
            reply.int(42);
            reply.bulk(b"Some real reply following the push reply");
        }
        b"verbatim" => reply.text("This is a verbatim\nstring"),
        b"true" => reply.boolean(true),
        b"false" => reply.boolean(false),
        _ => {
            return Err(CommandError::text(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}

fn parse_sleep(text: &[u8]) -> CommandResult<Duration> {
    // As in Redis, a line end may follow: clients in C send one by mistake.
    let seconds: Option<f64> =
        std::str::from_utf8(text.trim_ascii_end()).ok().and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= SLEEP_MAX).ok_or_else(|| {
        let shown = text[..text.len().min(64)].escape_ascii();
        CommandError::owned(format!(
            "ERR DEBUG SLEEP {shown}: give seconds from 0 to {}, decimals allowed",
            SLEEP_MAX.as_secs()
        ))
    })
}
