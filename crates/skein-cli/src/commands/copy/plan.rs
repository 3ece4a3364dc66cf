//! The databases that a copy reads and writes.
//!
//! ```text
//!   --from     --to       copied
//!   HOST       HOST       each database with keys ─► the one of the same number
//!   HOST/3     HOST       3 ─► 3
//!   HOST/3     HOST/5     3 ─► 5
//!   HOST       HOST/5     rejected: all databases into one
//!   HOST[/3]   cluster    0 (or 3) ─► 0
//! ```

use skeindb::client::Reply;

use crate::exit::Failure;
use crate::remote::{CommandPeer, ServerPeer, ServerTarget, databases_with_keys, note_other_databases};

/// A database of the source, and the one of the target that it is copied into.
pub struct CopiedDatabase {
    pub from: u32,
    pub to: u32,
}

/// The databases to copy.
pub struct CopyPlan {
    pub databases: Vec<CopiedDatabase>,
    /// The number of keys, if known.
    pub total: Option<u64>,
    /// Whether databases of the source are left out that have keys.
    pub leaves_out: bool,
    /// Whether the libraries of functions are copied, too.
    pub has_functions: bool,
}

/// Returns the target's database, if the addresses name one to copy. Returns `None` if all
/// databases are copied.
///
/// # Errors
/// The target's address has a number, and the source's address does not.
pub fn named_databases(source: &ServerTarget<'_>, target: &ServerTarget<'_>) -> Result<Option<u32>, Failure> {
    match (source.named_database()?, target.named_database()?) {
        (None, Some(to)) => Err(Failure::usage(format!(
            "--to names database {to}, and --from none; name that of the source, too, as in redis://HOST:PORT/0, or leave \
             /{to} out to copy all databases, each into that of the same number"
        ))),
        (from, to) => Ok(to.or(from)),
    }
}

impl CopyPlan {
    /// Plans to copy the selected database of the source into this one of the target. Says which
    /// databases are left out, unless only keys of a pattern are copied.
    pub fn of_one(from: &mut ServerPeer, to: u32, has_pattern: bool) -> Result<Self, Failure> {
        let databases = vec![CopiedDatabase { from: from.database, to }];
        if has_pattern {
            return Ok(Self { databases, total: None, leaves_out: false, has_functions: false });
        }
        let leaves_out = note_other_databases(from)?;
        Ok(Self { databases, total: selected_keys(from)?, leaves_out, has_functions: false })
    }

    /// Plans to copy each database with keys into that of the same number.
    pub fn of_all(from: &mut ServerPeer, has_pattern: bool) -> Result<Self, Failure> {
        let found = databases_with_keys(from)?.unwrap_or_default();
        let (numbers, keys) = if found.is_empty() {
            // Without such lines in its INFO, a server may have keys.
            (vec![0], selected_keys(from)?)
        } else {
            let keys = found.iter().map(|(_, keys)| keys).sum();
            (found.into_iter().map(|(number, _)| number).collect(), Some(keys))
        };
        let databases = numbers.into_iter().map(|number| CopiedDatabase { from: number, to: number });
        Ok(Self {
            databases: databases.collect(),
            total: keys.filter(|_| !has_pattern),
            leaves_out: false,
            has_functions: !has_pattern,
        })
    }
}

/// Returns the number of keys of the selected database. Returns `None` if the user may not ask.
fn selected_keys(from: &mut ServerPeer) -> Result<Option<u64>, Failure> {
    let size = from.call(&[b"DBSIZE"])?;
    Ok(if let Reply::Integer(keys) = size { Some(keys.unsigned_abs()) } else { None })
}
