//! Builds Lua 5.1 from the sources of the crate `lua-src`, with the corrections of this crate.
//!
//! ```text
//!   lua-src's folder ─► digest: as reviewed? ─► corrections ─► OUT_DIR/lua ─► liblua5.1.a
//! ```
//!
//! No source of Lua is in this repository. A correction replaces whole lines. The build fails if
//! the sources are not the reviewed ones, or if a line is not found as often as expected.

#[path = "build/corrections.rs"]
mod corrections;
#[path = "build/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The result of a step; errors are for people.
type Step<T> = Result<T, String>;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-env-changed=SKEIN_LUA_SANITIZE");
    if let Err(why) = build() {
        eprintln!("{why}");
        std::process::exit(1);
    }
}

fn build() -> Step<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("Cargo did not set OUT_DIR")?);
    let sources = sources::read(&out)?;
    sources::check(&sources)?;
    let folder = out.join("lua");
    // Files of an earlier build may not be among the sources any more.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in &sources {
        let path = folder.join(name);
        let corrected = corrections::apply(name, text)?;
        fs::write(&path, corrected).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    compile(&folder, sources.iter().map(|(name, _)| name.as_str()))
}

fn compile<'n>(folder: &Path, names: impl Iterator<Item = &'n str>) -> Step<()> {
    let mut c = cc::Build::new();
    c.warnings(false).cargo_metadata(false).include(folder).include("c").file("c/work.c");
    if env::var_os("CARGO_CFG_UNIX").is_some() {
        c.define("LUA_USE_POSIX", None);
    }
    // Signed overflow wraps. Checks of Lua 5.1 depend on it, and compilers removed them
    // (CVE-2025-46817).
    c.flag_if_supported("-fwrapv").flag_if_supported("-fno-strict-aliasing");
    c.flag_if_supported("-fno-common");
    // For `.ci/fuzz`. The program must be linked with the runtime of AddressSanitizer; undefined
    // behaviour traps, which needs no runtime.
    if let Ok(sanitizers) = env::var("SKEIN_LUA_SANITIZE") {
        c.flag(format!("-fsanitize={sanitizers}")).flag("-fsanitize-undefined-trap-on-error");
    }
    let is_code = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "c");
    c.files(names.map(|name| folder.join(name)).filter(is_code));
    c.try_compile("lua5.1").map_err(|error| format!("cannot compile Lua: {error}"))?;
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    println!("cargo:rustc-link-search=native={out}");
    // All objects are linked, because `mlua-sys`, which needs them, may follow in the linker's
    // order.
    println!("cargo:rustc-link-lib=static:+whole-archive=lua5.1");
    Ok(())
}
