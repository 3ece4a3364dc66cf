//! Settings: numbers that only some experiments have and that a user may set, for instance `--set
//! value-bytes=1000`.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// A number that a user may set.
#[derive(Debug)]
pub struct BenchSetting {
    /// Its name.
    pub name: &'static str,
    /// The description.
    pub about: &'static str,
    /// The experiments that have it.
    pub experiments: &'static [&'static str],
    /// The least value allowed.
    pub least: usize,
    /// The greatest value allowed.
    pub most: usize,
}

impl BenchSetting {
    const fn new(
        name: &'static str,
        about: &'static str,
        experiments: &'static [&'static str],
        least: usize,
        most: usize,
    ) -> Self {
        Self { name, about, experiments, least, most }
    }
}

/// The experiments on servers with clients of their own.
const SERVERS: [&str; 8] = [
    "server",
    "server-neighbour",
    "server-sorted-set",
    "server-families",
    "masstree-fig13",
    "wormhole-fig12",
    "cuckoo-fig13",
    "bitbase-redis",
];

/// The number of bytes of a value.
pub const VALUE_BYTES: BenchSetting = BenchSetting {
    name: "value-bytes",
    about: "bytes of a value",
    experiments: &["store", "store-levels", "masstree-sec5", "server"],
    least: 8,
    most: 1 << 20,
};

/// The number of rows in a batch.
pub const BATCH: BenchSetting = BenchSetting {
    name: "batch",
    about: "rows in a batch of a load",
    experiments: &["store", "store-levels", "masstree-sec5", "bitbase-rivals"],
    least: 1,
    most: 1 << 20,
};

/// The number of random reads.
pub const GETS: BenchSetting = BenchSetting {
    name: "gets",
    about: "random reads, or operations of a loop",
    experiments: &["store", "bitbase-rivals"],
    least: 1,
    most: 1 << 30,
};

/// The number of durable puts.
pub const SYNC_PUTS: BenchSetting = BenchSetting {
    name: "sync-puts",
    about: "durable puts",
    experiments: &["store", "bitbase-rivals"],
    least: 1,
    most: 1 << 30,
};

/// The number of the client's connections.
pub const CONNECTIONS: BenchSetting = BenchSetting {
    name: "connections",
    about: "connections of the client",
    experiments: &SERVERS,
    least: 1,
    most: 1000,
};

/// The number of requests in a pipeline.
pub const PIPELINE: BenchSetting = BenchSetting {
    name: "pipeline",
    about: "requests in a pipeline",
    experiments: &[
        "server",
        "server-sorted-set",
        "server-families",
        "masstree-fig13",
        "wormhole-fig12",
        "cuckoo-fig13",
        "bitbase-redis",
    ],
    least: 1,
    most: 1000,
};

/// The number of requests of a loop.
pub const REQUESTS: BenchSetting = BenchSetting {
    name: "requests",
    about: "requests of a loop",
    experiments: &SERVERS,
    least: 1,
    most: 1 << 30,
};

/// The number of pages in a cache.
pub const CACHE_PAGES: BenchSetting = BenchSetting {
    name: "cache-pages",
    about: "pages of 4 KiB in the disk engine's cache",
    experiments: &["bitbase-fig4", "bitbase-fig5", "bitbase-fig6", "bitbase-fig7", "bitbase-fig9"],
    least: skein_disk::CACHE_LEAST,
    most: 1 << 28,
};

/// The milliseconds for which transactions are counted.
pub const WINDOW: BenchSetting =
    BenchSetting::new("window", "milliseconds of each loop of transactions", &["transactions"], 1, 1 << 20);

/// All settings.
pub const ALL: [&BenchSetting; 9] =
    [&VALUE_BYTES, &BATCH, &GETS, &SYNC_PUTS, &CONNECTIONS, &PIPELINE, &REQUESTS, &CACHE_PAGES, &WINDOW];

/// The values that a user has set, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BenchSettings(BTreeMap<&'static str, usize>);

impl BenchSettings {
    /// Parses texts such as `value-bytes=1000`, for these experiments.
    ///
    /// # Errors
    /// If there is no such setting, if none of the experiments has it, or if the number is out of
    /// its range.
    pub fn parse(texts: &[String], experiments: &[&str]) -> Result<Self> {
        let mut settings = BTreeMap::new();
        for text in texts {
            let (setting, number) = parse(text)?;
            if !setting.experiments.iter().any(|name| experiments.contains(name)) {
                return Err(Error::Input(format!(
                    "'{}' is a setting of {}, but this command runs none of them",
                    setting.name,
                    setting.experiments.join(", ")
                )));
            }
            settings.insert(setting.name, number);
        }
        Ok(Self(settings))
    }

    /// Returns the value of a setting, if the user set it.
    pub fn get(&self, setting: &BenchSetting) -> Option<usize> {
        self.0.get(setting.name).copied()
    }
}

fn parse(text: &str) -> Result<(&'static BenchSetting, usize)> {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let Some(setting) = ALL.into_iter().find(|setting| setting.name == name) else {
        let known: Vec<_> =
            ALL.iter().map(|setting| format!("{} ({})", setting.name, setting.about)).collect();
        return Err(Error::Input(format!("there is no setting '{name}'; choose from: {}", known.join(", "))));
    };
    let number = text.split_once('=').and_then(|(_, number)| number.parse().ok());
    match number {
        Some(number) if (setting.least..=setting.most).contains(&number) => Ok((setting, number)),
        _ => Err(Error::Input(format!(
            "'{text}' is not valid: write {name}=N, with N from {} to {}",
            setting.least, setting.most
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<BenchSettings> {
        BenchSettings::parse(&[text.to_owned()], &["server"])
    }

    #[test]
    fn a_setting_is_found() {
        let settings = parsed("connections=7").expect("a good setting");
        assert_eq!((settings.get(&CONNECTIONS), settings.get(&PIPELINE)), (Some(7), None));
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (text, part) in [
            ("geese=7", "value-bytes (bytes of a value)"),
            ("batch=7", "a setting of store"),
            ("connections", "write connections=N"),
            ("connections=0", "from 1 to 1000"),
            ("connections=many", "from 1 to 1000"),
        ] {
            let error = parsed(text).expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
