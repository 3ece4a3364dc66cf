//! The names of key sets: `osm`, `intkey(1000)`, `file:paths.txt`.

use std::path::PathBuf;

use super::family::{self, KeyFamily, KeyRequest, KeySource, NameSuffix};
use crate::{Error, Result, did_you_mean};

/// A parsed name: the family, and the request for its source.
#[derive(Debug)]
pub struct ParsedKeySet {
    /// The family.
    pub family: &'static KeyFamily,
    /// The request.
    pub request: KeyRequest,
}

/// Opens the source of a key set, which returns its keys one by one, duplicates included. `keys` is
/// the number of keys that the caller is going to draw.
///
/// # Errors
/// If there is no such key set, if its parameters are wrong, or if its file cannot be read.
pub fn open(name: &str, keys: u64, seed: u64) -> Result<Box<dyn KeySource>> {
    ParsedKeySet::parse(name, keys, seed)?.open()
}

impl ParsedKeySet {
    /// Parses a name.
    pub fn parse(name: &str, keys: u64, seed: u64) -> Result<Self> {
        let end = name.find([':', '(']).unwrap_or(name.len());
        let (word, rest) = name.split_at(end);
        let Some(family) = family::ALL.into_iter().find(|family| family.name == word.trim()) else {
            let names = family::ALL.map(|family| family.name);
            let usages = family::ALL.map(KeyFamily::usage);
            return Err(Error::Input(format!(
                "there is no key set '{name}'{}; choose from {}",
                did_you_mean(word, &names),
                usages.join(", ")
            )));
        };
        let (numbers, path) = match family.takes {
            NameSuffix::Nothing if rest.is_empty() => (Vec::new(), PathBuf::new()),
            NameSuffix::Numbers(_) => (numbers(family, name, rest)?, PathBuf::new()),
            NameSuffix::Path if rest.len() > 1 && rest.starts_with(':') => {
                (Vec::new(), PathBuf::from(&rest[1..]))
            }
            NameSuffix::Nothing | NameSuffix::Path => return Err(misspelt(family, name)),
        };
        Ok(Self { family, request: KeyRequest { numbers, path, keys, seed } })
    }

    /// Opens the source.
    pub fn open(&self) -> Result<Box<dyn KeySource>> {
        (self.family.open)(&self.request)
    }

    /// Returns the name in its canonical spelling.
    pub fn name(&self) -> String {
        match self.family.takes {
            NameSuffix::Nothing => self.family.name.to_owned(),
            NameSuffix::Numbers(_) => {
                let numbers: Vec<_> = self.request.numbers.iter().map(u64::to_string).collect();
                format!("{}({})", self.family.name, numbers.join(","))
            }
            NameSuffix::Path => format!("{}:{}", self.family.name, self.request.path.display()),
        }
    }
}

fn misspelt(family: &KeyFamily, name: &str) -> Error {
    Error::Input(format!(
        "the key set '{name}' is written {}, for instance {}",
        family.usage(),
        family.example
    ))
}

/// Parses the numbers in brackets and checks them against the family's parameters.
fn numbers(family: &KeyFamily, name: &str, rest: &str) -> Result<Vec<u64>> {
    let NameSuffix::Numbers(parameters) = family.takes else { return Ok(Vec::new()) };
    let inner = rest.strip_prefix('(').and_then(|rest| rest.trim_end().strip_suffix(')'));
    let texts: Vec<&str> = inner.ok_or_else(|| misspelt(family, name))?.split(',').map(str::trim).collect();
    if texts.len() != parameters.len() {
        return Err(misspelt(family, name));
    }
    let number = |(text, parameter): (&&str, &family::FamilyParameter)| match text.parse::<u64>() {
        Ok(number) if (parameter.least..=parameter.most).contains(&number) => Ok(number),
        _ => Err(Error::Input(format!(
            "the {} of the key set '{name}' is '{text}', but must be a number from {} to {}, as in {}",
            parameter.name, parameter.least, parameter.most, family.example
        ))),
    };
    texts.iter().zip(parameters).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> String {
        ParsedKeySet::parse(name, 1, 1).expect_err("a bad name").to_string()
    }

    #[test]
    fn names_have_one_spelling() {
        for (name, spelt) in [
            ("osm", "osm"),
            ("randstr( 16, 26 )", "randstr(16,26)"),
            ("intkey(0100)", "intkey(100)"),
            ("file:/tmp/a(b):c", "file:/tmp/a(b):c"),
        ] {
            assert_eq!(ParsedKeySet::parse(name, 1, 1).expect("a good name").name(), spelt);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        for name in ["rand-9", "", "OSM", "(5)", ":x"] {
            let text = error(name);
            assert!(text.contains("rand-8, ") && text.contains("file:PATH"), "{text}");
            assert!(text.contains("randstr(N,M)"), "{text}");
        }
    }

    #[test]
    fn errors_of_parameters_show_the_limits() {
        for name in ["randstr", "randstr()", "randstr(1,2,3)", "randstr(1", "randstr:5", "randstr(1,2)x"] {
            let text = error(name);
            assert!(text.contains("randstr(N,M)") || text.contains("must be a number"), "{text}");
        }
        for name in ["randstr(0,26)", "randstr(x,26)", "randstr(-1,26)", "randstr(99999999999999999999,26)"] {
            assert!(error(name).contains("must be a number from 1 to"), "{name}");
        }
        for name in ["osm(1)", "osm:x", "file", "file:", "file(1)"] {
            assert!(error(name).contains("is written"), "{name}: {}", error(name));
        }
    }

    #[test]
    fn every_example_is_valid_and_every_name_is_unique() {
        let all = family::ALL;
        for family in &all {
            let named = ParsedKeySet::parse(family.example, 1, 1).expect("the example");
            assert_eq!(named.family.name, family.name);
            assert_eq!(named.name(), family.example);
            assert_eq!(all.iter().filter(|other| other.name == family.name).count(), 1, "{}", family.name);
        }
    }
}
