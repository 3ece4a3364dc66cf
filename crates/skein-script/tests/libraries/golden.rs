//! Compares the libraries with those of a real `redis-server`.
//!
//! The files beside this one, one for each library, have expressions and their results in
//! redis-server 7.0.15 (Debian's). The test needs no Redis. To record again, start a server and run
//! the ignored test:
//!
//! ```text
//! redis-server --port 7001 --save "" &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 \
//!     cargo test -p skein-script --test libraries golden -- --ignored
//! ```
//!
//! The format:
//!
//! ```text
//! > bit.band(6, 3)       an expression, in which the functions of prelude.lua may be called
//! < ok 2                 its values in Redis, or its error
//! ! ok 3                 ours, where it differs from Redis's, after a line with the reason:
//! # why: ...
//! ```
//!
//! Options that an expression sets survive it in Redis. So expressions set those of `cjson.new()`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use mlua::{Lua, LuaString};

use crate::state;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libraries");

/// The files, and the least number of expressions in each.
const FILES: [(&str, usize); 4] =
    [("bit.txt", 60), ("struct.txt", 120), ("cjson.txt", 180), ("cmsgpack.txt", 120)];

fn path(file: &str) -> PathBuf {
    Path::new(FOLDER).join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the script that describes an expression: a single line, as errors name the line.
fn script(prelude: &str, expression: &str) -> String {
    let line = prelude.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    format!("{line} return run(function() return {expression} end)")
}

/// Returns the prelude of scripts.
pub(crate) fn prelude() -> String {
    read("prelude.lua")
}

/// Returns our description of an expression's values.
pub(crate) fn evaluate(lua: &Lua, prelude: &str, expression: &str) -> String {
    let chunk = lua.load(script(prelude, expression)).set_name("@user_script");
    let text = chunk.eval::<LuaString>().map(|text| text.to_string_lossy());
    text.unwrap_or_else(|error| panic!("{expression}\n{error}"))
}

/// A connection to the server that `SKEIN_GOLDEN_REDIS` names.
pub(crate) struct RedisScripts(BufReader<TcpStream>);

impl RedisScripts {
    pub(crate) fn connect() -> Self {
        let address = std::env::var("SKEIN_GOLDEN_REDIS").expect("SKEIN_GOLDEN_REDIS as HOST:PORT");
        Self(BufReader::new(TcpStream::connect(address).expect("a connection")))
    }

    /// Returns Redis's description of an expression's values.
    pub(crate) fn evaluate(&mut self, prelude: &str, expression: &str) -> String {
        let script = script(prelude, expression);
        let request = format!("*3\r\n$4\r\nEVAL\r\n${}\r\n{script}\r\n$1\r\n0\r\n", script.len());
        self.0.get_mut().write_all(request.as_bytes()).expect("to send a request");
        let mut head = String::new();
        self.0.read_line(&mut head).expect("a reply");
        let length = head.trim_end().strip_prefix('$').unwrap_or_else(|| panic!("{expression}: {head}"));
        let mut text = vec![0; length.parse::<usize>().expect("a length") + 2];
        self.0.read_exact(&mut text).expect("a bulk string");
        text.truncate(text.len() - 2);
        String::from_utf8(text).expect("the prelude escapes bytes")
    }
}

#[test]
fn results_are_those_of_redis() {
    let (lua, prelude) = (state(), prelude());
    let mut failures = Vec::new();
    for (file, least) in FILES {
        let contents = read(file);
        let (mut asked, mut lines) = (0, contents.lines().zip(1..).peekable());
        while let Some((line, number)) = lines.next() {
            let Some(expression) = line.strip_prefix("> ") else { continue };
            let recorded = lines.next().and_then(|(line, _)| line.strip_prefix("< "));
            let mut expected = recorded.unwrap_or_else(|| panic!("{file}:{number}: no result"));
            if lines.next_if(|(line, _)| line.starts_with("# why: ")).is_some() {
                let ours = lines.next().and_then(|(line, _)| line.strip_prefix("! "));
                expected = ours.unwrap_or_else(|| panic!("{file}:{number}: no result of ours"));
            }
            let got = evaluate(&lua, &prelude, expression);
            if got != expected {
                failures
                    .push(format!("{file}:{number}: {expression}\n  expected {expected}\n  got      {got}"));
            }
            asked += 1;
        }
        assert!(asked >= least, "{file} has {asked} expressions");
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "records the results of a real redis-server, see above"]
fn record() {
    let (mut redis, prelude) = (RedisScripts::connect(), prelude());
    for (file, _) in FILES {
        let mut recorded = String::new();
        for line in read(file).lines().filter(|line| !line.starts_with("< ")) {
            recorded.extend([line, "\n"]);
            if let Some(expression) = line.strip_prefix("> ") {
                recorded.extend(["< ", &redis.evaluate(&prelude, expression), "\n"]);
            }
        }
        fs::write(path(file), recorded).expect("to write the file");
    }
}
