//! A client as a line of CLIENT LIST. Uses Redis's field names where the meaning is the same.

use crate::clients::client::ClientState;
use crate::clients::client_registry::{ClientMode, ClientRecord};
use crate::commands::ResolvedTag;
use crate::net::transport::ConnectionAddress;
use crate::shared::ServerShared;

/// Returns the line of a client. `running` is the current command of `me`, unless `me` is in an
/// EXEC. Names are cut at `name_max` bytes.
pub(crate) fn line(
    shared: &ServerShared,
    me: &ClientState,
    record: &ClientRecord,
    running: &str,
    name_max: usize,
) -> String {
    let (age, idle) = record.age_and_idle(shared.identity.started.elapsed());
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(name_max)]).into_owned();
    let address =
        |address: &Option<ConnectionAddress>| address.as_ref().map_or_else(String::new, ToString::to_string);
    let command = match ResolvedTag::of(record.command()) {
        _ if record.place.client == me.id => {
            if me.in_exec() {
                "exec"
            } else {
                running
            }
        }
        ResolvedTag::Command(command)
        | ResolvedTag::WrongArity(command)
        | ResolvedTag::ReservedKey(command) => command.name,
        ResolvedTag::Unknown => "NULL",
    };
    let said = record.attributes().clone();
    let flags: String = [
        (record.has_mode(ClientMode::Monitor), 'O'),
        (record.subscribes(), 'P'),
        (record.queued().is_some(), 'x'),
        (record.is_blocked(), 'b'),
        (record.has_mode(ClientMode::Tracking), 't'),
        (record.has_mode(ClientMode::BrokenRedirect), 'R'),
        (record.has_mode(ClientMode::Broadcast), 'B'),
        (matches!(record.address, Some(ConnectionAddress::Unix(_))), 'U'),
        (said.no_evict, 'e'),
    ]
    .iter()
    .filter_map(|(has, flag)| has.then_some(*flag))
    .collect();
    let tracks = record.has_mode(ClientMode::Tracking);
    let redirect = if tracks { i64::try_from(record.redirect()).unwrap_or(i64::MAX) } else { -1 };
    let [channels, patterns, shards] = record.subscriptions();
    let (bytes, peak) = (record.sizes.get(), record.sizes.peak());
    // Arguments stay in the input buffer, and replies in one buffer, so there is no list of them.
    // That buffer is the memory of waiting replies while there are any.
    let omem = if bytes.waiting > 0 { bytes.replies } else { 0 };
    let sizes = format!(
        "qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs={} rbp={peak} obl={} oll=0 omem={omem} tot-mem={} events={}",
        bytes.query,
        bytes.query_free,
        bytes.multi,
        bytes.replies,
        bytes.waiting,
        bytes.total,
        if bytes.waiting > 0 { "rw" } else { "r" },
    );
    let flags = if flags.is_empty() { "N" } else { &flags };
    format!(
        "id={} addr={} laddr={} fd={} name={} age={age} idle={idle} flags={} db={} sub={channels} psub={patterns} ssub={shards} multi={} {sizes} \
         cmd={command} user={} redir={redirect} resp={} lib-name={} lib-ver={}\n",
        record.place.client,
        address(&record.address),
        address(&record.local),
        record.file,
        text(&said.name),
        flags,
        record.database(),
        record.queued().unwrap_or(-1),
        text(&said.user),
        record.protocol(),
        text(&said.library),
        text(&said.library_version),
    )
}
