//! Protects other people's folders: a command that creates a data folder must not do so among
//! foreign files.

use std::path::Path;

use skein_data::foreign_files;
use skein_log::storage::OsStorage;
use skein_store::check_no_identity_lost;

use crate::exit::Failure;
use crate::target::store_failure;

/// Rejects a folder that contains files and is not a SkeinDB data folder.
pub fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    let Some(found) = foreign_files(folder) else { return Ok(()) };
    check_no_identity_lost(&OsStorage, folder).map_err(|error| store_failure(&error))?;
    Err(Failure::usage(format!(
        "{} is neither a data folder nor empty: it has {found}; name an empty folder, or a new one such as {}",
        folder.display(),
        folder.join("skein-data").display()
    )))
}
