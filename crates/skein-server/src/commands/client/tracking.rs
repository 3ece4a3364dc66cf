//! CLIENT TRACKING and its relatives: the server tells a client which keys that it has read have
//! changed since.
//!
//! Source: Redis's client-side caching. Design: `docs/design/server.md`.

use std::collections::BTreeSet;
use std::ops::Bound;

use skein_syntax::number::parse_i64;

use super::is;
use crate::clients::client::{ClientState, ClientTracking};
use crate::clients::client_registry::ClientMode;
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{
    AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, Replied, quoted,
};
use crate::notice::key_events::TrackedClient;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;

const NO_SUCH_CLIENT: CommandError =
    CommandError::text("ERR The client ID you want redirect to does not exist");
const PREFIX_WITHOUT_BCAST: CommandError =
    CommandError::text("ERR PREFIX option requires BCAST mode to be enabled");
const NOT_TRACKING: CommandError = CommandError::text(
    "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
);

/// The options of CLIENT TRACKING.
#[derive(Default)]
struct TrackingOptions<'a> {
    /// 0 for the client itself.
    redirect: u64,
    modes: ClientTracking,
    prefixes: Vec<&'a [u8]>,
}

impl<'a> TrackingOptions<'a> {
    fn parse(shared: &ServerShared, args: &Args<'a>) -> CommandResult<Self> {
        let mut options = Self::default();
        let mut rest = args.from(3);
        while let Some(word) = rest.next() {
            if is(word, "REDIRECT") && rest.len() > 0 {
                options.redirect = redirect(shared, options.redirect, rest.next().unwrap_or_default())?;
            } else if is(word, "BCAST") {
                options.modes.broadcast = true;
            } else if is(word, "OPTIN") {
                options.modes.opt_in = true;
            } else if is(word, "OPTOUT") {
                options.modes.opt_out = true;
            } else if is(word, "NOLOOP") {
                options.modes.no_loop = true;
            } else if is(word, "PREFIX") && rest.len() > 0 {
                options.prefixes.extend(rest.next());
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }

    /// Rejects options that contradict each other, or the present tracking of the client.
    fn check(&self, present: Option<&ClientTracking>) -> CommandResult<()> {
        let wanted = &self.modes;
        if !wanted.broadcast && !self.prefixes.is_empty() {
            return Err(PREFIX_WITHOUT_BCAST);
        }
        if present.is_some_and(|present| present.broadcast != wanted.broadcast) {
            return Err(switches("BCAST mode on/off"));
        }
        if wanted.broadcast && (wanted.opt_in || wanted.opt_out) {
            return Err(CommandError::text("ERR OPTIN and OPTOUT are not compatible with BCAST"));
        }
        if wanted.opt_in && wanted.opt_out {
            return Err(CommandError::text("ERR You can't specify both OPTIN mode and OPTOUT mode"));
        }
        if present.is_some_and(|present| wanted.opt_in && present.opt_out || wanted.opt_out && present.opt_in)
        {
            return Err(switches("OPTIN/OPTOUT mode"));
        }
        let none = BTreeSet::new();
        check_prefixes(&self.prefixes, present.map_or(&none, |present| &present.prefixes))
    }
}

fn switches(what: &str) -> CommandError {
    CommandError::owned(format!(
        "ERR You can't switch {what} before disabling tracking for this client, and then re-enabling it with a \
         different mode."
    ))
}

/// Returns the client that receives the messages.
fn redirect(shared: &ServerShared, before: u64, text: &[u8]) -> CommandResult<u64> {
    if before != 0 {
        return Err(CommandError::text("ERR A client can only redirect to a single other client"));
    }
    let id = parse_i64(text).ok_or(NOT_AN_INTEGER)?;
    let client = u64::try_from(id).ok().filter(|id| shared.clients.registry.find(*id).is_some());
    client.ok_or(NO_SUCH_CLIENT)
}

/// Rejects prefixes if one begins with another: a key would be told twice.
fn check_prefixes(wanted: &[&[u8]], present: &BTreeSet<Vec<u8>>) -> CommandResult<()> {
    let fault = |one: &[u8], what: &str, other: &[u8]| {
        let [one, other] = [one, other].map(|text| quoted(text, QUOTED_BYTES_MAX));
        CommandError::owned(
            [
                b"ERR Prefix '",
                one,
                b"' overlaps with ",
                what.as_bytes(),
                b" prefix '",
                other,
                b"'. Prefixes for a single client must not overlap.",
            ]
            .concat(),
        )
    };
    for prefix in wanted {
        if let Some(other) = overlapping(prefix, present) {
            return Err(fault(prefix, "an existing", other));
        }
    }
    // All prefixes between one and its longer form begin with it. So if two overlap, neighbours do.
    let mut sorted: Vec<(&[u8], usize)> =
        wanted.iter().enumerate().map(|(at, prefix)| (*prefix, at)).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        let [(shorter, one), (longer, other)] = [pair[0], pair[1]];
        if longer.starts_with(shorter) {
            return Err(fault(wanted[one.min(other)], "another provided", wanted[one.max(other)]));
        }
    }
    Ok(())
}

/// Returns a prefix of a set that begins with `prefix`, or with which `prefix` begins. REQUIRES:
/// those of the set do not overlap. So only the two neighbours can.
fn overlapping<'s>(prefix: &[u8], set: &'s BTreeSet<Vec<u8>>) -> Option<&'s Vec<u8>> {
    let before = (Bound::Unbounded, Bound::Included(prefix));
    let from = (Bound::Included(prefix), Bound::Unbounded);
    let shorter = set.range::<[u8], _>(before).next_back().filter(|other| prefix.starts_with(other));
    shorter.or_else(|| set.range::<[u8], _>(from).next().filter(|other| other.starts_with(prefix)))
}

