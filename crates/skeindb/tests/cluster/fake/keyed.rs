//! Commands on a key.

use skein_syntax::slots::slot_of_key;

use super::resp::{bulk, error};
use super::{FakeValue, FakeWorld};

/// The entries of each stream, which has no groups.
pub const ENTRIES: &[u8] = b"*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n";

/// Returns the key of a command.
pub fn key_of<'c>(name: &[u8], command: &'c [Vec<u8>]) -> &'c Vec<u8> {
    if name == b"XINFO" { &command[2] } else { &command[1] }
}

impl FakeWorld {
    /// Returns the redirection that a node answers to a command on a key.
    pub fn redirection(&self, at: usize, key: &[u8], asking: bool) -> Option<String> {
        let (slot, node) = (slot_of_key(key), &self.nodes[at]);
        if node.owned.0.contains(slot) && !node.is_replica {
            let to = node.migrating.get(&slot).filter(|_| !node.keys.contains_key(key))?;
            return Some(format!("ASK {slot} {}", self.nodes[*to].address));
        }
        if asking && node.importing.0.contains(slot) {
            return None;
        }
        match self.owner(slot) {
            Some(owner) => Some(format!("MOVED {slot} {}", self.nodes[owner].address)),
            None => Some("CLUSTERDOWN Hash slot not served".to_owned()),
        }
    }

    /// Runs a command on a key that is at the node.
    pub fn keyed(&mut self, at: usize, name: &[u8], command: &[Vec<u8>]) -> Vec<u8> {
        let keys = &mut self.nodes[at].keys;
        let key = key_of(name, command);
        match (name, keys.get_mut(key)) {
            (b"SET", _) => {
                keys.insert(key.clone(), FakeValue::Text(command[2].clone()));
                b"+OK\r\n".to_vec()
            }
            (b"GET", Some(FakeValue::Text(text))) => bulk(text),
            (b"GET", None) => b"_\r\n".to_vec(),
            (b"DEL", found) => {
                let reply = format!(":{}\r\n", u8::from(found.is_some()));
                keys.remove(key);
                reply.into_bytes()
            }
            (b"HSET", found) => {
                let pairs = command[2..].chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                match found {
                    Some(FakeValue::Hash(hash)) => hash.extend(pairs),
                    _ => drop(keys.insert(key.clone(), FakeValue::Hash(pairs.collect()))),
                }
                b":1\r\n".to_vec()
            }
            // Two fields at a time. A cursor is a position, and means another field at another
            // node.
            (b"HSCAN", Some(FakeValue::Hash(hash))) => {
                let skipped: usize = String::from_utf8_lossy(&command[2]).parse().expect("a cursor");
                let mut items: Vec<_> = hash.iter().collect();
                if at % 2 == 1 {
                    items.reverse();
                }
                let rest = &items[skipped.min(items.len())..];
                let next = if rest.len() > 2 { skipped + 2 } else { 0 };
                let part = &rest[..rest.len().min(2)];
                let mut out = b"*2\r\n".to_vec();
                out.extend(bulk(next.to_string().as_bytes()));
                out.extend(format!("*{}\r\n", part.len() * 2).bytes());
                for (field, value) in part {
                    out.extend([bulk(field), bulk(value)].concat());
                }
                out
            }
            (b"PEXPIRETIME", Some(_)) | (b"PTTL", _) => b":-1\r\n".to_vec(),
            (b"PEXPIRETIME", None) => b":-2\r\n".to_vec(),
            (b"TYPE", Some(FakeValue::Stream)) => b"+stream\r\n".to_vec(),
            (b"XINFO", Some(FakeValue::Stream)) => [
                b"*6\r\n$6\r\nlength\r\n:1\r\n$17\r\nlast-generated-id\r\n",
                &bulk(b"1-1")[..],
                b"$6\r\ngroups\r\n*0\r\n",
            ]
            .concat(),
            (b"XRANGE", Some(FakeValue::Stream)) => ENTRIES.to_vec(),
            (b"RESTORE", _) => {
                keys.insert(key.clone(), FakeValue::Stream);
                b"+OK\r\n".to_vec()
            }
            // As if the command was sent a second time.
            (b"XADD", Some(FakeValue::Stream)) => {
                error("ERR The ID specified in XADD is equal or smaller than the target stream top item")
            }
            (b"XSETID", Some(FakeValue::Stream)) => b"+OK\r\n".to_vec(),
            (b"TYPE", Some(FakeValue::Text(_))) => b"+string\r\n".to_vec(),
            (b"TYPE", Some(FakeValue::Hash(_))) => b"+hash\r\n".to_vec(),
            _ => error("WRONGTYPE Operation against a key holding the wrong kind of value"),
        }
    }
}
