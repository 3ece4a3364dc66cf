//! Keys of a server in other databases than the one that an address names. A command that reads all
//! keys leaves them out, and says so.

use skeindb::client::Reply;

use super::{CommandPeer, ServerPeer};
use crate::console;
use crate::exit::Failure;

/// Says on standard error which other databases have keys. Returns whether any has. If the user may
/// not ask, says so.
pub fn note_other_databases(peer: &mut ServerPeer) -> Result<bool, Failure> {
    let info = match peer.call(&[b"INFO", b"keyspace"])? {
        Reply::Bulk(info) => info,
        Reply::Error(text) if text.starts_with("NOPERM") => {
            console::note(format_args!(
                "skein: only database {} of {} is read; the user may not ask for others (+info)",
                peer.database, peer.address
            ));
            return Ok(false);
        }
        _ => return Ok(false),
    };
    let others = others_in(&String::from_utf8_lossy(&info), peer.database);
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

/// Returns the databases with keys, and how many, without this one: from lines such as
/// `db3:keys=7,expires=0,avg_ttl=0`.
fn others_in(info: &str, own: u32) -> Vec<(u32, u64)> {
    let of_line = |line: &str| {
        let (database, numbers) = line.strip_prefix("db")?.split_once(":keys=")?;
        let keys = numbers.split(',').next()?.parse().ok()?;
        Some((database.parse().ok()?, keys))
    };
    info.lines().filter_map(of_line).filter(|(database, keys)| *database != own && *keys > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_read_from_lines_of_info() {
        let info = "# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb3:keys=7,expires=1,avg_ttl=9\r\ndb12:keys=1\r\n";
        assert_eq!(others_in(info, 0), [(3, 7), (12, 1)]);
        assert_eq!(others_in(info, 3), [(0, 3), (12, 1)]);
        assert_eq!(others_in("# Keyspace\r\n", 0), []);
    }
}
