//! Finds rivals that the system has as libraries of C and C++, and compiles what calls those in C++.
//!
//! What is there becomes a `cfg`; what is not, the program names as left out, with the package that has it. Without the feature
//! `rivals` nothing is looked for.

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

    /// Where packages put headers: one that is installed later is found by the next build.
    const HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];

    /// The classes in C++, and what calls them.
    const CPP: &str = "src/rival/index/cpp";

    /// A class in C++: its file without the ending, the `cfg` that says it is there, and the header that it needs.
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

    /// Compiles a class as fast as C++ gets it: like a distribution's packages, with -O3.
    fn compile(file: &str) {
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .define("NDEBUG", None)
            .file(format!("{CPP}/{file}.cc"))
            .compile(&format!("skein_{file}"));
    }

    /// Whether a program compiles and links, with the compiler that the variable names or else this one.
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
