//! ACL LOG: the denied requests and logins.

use skein_syntax::number::parse_i64;

use crate::acl::AclLogEntry;
use crate::commands::reply_limit::ReplyLimit;
use crate::commands::{CommandContext, Replied, command_error, is};
use crate::resp::{Args, Reply};

/// Number of entries in the reply without an explicit count.
const COUNT: usize = 10;

pub(super) fn log(context: &CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let log = &context.shared.acl.log;
    let count = match args.len() {
        2 => COUNT,
        3 if is(args.get(2), "RESET") => {
            log.shorten(0);
            reply.ok();
            return Ok(());
        }
        // As in Redis, a negative number counts as zero.
        3 => usize::try_from(parse_i64(args.get(2)).ok_or(command_error::NOT_AN_INTEGER)?).unwrap_or(0),
        _ => return Err(super::too_many(args)),
    };
    let entries = log.newest(count);
    reply.array(entries.len());
    let limit = ReplyLimit::new(context.shared, reply, "ask for fewer entries");
    for entry in &entries {
        write(entry, reply);
        limit.check(reply)?;
    }
    Ok(())
}

fn write(AclLogEntry { case, count, at }: &AclLogEntry, reply: &mut Reply) {
    reply.map(7);
    reply.named("count").count(usize::try_from(*count).unwrap_or(usize::MAX));
    for (name, value) in [
        ("reason", case.reason.name().as_bytes()),
        ("context", case.context.name().as_bytes()),
        ("object", &case.object),
        ("username", &case.user),
    ] {
        reply.bulk(name.as_bytes());
        reply.bulk(value);
    }
    reply.named("age-seconds").double((at.elapsed().as_secs_f64() * 1000.0).round() / 1000.0);
    reply.named("client-info").bulk(case.client.as_bytes());
}
