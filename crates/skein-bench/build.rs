//! Finds rivals that the system has as C libraries.
//!
//! What is there becomes a `cfg`; what is not, the program names as left out, with the package that has it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A library: the `cfg` that says it is there, its name for the linker, and a program that uses it.
struct Library {
    cfg: &'static str,
    link: &'static str,
    program: &'static str,
}

const LIBRARIES: [Library; 1] = [Library {
    cfg: "have_rocksdb",
    link: "rocksdb",
    program: "#include <rocksdb/c.h>\nint main(void) { return rocksdb_options_create() == 0; }\n",
}];

/// Where packages put headers: one that is installed later is found by the next build.
const HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CC");
    for library in &LIBRARIES {
        println!("cargo::rustc-check-cfg=cfg({})", library.cfg);
    }
    if std::env::var_os("CARGO_FEATURE_RIVALS").is_none() {
        return;
    }
    for folder in HEADERS.iter().filter(|folder| Path::new(folder).exists()) {
        println!("cargo::rerun-if-changed={folder}");
    }
    for library in LIBRARIES.iter().filter(|library| links(library)) {
        println!("cargo::rustc-cfg={}", library.cfg);
    }
}

/// Whether a program that uses the library compiles and links.
fn links(library: &Library) -> bool {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let Ok(folder) = std::env::var("OUT_DIR") else { return false };
    let child = Command::new(compiler)
        .args(["-x", "c", "-", &format!("-l{}", library.link), "-o"])
        .arg(Path::new(&folder).join(library.cfg))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let sent =
        child.stdin.take().is_some_and(|mut stdin| stdin.write_all(library.program.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && sent
}
