//! The credentials of this client: a user and its password.

use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use skein_server::read_at_most;

use super::args::AccessOptions;
use crate::exit::Failure;

/// The largest password file, in bytes.
const PASSWORD_BYTES_MAX: u64 = 1 << 20;

/// The arguments of AUTH.
pub struct Credentials {
    pub user: Option<String>,
    pub(super) password: Vec<u8>,
    /// The origin of the password, for messages.
    pub source: String,
}

impl Credentials {
    pub fn command(&self) -> Vec<&[u8]> {
        let user = self.user.as_deref().map(str::as_bytes);
        [Some(&b"AUTH"[..]), user, Some(&self.password)].into_iter().flatten().collect()
    }
}

impl AccessOptions<'_> {
    /// Returns user and password, if any are given. `named` is the user in the server's address.
    pub(super) fn login(&self, named: Option<&str>) -> Result<Option<Credentials>, Failure> {
        let prefix = self.prefix;
        if let (Some(user), Some(named)) = (self.user, named)
            && user != named
        {
            return Err(Failure::usage(format!(
                "--{prefix}user {user}: the server's address names the user {named}; give only one"
            )));
        }
        let user = self.user.or(named).map(str::to_owned);
        let found = match self.password_file {
            Some(file) => Some((read_password(file)?, file.display().to_string())),
            None => self.variables.iter().find_map(|name| {
                let password = std::env::var_os(name).filter(|text| !text.is_empty())?;
                Some((password.into_vec(), format!("the environment variable {name}")))
            }),
        };
        match (found, &user) {
            (Some((password, source)), _) => Ok(Some(Credentials { user, password, source })),
            (None, None) => Ok(None),
            (None, Some(user)) => Err(Failure::usage(format!(
                "the user {user:?} needs a password; name its file with --{prefix}password-file, or put it into {}",
                self.variables[0]
            ))),
        }
    }
}

/// Reads a password: the file's bytes, at most 1 MiB, without newlines at the end.
pub fn read_password(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut password = read_at_most(file, PASSWORD_BYTES_MAX).map_err(|error| {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Incident: a device instead of the file filled all memory.
    #[test]
    fn a_password_without_an_end_is_refused() {
        let failure = read_password(Path::new("/dev/zero")).expect_err("it never ends");
        assert!(
            failure.message.contains("/dev/zero: it is longer than the limit of 1048576 bytes"),
            "{}",
            failure.message
        );
    }
}
