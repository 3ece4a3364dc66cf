//! The header in `include` must equal the one that cbindgen makes of the source.

use std::path::Path;

/// Set to write the header instead.
const WRITE: &str = "SKEIN_WRITE_HEADER";

#[test]
fn the_header_is_made_from_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("its configuration");
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_crate(root)
        .with_config(config)
        .generate()
        .expect("the header")
        .write(&mut made);
    let (path, made) = (root.join("include/skeindb.h"), String::from_utf8(made).expect("UTF-8"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &made).expect("to write the header");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = stored.lines().zip(made.lines()).find(|(stored, made)| stored != made);
    assert!(
        stored == made,
        "include/skeindb.h is not what cbindgen makes: run `{WRITE}=1 cargo test -p skeindb-c --test header`\n{differs:?}"
    );
}
