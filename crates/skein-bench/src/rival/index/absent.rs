//! The rivals that are not measured, with the reason: a report must not omit any silently.

use super::all;

/// The source that a rival is built from.
enum RivalOrigin {
    /// A crate.
    Crate,
    /// The C++ compiler.
    Compiler,
    /// A Debian package.
    Package(&'static str),
    /// No package; only papers compare with it.
    Papers(&'static str),
}

const KNOWN: [(&str, RivalOrigin); 14] = [
    ("masstree-crate", RivalOrigin::Crate),
    ("crossbeam-skiplist", RivalOrigin::Crate),
    ("congee", RivalOrigin::Crate),
    ("scc-treeindex", RivalOrigin::Crate),
    ("bf-tree", RivalOrigin::Crate),
    ("std-map", RivalOrigin::Compiler),
    ("hashbrown", RivalOrigin::Crate),
    ("papaya", RivalOrigin::Crate),
    ("dense-hash-map", RivalOrigin::Package("libsparsehash-dev")),
    ("libcuckoo", RivalOrigin::Package("libcuckoo-dev")),
    ("HOT", RivalOrigin::Papers("the Cuckoo Trie and MlpIndex")),
    ("ARTOLC", RivalOrigin::Papers("the Cuckoo Trie")),
    ("STX", RivalOrigin::Papers("Wormhole and the Cuckoo Trie")),
    ("EBS", RivalOrigin::Papers("MlpIndex")),
];

/// Returns the rivals that this build lacks, and how to make each available.
pub fn absent() -> Vec<(&'static str, String)> {
    let missing = KNOWN.iter().filter(|(name, _)| all().iter().all(|entry| entry.name != *name));
    missing.map(|(name, from)| (*name, from.why())).collect()
}

impl RivalOrigin {
    fn why(&self) -> String {
        match (self, cfg!(feature = "rivals")) {
            (Self::Papers(papers), _) => {
                format!("no package offers it; it is a rival in the papers on {papers}")
            }
            (Self::Crate, _) => "not in this build; build with --features rivals".to_owned(),
            (Self::Compiler, true) => {
                "there was no C++17 compiler when this was built; install Debian's package g++ and \
                 build again"
                    .to_owned()
            }
            (Self::Compiler, false) => {
                "not in this build; build with --features rivals and a C++17 compiler (Debian: g++)"
                    .to_owned()
            }
            (Self::Package(package), true) => format!(
                "not installed when this was built; install Debian's packages g++ and {package} \
                 and build again"
            ),
            (Self::Package(package), false) => format!(
                "not in this build; install Debian's packages g++ and {package} and build with \
                 --features rivals"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::IndexRole;
    use super::*;

    #[test]
    fn every_rival_is_available_or_reported_as_absent() {
        // The standard library's maps are in every build.
        for entry in all()
            .into_iter()
            .filter(|entry| entry.role == IndexRole::Rival && !entry.name.starts_with("btree"))
        {
            assert!(KNOWN.iter().any(|(name, _)| *name == entry.name), "{} is not in KNOWN", entry.name);
        }
        let absent = absent();
        for (name, from) in &KNOWN {
            let built = all().into_iter().any(|entry| entry.name == *name);
            assert_ne!(built, absent.iter().any(|(missing, _)| missing == name), "{name}");
            assert!(!matches!(from, RivalOrigin::Crate) || built == cfg!(feature = "rivals"), "{name}");
        }
        assert!(absent.iter().all(|(_, why)| why.contains("build") || why.contains("no package")));
    }
}