/// Runs CLIENT TRACKING.
pub(super) fn set(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let CommandContext { client, shared, .. } = context;
    let options = TrackingOptions::parse(shared, args)?;
    if is(args.get(2), "ON") {
        options.check(client.tracking.as_deref())?;
        enable(shared, client, options);
    } else if is(args.get(2), "OFF") {
        stop_tracking(shared, client);
    } else {
        return Err(SYNTAX);
    }
    reply.ok();
    // Other workers notice the keys that they change from now on.
    Ok(AfterCommand::Fence)
}

fn enable(shared: &ServerShared, client: &mut ClientState, options: TrackingOptions<'_>) {
    let TrackingOptions { redirect, mut modes, prefixes } = options;
    let mut prefixes: Vec<Vec<u8>> = prefixes.into_iter().map(<[u8]>::to_vec).collect();
    if modes.broadcast && prefixes.is_empty() {
        prefixes.push(Vec::new());
    }
    let tracked = TrackedClient {
        place: client.record.place,
        no_loop: modes.no_loop,
        broadcast: modes.broadcast,
        redirect,
    };
    shared.notices.key_observer.track(client.id, tracked, &prefixes);
    if let Some(present) = client.tracking.take() {
        (modes.prefixes, modes.caching) = (present.prefixes, present.caching);
    }
    modes.prefixes.extend(prefixes);
    client.record.set_redirect(redirect);
    client.record.set_mode(ClientMode::Tracking, true);
    client.record.set_mode(ClientMode::Broadcast, modes.broadcast);
    client.record.set_mode(ClientMode::BrokenRedirect, false);
    client.tracking = Some(Box::new(modes));
}

/// Ends the tracking of a client: for CLIENT TRACKING OFF, RESET and a closed connection.
pub(crate) fn stop_tracking(shared: &ServerShared, client: &mut ClientState) {
    let Some(tracking) = client.tracking.take() else { return };
    let prefixes: Vec<Vec<u8>> = tracking.prefixes.into_iter().collect();
    shared.notices.key_observer.stop_tracking(client.id, &prefixes);
    for mode in [ClientMode::Tracking, ClientMode::Broadcast, ClientMode::BrokenRedirect] {
        client.record.set_mode(mode, false);
    }
}

