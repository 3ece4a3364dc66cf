//! Finds rivals that are installed as C and C++ libraries, and compiles the code that calls the C++
//! ones.
//!
//! Each library found sets a `cfg`. The program reports the others as left out, with the package
//! that has them. Without the feature `rivals` the script searches for nothing.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(have_rocksdb, have_cpp, have_dense_hash_map, have_libcuckoo)");
    #[cfg(feature = "rivals")]
    rivals::find();
}

#[cfg(feature = "rivals")]
mod rivals {
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// The folders of packaged headers. If one of them changes, the script runs again, so the next
    /// build finds a library installed later.
    const HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];

    /// The folder of the C++ classes and their wrappers.
    const CPP: &str = "src/rival/index/cpp";

    /// The C++ classes: file name without extension, the `cfg` that tells its presence, and the
    /// header it needs.
    const CLASSES: [(&str, &str, &str); 3] = [
        ("std_map", "have_cpp", "map"),
        ("dense_hash_map", "have_dense_hash_map", "sparsehash/dense_hash_map"),
        ("libcuckoo", "have_libcuckoo", "libcuckoo/cuckoohash_map.hh"),
    ];

    /// A program that uses `RocksDB`.
    const ROCKSDB: &str =
        "#include <rocksdb/c.h>\nint main(void) { return rocksdb_options_create() == 0; }\n";

    pub fn find() {
        for folder in HEADERS.iter().filter(|folder| Path::new(folder).exists()) {
            println!("cargo::rerun-if-changed={folder}");
        }
        println!("cargo::rerun-if-changed={CPP}");
        println!("cargo::rerun-if-env-changed=CC");
        if builds("CC", "cc", &["-x", "c", "-", "-lrocksdb"], ROCKSDB) {
            println!("cargo::rustc-cfg=have_rocksdb");
        }
        println!("cargo::rerun-if-env-changed=CXX");
        for (file, cfg, header) in CLASSES {
            let program =
                format!("#include <string_view>\n#include <{header}>\nint main() {{ return 0; }}\n");
            if builds("CXX", "c++", &["-std=c++17", "-x", "c++", "-"], &program) {
                compile(file);
                println!("cargo::rustc-cfg={cfg}");
            }
        }
    }

    /// Compiles a class with -O3, as distributions compile their packages.
    fn compile(file: &str) {
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .define("NDEBUG", None)
            .file(format!("{CPP}/{file}.cc"))
            .compile(&format!("skein_{file}"));
    }

    /// Returns whether a program compiles and links, with the compiler that the variable names or
    /// else `compiler`.
    fn builds(variable: &str, compiler: &str, arguments: &[&str], program: &str) -> bool {
        let compiler = std::env::var(variable).unwrap_or_else(|_| compiler.to_owned());
        let Ok(folder) = std::env::var("OUT_DIR") else { return false };
        let child = Command::new(compiler)
            .args(arguments)
            .arg("-o")
            .arg(Path::new(&folder).join("found"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { return false };
        let sent = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(program.as_bytes()).is_ok());
        child.wait().is_ok_and(|status| status.success()) && sent
    }
}
