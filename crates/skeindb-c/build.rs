//! Gives the shared library the name under which programs load it.

use std::env::var;

fn main() {
    let part = |name: &str| var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
    let (major, minor) = (part("MAJOR"), part("MINOR"));
    // Before version 1 each minor version may change the interface. The Makefile computes the same.
    let abi = if major == "0" { format!("0.{minor}") } else { major };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libskeindb.so.{abi}");
    println!("cargo:rerun-if-changed=build.rs");
}