/// Runs CLIENT CACHING.
pub(super) fn set_caching(client: &mut ClientState, args: &Args, reply: &mut Reply) -> Replied {
    let tracking = client.tracking.as_deref_mut().ok_or(NOT_TRACKING)?;
    let (fits, fault) = if is(args.get(2), "YES") {
        (tracking.opt_in, "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
    } else if is(args.get(2), "NO") {
        (tracking.opt_out, "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
    } else {
        return Err(SYNTAX);
    };
    if !fits {
        return Err(CommandError::text(fault));
    }
    tracking.caching = true;
    reply.ok();
    Ok(())
}

/// Runs CLIENT GETREDIR.
pub(super) fn write_redirect(client: &ClientState, reply: &mut Reply) {
    match client.tracking {
        Some(_) => reply.int(i64::try_from(client.record.redirect()).unwrap_or(i64::MAX)),
        None => reply.int(-1),
    }
}

/// Runs CLIENT TRACKINGINFO.
pub(super) fn write_info(client: &ClientState, reply: &mut Reply) {
    let none = ClientTracking::default();
    let tracking = client.tracking.as_deref();
    let modes = tracking.unwrap_or(&none);
    let flags = [
        (tracking.is_none(), "off"),
        (tracking.is_some(), "on"),
        (modes.broadcast, "bcast"),
        (modes.opt_in, "optin"),
        (modes.opt_in && modes.caching, "caching-yes"),
        (modes.opt_out, "optout"),
        (modes.opt_out && modes.caching, "caching-no"),
        (modes.no_loop, "noloop"),
        (client.record.has_mode(ClientMode::BrokenRedirect), "broken_redirect"),
    ];
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.iter().filter(|(is_set, _)| *is_set).count());
    for (_, name) in flags.iter().filter(|(is_set, _)| *is_set) {
        reply.bulk(name.as_bytes());
    }
    reply.bulk(b"redirect");
    write_redirect(client, reply);
    reply.bulk(b"prefixes");
    reply.bulks(&modes.prefixes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &[&str], present: &[&str]) -> String {
        let wanted: Vec<&[u8]> = wanted.iter().map(|text| text.as_bytes()).collect();
        let present = present.iter().map(|text| text.as_bytes().to_vec()).collect();
        let checked = check_prefixes(&wanted, &present);
        checked.map_or_else(|fault| String::from_utf8_lossy(fault.bytes()).into_owned(), |()| String::new())
    }

    #[test]
    fn overlapping_prefixes_are_found() {
        assert_eq!(check(&["b", "a", "c:"], &["d", "c;"]), "");
        assert_eq!(check(&[""], &[]), "");
        for (wanted, present, what) in [
            (&["x", "ab", "a"][..], &[][..], "'ab' overlaps with another provided prefix 'a'"),
            (&["a", "x", "abc", "ab"], &[], "'a' overlaps with another provided prefix 'ab'"),
            (&["a", "a"], &[], "'a' overlaps with another provided prefix 'a'"),
            (&["", "z"], &[], "'' overlaps with another provided prefix 'z'"),
            (&["m", "ab"], &["a", "b"], "'ab' overlaps with an existing prefix 'a'"),
            (&["a"], &["B", "ab", "b"], "'a' overlaps with an existing prefix 'ab'"),
            (&["a"], &["a"], "'a' overlaps with an existing prefix 'a'"),
            (&["a"], &[""], "'a' overlaps with an existing prefix ''"),
        ] {
            let fault = check(wanted, present);
            assert!(fault.contains(what), "{wanted:?} {present:?}: {fault}");
        }
    }

    /// Incident: CLIENT TRACKING with 50,000 prefixes compared each pair of them, for minutes.
    /// Consequence: no other client was served. Fix: sorted prefixes are compared with their
    /// neighbours.
    #[test]
    fn many_prefixes_are_checked_at_once() {
        let texts: Vec<String> = (0..100_000).map(|at| format!("prefix:{at:06}")).collect();
        let (wanted, present) = texts.split_at(50_000);
        let wanted: Vec<&[u8]> = wanted.iter().map(String::as_bytes).collect();
        let present = present.iter().map(|text| text.as_bytes().to_vec()).collect();
        let began = std::time::Instant::now();
        assert!(check_prefixes(&wanted, &present).is_ok());
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }
}
