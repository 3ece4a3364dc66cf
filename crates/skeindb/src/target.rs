//! Where a command works: a server or a data folder.

use std::fs;
use std::path::{Path, PathBuf};

use skein_store::{Durability, Error, Store, StoreOptions};
use skeindb::client::{Client, Reply};

use crate::exit::{Exit, Failure};

/// Where `skein serve` listens unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:6380";

/// Connects to a server and presents the password.
pub fn connect(address: &str, password_file: Option<&Path>) -> Result<Client, Failure> {
    let mut client = Client::connect(address).map_err(|error| {
        Failure::new(format!("cannot connect to {address}: {error}; is `skein serve` running there?"))
    })?;
    let lost = |error| Failure::during(format_args!("lost the connection to {address}"), &error);
    if let Some(file) = password_file {
        let password = read_password(file)?;
        if let Reply::Error(text) = client.call(&[b"AUTH", &password]).map_err(lost)? {
            return Err(Failure::new(format!(
                "{address} refused the password in {}: {text}",
                file.display()
            )));
        }
    }
    match client.call(&[b"PING"]).map_err(lost)? {
        Reply::Error(text) if text.starts_with("NOAUTH") => {
            Err(Failure::new(format!("{address} asks for a password; name its file with --password-file")))
        }
        Reply::Error(text) => Err(Failure::new(format!("{address} refuses commands: {text}"))),
        _ => Ok(client),
    }
}

/// A password: the file's bytes without a newline at the end.
pub fn read_password(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut password = fs::read(file).map_err(|error| {
        Failure::during(format_args!("cannot read the password file {}", file.display()), &error)
    })?;
    while password.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        password.pop();
    }
    if password.is_empty() {
        return Err(Failure::new(format!("the password file {} is empty", file.display())));
    }
    Ok(password)
}

/// Opens the store in an existing data folder, as a server would.
pub fn open_existing(folder: &Path, log_dirs: &[PathBuf]) -> Result<Store, Failure> {
    refuse_strange(folder)?;
    open(folder, StoreOptions { log_folders: log_dirs.to_vec(), ..StoreOptions::default() })
}

/// Refuses what is no data folder, so that a command that only reads does not make one of it. (A file is left to
/// the store, which has its own words for it.)
pub fn refuse_strange(folder: &Path) -> Result<(), Failure> {
    let name = folder.display();
    if !folder.exists() {
        return Err(Failure::new(format!("{name} does not exist; name the data folder of a server")));
    }
    // `docs/format.md`, "The data folder": the file that every data folder has.
    if folder.is_dir() && !folder.join("identity").exists() {
        return Err(Failure::new(format!("{name} is no data folder: it has no file `identity`")));
    }
    Ok(())
}

/// Opens or creates the store in a data folder.
pub fn open(folder: &Path, options: StoreOptions) -> Result<Store, Failure> {
    let store = Store::open(folder, options).map_err(|error| store_failure(&error))?;
    for (file, bytes) in &store.recovery().torn_tails {
        eprintln!(
            "skein: {}: cut off {bytes} bytes that were being written when the last process died; nothing that was \
             promised is lost",
            file.display()
        );
    }
    for folder in &store.recovery().log_folders_given_up {
        eprintln!("skein: {}: given up; the data is as the newest checkpoint has it", folder.display());
    }
    Ok(store)
}

/// What the libraries call their options, and what the commands do.
const NAMES: &[(&str, &str)] = &[
    ("log_folders", "--log-dir"),
    ("give_up_log_folders", "--give-up-log-dir"),
    ("segment_bytes", "--log-segment-size"),
    ("limits.key_bytes", "--max-key"),
    ("limits.value_bytes", "--max-value"),
    ("clients_max", "--max-clients"),
    ("request_bytes_max", "--max-request"),
    ("arg_bytes_max", "--max-argument"),
    ("args_max", "--max-arguments"),
    ("pipeline_max", "--max-pipeline"),
    ("output_bytes_max", "--max-output"),
    ("reply_bytes_max", "--max-reply"),
    ("scan_cursors_max", "--max-scan-cursors"),
];

/// An option's name on the command line.
pub fn flag(name: &'static str) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, flag)| flag)
}

/// A store's error as a command's.
pub fn store_failure(error: &Error) -> Failure {
    match error {
        Error::Damaged { .. } => Failure { exit: Exit::Damage, message: error.to_string() },
        Error::BadOption { name, why } => Failure::usage(format!("{}: {why}", flag(name))),
        _ => Failure::new(error.to_string()),
    }
}

/// `--durability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DurabilityArg {
    /// Nothing is logged; a clean stop and SAVE write everything.
    None,
    /// On disk within 200 ms.
    Buffered,
    /// On disk before the reply.
    Sync,
}

impl std::fmt::Display for DurabilityArg {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::None => "none",
            Self::Buffered => "buffered",
            Self::Sync => "sync",
        })
    }
}

impl From<DurabilityArg> for Durability {
    fn from(level: DurabilityArg) -> Self {
        match level {
            DurabilityArg::None => Self::None,
            DurabilityArg::Buffered => Self::Buffered,
            DurabilityArg::Sync => Self::Sync,
        }
    }
}
