//! The header in `include` must equal the one that cbindgen makes of the source, with the constants
//! of the library's options.

use std::path::Path;

use skeindb::{DbBuilder, OptionKind};

/// Set to write the header instead.
const WRITE: &str = "SKEIN_WRITE_HEADER";

#[test]
fn the_header_is_made_from_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("its configuration");
    config.after_includes = Some(constants());
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

/// Returns the constants of options that take names: the default is 0, and the names count from 1.
fn constants() -> String {
    let mut lines = Vec::new();
    for row in DbBuilder::OPTIONS {
        let OptionKind::Name(names) = &row.kind else { continue };
        let default = format!("The default of the option `{}`", row.name);
        let names = std::iter::once(("default", &*default)).chain(names());
        for (number, (name, about)) in names.enumerate() {
            let constant = format!("SKEIN_{}_{name}", row.name).to_uppercase().replace('-', "_");
            let (first, rest) = about.split_at(1);
            lines.push(format!("\n// {}{rest}.\n#define {constant} {number}\n", first.to_uppercase()));
        }
    }
    lines.concat().trim_end().to_owned()
}
