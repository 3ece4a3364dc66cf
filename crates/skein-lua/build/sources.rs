//! Finds the sources of Lua 5.1 in the crate `lua-src`, and checks that they are the reviewed ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::Step;

/// The digest of the sources that were reviewed for `docs/security.md`: all names and contents.
const REVIEWED: u64 = 0x01ec_92d8_79af_c112;

/// Returns the sources, C files and headers, by name.
pub fn read(out: &Path) -> Step<Vec<(String, String)>> {
    let folder = folder(out)?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_source = path.extension().is_some_and(|extension| extension == "c" || extension == "h");
        if let (true, Some(name)) = (is_source, path.file_name()) {
            let text = fs::read_to_string(&path).map_err(failed)?;
            sources.push((name.to_string_lossy().into_owned(), text));
        }
    }
    sources.sort();
    Ok(sources)
}

/// Returns the folder of the sources.
///
/// `lua-src` does not tell it, but its errors do: it copies the headers at the end of a build. So
/// this builds with a folder in the place of the first header.
fn folder(out: &Path) -> Step<PathBuf> {
    let probe = out.join("probe");
    let obstacle = probe.join("include/lauxlib.h");
    fs::create_dir_all(&obstacle).map_err(|error| format!("{}: {error}", obstacle.display()))?;
    let built = lua_src::Build::new().out_dir(&probe).opt_level("0").debug(false).try_build(lua_src::Lua51);
    let told = match built {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let header = told.strip_prefix("Cannot copy '").and_then(|rest| rest.split('\'').next());
    let folder = header.and_then(|header| Path::new(header).parent());
    folder.map(Path::to_path_buf).ok_or_else(|| format!("`lua-src` does not tell its folder: {told}"))
}

/// Checks that the sources are the reviewed ones.
pub fn check(sources: &[(String, String)]) -> Step<()> {
    let found = sources.iter().flat_map(|(name, text)| [name, text]).fold(FNV_OFFSET, digest);
    if found == REVIEWED {
        return Ok(());
    }
    Err(format!(
        "the sources of Lua have the digest {found:#018x}, and {REVIEWED:#018x} was reviewed. Read what \
         changed, adapt build/corrections.rs and docs/security.md, and note the new digest in {}",
        file!()
    ))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Returns the hash continued with a text: FNV-1a, with a mark between texts.
#[expect(clippy::ptr_arg, reason = "the texts of a pair are folded")]
fn digest(hash: u64, text: &String) -> u64 {
    let bytes = text.bytes().map(u64::from).chain([0x100]);
    bytes.fold(hash, |hash, byte| (hash ^ byte).wrapping_mul(FNV_PRIME))
}
