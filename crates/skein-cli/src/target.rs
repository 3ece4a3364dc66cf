//! The target of a command: a server (`remote`) or a data folder.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use skein_data::{DiskEngine, Engine, EngineError};
use skein_disk::{DiskStore, Durability, Values, is_disk_folder};
use skein_log::storage::OsStorage;
use skein_server::config::{Named as _, Word, option_of_field};
use skein_store::{Error, Store, StoreLimits, StoreOptions, check_no_identity_lost, is_data_folder};

use crate::console;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::foreign_folder::refuse_foreign;
use crate::remote::{AccessOptions, ServerArgs, ServerTarget};

pub use skein_server::config::DEFAULT_ADDRESS;

/// The port of `DEFAULT_ADDRESS`.
pub const DEFAULT_PORT: u16 = 6380;

/// The target of a command, as options: a server, unless a data folder is named.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// The server, unless a data folder is named: HOST:PORT, redis://HOST:PORT, rediss://HOST:PORT
    /// for TLS, or unix:PATH.
    #[arg(long = "from", value_name = "SERVER", default_value = DEFAULT_ADDRESS, conflicts_with = "data")]
    server: String,
    #[command(flatten)]
    access: ServerArgs,
    /// A data folder that no server uses, instead of a server.
    #[arg(long, value_name = "DIR", conflicts_with = "ServerArgs")]
    data: Option<PathBuf>,
    /// A log folder of the data folder, if they were moved; otherwise the data folder remembers
    /// them. May be given several times.
    #[arg(long, value_name = "DIR", requires = "data")]
    log_dir: Vec<PathBuf>,
}

/// The target of a command.
pub enum DataTarget<'a> {
    /// A running server.
    Server(ServerTarget<'a>),
    /// A data folder.
    Folder(FolderTarget<'a>),
}

/// A data folder, as the command line names it.
pub struct FolderTarget<'a> {
    path: &'a Path,
    log_dirs: &'a [PathBuf],
}

/// The contents of a data folder.
pub enum FolderContents {
    /// Rows, as a server stores them.
    Rows(Engine),
    /// Values of plain bytes, in a disk store.
    Bytes(DiskStore),
}

impl TargetArgs {
    /// Returns the options for access to the server.
    pub fn access(&self) -> AccessOptions<'_> {
        self.access.access()
    }

    /// Returns the target that the options name.
    pub fn target(&self) -> DataTarget<'_> {
        match &self.data {
            Some(path) => DataTarget::Folder(FolderTarget { path, log_dirs: &self.log_dir }),
            None => DataTarget::Server(ServerTarget { address: &self.server, access: self.access.access() }),
        }
    }
}

impl FolderTarget<'_> {
    /// Opens an existing store, as a server would.
    pub fn open_existing(&self) -> Result<Store, Failure> {
        refuse_strange(self.path)?;
        self.open(StoreOptions::default())
    }

    /// Opens an existing disk store with the trie it was created with. Returns `None` if the folder
    /// does not belong to the disk engine.
    pub fn open_disk(&self, durability: Durability) -> Result<Option<DiskStore>, Failure> {
        if !is_disk_folder(self.path) {
            return Ok(None);
        }
        if !self.log_dirs.is_empty() {
            return Err(Failure::usage(
                "--log-dir: a disk store cannot have a log folder elsewhere; leave the option out",
            ));
        }
        disk::open_existing(self.path, durability).map(Some)
    }

    /// Opens an existing folder of either engine. `memory` opens a folder of the memory engine.
    pub fn open_contents(
        &self,
        durability: Durability,
        memory: impl FnOnce(&Self) -> Result<Store, Failure>,
    ) -> Result<FolderContents, Failure> {
        let Some(store) = self.open_disk(durability)? else {
            return Ok(FolderContents::Rows(memory(self)?.into()));
        };
        if store.options().values == Values::Bytes {
            return Ok(FolderContents::Bytes(store));
        }
        let engine =
            DiskEngine::new(store, StoreLimits::default()).map_err(|error| engine_failure(&error))?;
        Ok(FolderContents::Rows(engine.into()))
    }

    /// Opens the store, or creates it.
    pub fn open(&self, options: StoreOptions) -> Result<Store, Failure> {
        refuse_foreign(self.path)?;
        open(self.path, StoreOptions { log_folders: self.log_dirs.to_vec(), ..options })
    }
}

/// Rejects a path that is not a data folder, so that a command that only reads does not create one.
/// (A path that is a file is left to the store, which reports it itself.)
pub fn refuse_strange(folder: &Path) -> Result<(), Failure> {
    let name = folder.display();
    if !folder.exists() {
        return Err(Failure::new(format!("{name} does not exist; name the data folder of a server")));
    }
    check_no_identity_lost(&OsStorage, folder).map_err(|error| store_failure(&error))?;
    if folder.is_dir() && !is_data_folder(folder) {
        return Err(Failure::new(format!("{name} is not a data folder: it has no file `identity`")));
    }
    Ok(())
}

/// Opens or creates the store in a data folder.
pub fn open(folder: &Path, options: StoreOptions) -> Result<Store, Failure> {
    open_store(folder, options).map_err(|error| store_failure(&error))
}

/// Opens or creates the store in a data folder. Prints the tails of logs that recovery cut off and
/// the log folders that were given up.
pub fn open_store(folder: &Path, options: StoreOptions) -> skein_store::Result<Store> {
    let store = Store::open(folder, options)?;
    for (file, bytes) in &store.recovery().torn_tails {
        console::note(format_args!(
            "skein: {}: cut off {bytes} bytes that were being written when the last process died; no write that was \
             promised is lost",
            file.display()
        ));
    }
    for folder in &store.recovery().log_folders_given_up {
        console::note(format_args!(
            "skein: {}: given up; the data is that of the newest checkpoint",
            folder.display()
        ));
    }
    Ok(store)
}

/// Returns the name on the command line of an option that an error of a library names.
pub fn flag(field: &'static str) -> String {
    option_of_field(field).map_or_else(|| field.to_owned(), |option| format!("--{}", option.name))
}

/// Converts a store's error into a command's failure.
pub fn store_failure(error: &Error) -> Failure {
    match error {
        // A damaged version cannot be told from one of a newer program.
        Error::Damaged { .. } | Error::UnknownFormat { .. } | Error::Foreign { .. } => {
            Failure { exit: Exit::Damage, message: error.to_string() }
        }
        Error::BadOption { name, why } => Failure::usage(format!("{}: {why}", flag(name))),
        Error::OtherEngine { .. } => Failure::new(format!("{error} (skein serve --engine disk)")),
        Error::LogFolderMissing { .. } => {
            Failure { exit: Exit::Damage, message: format!("{error} (skein serve --give-up-log-dir DIR)") }
        }
        _ => Failure::new(error.to_string()),
    }
}

/// Converts an engine's error into a command's failure.
pub fn engine_failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Rows(error) => store_failure(error),
        EngineError::Disk(error) => disk::failure(error),
        _ => Failure::new(error.to_string()),
    }
}

/// Returns the parser of `--durability`.
pub fn durability_parser() -> impl TypedValueParser<Value = Durability> {
    let named = |name: String| Durability::ALL.into_iter().find(|level| level.name() == name);
    let parser = PossibleValuesParser::new(Durability::all().into_iter().map(|(_, word)| possible(word)));
    parser.try_map(move |name| named(name).ok_or("there is no such durability"))
}

/// Returns a name that an option takes, with its meaning for `--help`.
pub fn possible(word: Word) -> PossibleValue {
    let value = PossibleValue::new(word.name);
    if word.about.is_empty() { value } else { value.help(word.about) }
}
