//! Checks, before a data folder is opened, that no other user can access it. If an engine creates
//! the folder, only its owner may access it from the start.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::exit::Failure;

/// Everybody may write.
const OTHERS_WRITE: u32 = 0o002;

/// Rejects a folder of another user, and one that everybody can write to. A missing folder is fine.
pub fn check(folder: &Path) -> Result<(), Failure> {
    let Ok(found) = fs::metadata(folder) else { return Ok(()) };
    let (name, me) = (folder.display(), rustix::process::geteuid().as_raw());
    if found.uid() != me {
        let owner = found.uid();
        return Err(Failure::new(format!(
            "{name} belongs to user {owner}, and this is user {me}; run as that user, or: chown -R {me} {name}"
        )));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(Failure::new(format!(
            "every user can write to {name} (mode {:o}); fix it with: chmod o-w {name}",
            found.mode() & 0o7777
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_for_everybody_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(check(folder.path()).is_ok() && check(&folder.path().join("none")).is_ok());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("a mode");
        let message = check(folder.path()).expect_err("it is open").message;
        assert!(message.contains("(mode 777); fix it with: chmod o-w "), "{message}");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("a mode");
        assert!(check(folder.path()).is_ok());
    }

    #[test]
    fn a_folder_of_another_is_refused() {
        // A test process is either not root, or not the user with the highest number.
        let strange = if rustix::process::geteuid().is_root() {
            let folder = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::chown(folder.path(), Some(65_534), None).expect("root may");
            folder.keep()
        } else {
            Path::new("/").to_owned()
        };
        let message = check(&strange).expect_err("it is another's").message;
        assert!(message.contains(" belongs to user ") && message.contains("chown -R "), "{message}");
        if strange != Path::new("/") {
            fs::remove_dir(strange).expect("it is empty");
        }
    }
}
