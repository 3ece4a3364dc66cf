//! Databases of a server with keys. A command that reads one database says which others it leaves
//! out.

use skeindb::client::Reply;

use super::{CommandPeer, ServerPeer};
use crate::console;
use crate::exit::Failure;

/// Returns the databases with keys, and how many. Returns `None`, and says so on standard error, if
/// the user may not ask.
pub fn databases_with_keys(peer: &mut ServerPeer) -> Result<Option<Vec<(u32, u64)>>, Failure> {
    match peer.call(&[b"INFO", b"keyspace"])? {
        Reply::Bulk(info) => Ok(Some(databases_in(&String::from_utf8_lossy(&info)))),
        Reply::Error(text) if text.starts_with("NOPERM") => {
            console::note(format_args!(
                "skein: only database {} of {} is read; the user may not ask for others (+info)",
                peer.database, peer.address
            ));
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Says on standard error which other databases have keys. Returns whether any has.
pub fn note_other_databases(peer: &mut ServerPeer) -> Result<bool, Failure> {
    let mut others = databases_with_keys(peer)?.unwrap_or_default();
    others.retain(|(database, _)| *database != peer.database);
    if others.is_empty() {
        return Ok(false);
    }
    let keys: u64 = others.iter().map(|(_, keys)| keys).sum();
    let numbers: Vec<String> = others.iter().map(|(database, _)| database.to_string()).collect();
    console::note(format_args!(
        "skein: only database {} of {} is read; {keys} keys in other databases ({}) are left out: name each one in the address, as in redis://HOST:PORT/{}",
        peer.database,
        peer.address,
        numbers.join(", "),
        numbers[0]
    ));
    Ok(true)
}

/// Reads lines such as `db3:keys=7,expires=0,avg_ttl=0`.
fn databases_in(info: &str) -> Vec<(u32, u64)> {
    let of_line = |line: &str| {
        let (database, numbers) = line.strip_prefix("db")?.split_once(":keys=")?;
        let keys = numbers.split(',').next()?.parse().ok()?;
        Some((database.parse().ok()?, keys))
    };
    info.lines().filter_map(of_line).filter(|(_, keys)| *keys > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_read_from_lines_of_info() {
        let info = "# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb3:keys=7,expires=1,avg_ttl=9\r\ndb12:keys=1\r\n";
        assert_eq!(databases_in(info), [(0, 3), (3, 7), (12, 1)]);
        assert_eq!(databases_in("# Keyspace\r\ndb7:keys=0\r\n"), []);
    }
}
