//! The documents: the shell examples run as a reader would paste them, programs are those of their
//! files, and the book holds every page.
//!
//! The examples of a page are its fenced blocks marked `sh`. They run in order, in one folder, with
//! these stand-ins first on the `PATH`:
//!
//! - `skein serve` runs the tested program in the background, after it ended the page's server
//!   before, and returns when the server listens. Other commands run the tested program.
//! - `cargo run --release -- ARGS` runs `skein ARGS`; other `cargo` commands do nothing, since
//!   cargo has built the tested program already.
//! - `find` ends after 20,000 files: all of a machine can take minutes.
//!
//! The examples use the default port, so the test fails if another server has it. A block that
//! cannot run here has a comment before it that says why: `<!-- not run: it needs root -->`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The port of the examples.
const PORT: u16 = 6380;

const SKEIN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
end_server() {
    [ ! -f "$RUN/server" ] || { kill "$(cat "$RUN/server")" && tail --pid="$(cat "$RUN/server")" -f /dev/null; } 2> /dev/null
    rm -f "$RUN/server"
}
case ${1:-} in
    end-server) end_server ;;
    serve)
        case " $* " in *" --help "*) exec "$SKEIN" "$@" ;; esac
        end_server
        setsid "$SKEIN" "$@" > "$RUN/log" 2>&1 < /dev/null &
        echo $! > "$RUN/server"
        for _ in $(seq 200); do
            ! grep -q 'listening on' "$RUN/log" || exit 0
            kill -0 "$(cat "$RUN/server")" 2> /dev/null || break
            sleep 0.05
        done
        cat "$RUN/log" >&2
        exit 1
        ;;
    *) exec "$SKEIN" "$@" ;;
esac
"#;

/// The longest list of files that an example loads.
const FIND: &str = r#"#!/usr/bin/env bash
command -p find "$@" | head -n 20000
"#;

const CARGO: &str = r#"#!/usr/bin/env bash
case "$*" in
    "run --release -- "*) shift 3 && exec skein "$@" ;;
esac
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages, in a fixed order.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .iter()
        .map(|page| root.join(page))
        .collect();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The blocks of a page that are marked `sh`, each with the reason why it is not run, if it has
/// one.
fn shell_blocks(page: &str) -> Vec<(String, Option<String>)> {
    let (mut blocks, mut reason) = (Vec::new(), None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("<!-- not run:") {
            reason = Some(text.trim_end_matches("-->").trim().to_owned());
        } else if line.starts_with("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            if line == "```sh" {
                blocks.push((body.join("\n"), reason.clone()));
            }
            reason = None;
        } else if !line.is_empty() {
            reason = None;
        }
    }
    blocks
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the examples of a page. If one fails, returns their output.
fn run_page(blocks: &[(String, Option<String>)]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    let (work, release) = (folder.path().join("work"), folder.path().join("work/target/release"));
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(&release).unwrap();
    write_program(&programs.join("skein"), SKEIN);
    write_program(&programs.join("cargo"), CARGO);
    write_program(&programs.join("find"), FIND);
    std::os::unix::fs::symlink(programs.join("skein"), release.join("skein")).unwrap();
    let mut script = "set -eu\ntrap 'skein end-server' EXIT\n".to_owned();
    for (body, _) in blocks.iter().filter(|block| block.1.is_none()) {
        script += "echo '--- next block' >&2\n";
        script += body;
        script.push('\n');
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120", "bash", "-x", "-c", &script])
        .current_dir(&work)
        .env("PATH", path)
        .env("RUN", folder.path())
        .env("SKEIN", env!("CARGO_BIN_EXE_skein"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = said.lines().rev().take(30).collect();
    Err(format!("{}\n{}", output.status, end.into_iter().rev().collect::<Vec<_>>().join("\n")))
}

#[test]
fn shell_examples_run_as_they_are_pasted() {
    std::net::TcpListener::bind(("127.0.0.1", PORT)).unwrap_or_else(|error| {
        panic!("the examples of the documents use port {PORT}: end the server that has it ({error})")
    });
    let (mut run, mut failed) = (0, Vec::new());
    for page in pages() {
        let blocks = shell_blocks(&fs::read_to_string(&page).unwrap());
        let runnable = blocks.iter().filter(|block| block.1.is_none()).count();
        if runnable > 0
            && let Err(why) = run_page(&blocks)
        {
            failed.push(format!("{}: {why}", page.strip_prefix(root()).unwrap().display()));
        }
        run += runnable;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(run >= 10, "only {run} blocks were found to run");
}

/// A block that is not run says why in words.
#[test]
fn shell_examples_that_are_not_run_say_why() {
    for page in pages() {
        for (body, reason) in shell_blocks(&fs::read_to_string(&page).unwrap()) {
            let enough = reason.as_ref().is_none_or(|reason| reason.len() > 8);
            assert!(enough, "{}: {reason:?} is no reason for\n{body}", page.display());
        }
    }
}

#[test]
fn the_book_holds_every_page_once() {
    let summary = fs::read_to_string(root().join("dist/book-summary.md")).unwrap();
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut links: Vec<PathBuf> = links.map(|link| root().join(link)).collect();
    links.sort();
    assert_eq!(links, pages());
}

#[test]
fn blocks_are_found_with_their_reasons() {
    let page = "```sh\none\n```\n\n<!-- not run: it needs root -->\n```sh\ntwo\nthree\n```\n```text\n```\n";
    let blocks = shell_blocks(page);
    assert_eq!(
        blocks,
        [("one".to_owned(), None), ("two\nthree".to_owned(), Some("it needs root".to_owned()))]
    );
}

/// Returns the language of a program as a fenced block names it, and how its comments begin.
fn language(path: &str) -> (&'static str, &'static [&'static str]) {
    match path.rsplit_once('.') {
        Some((_, "rs")) => ("rust", &["//"]),
        Some((_, "cpp")) => ("cpp", &["//"]),
        Some((_, "py")) => ("python", &["#", "\"\"\""]),
        _ => panic!("{path}: say here how its language begins comments"),
    }
}

/// A program that a page shows whole is a file below `<!-- file: PATH -->`, so that a compiler or a
/// test sees it. The heading above has its number of lines, without comments and empty ones.
#[test]
fn programs_that_a_page_shows_are_those_of_their_files() {
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (at, start) in text.match_indices("<!-- file: ") {
            let (path, block) = text[at + start.len()..].split_once(" -->\n").expect("a path");
            let (language, comments) = language(path);
            let block = block.strip_prefix(&format!("```{language}\n")).expect("a block of this language");
            let program = fs::read_to_string(root().join(path)).unwrap();
            let end = block.find("```").expect("the block ends");
            assert!(block[..end] == program, "{}: copy {path} to it again", page.display());
            let is_comment = |line: &str| comments.iter().any(|begin| line.trim_start().starts_with(begin));
            let is_code = |line: &&str| !line.trim().is_empty() && !is_comment(line);
            let heading = format!(": {} lines\n\n", program.lines().filter(is_code).count());
            assert!(
                text[..at].ends_with(&heading),
                "{}: the heading of {path} is not {heading}",
                page.display()
            );
            checked += 1;
        }
    }
    assert!(checked >= 7, "only {checked} programs were found");
}

/// All files of the repository that a page may name, as paths from its root.
fn source_files() -> Vec<String> {
    let (root, mut files) = (root(), Vec::new());
    let mut folders = vec![root.join("crates"), root.join("examples"), root.join("fuzz")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(format!("/{}", path.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    files
}

/// The words of a page that stand between backticks.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter(|line| !line.starts_with("```")).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// A file that was renamed would lead a newcomer nowhere.
#[test]
fn pages_about_the_code_name_files_that_exist() {
    let files = source_files();
    // Files of other projects.
    let foreign = ["guard.rs", "raw/tls/thread_id.rs"];
    for page in pages() {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        let about_code = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/papers.md", "docs/design/"].iter();
        if !about_code.clone().any(|start| name.starts_with(start)) {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let is_path = |word: &&str| {
            word.strip_suffix(".rs").is_some()
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_./-".contains(c))
        };
        for word in quoted(&text).filter(is_path).filter(|word| !foreign.contains(word)) {
            let end = format!("/{word}");
            assert!(
                files.iter().any(|file| file.ends_with(&end)),
                "{name} names {word}, which does not exist"
            );
        }
    }
}

#[test]
fn the_glossary_names_types_that_exist() {
    let sources: Vec<String> =
        source_files().iter().map(|file| fs::read_to_string(root().join(&file[1..])).unwrap()).collect();
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, glossary) = map.split_once("| term | meaning | type | file |").expect("the glossary");
    let rows: Vec<&str> =
        glossary.lines().take_while(|line| line.starts_with('|') || line.is_empty()).collect();
    let mut checked = 0;
    for name in rows.iter().filter_map(|row| row.split('|').nth(3)).flat_map(quoted) {
        let is_defined = |source: &String| {
            ["struct", "enum", "trait", "type", "fn"].iter().any(|kind| {
                source.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
                    !source[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            })
        };
        assert!(sources.iter().any(is_defined), "the glossary names {name}, which does not exist");
        checked += 1;
    }
    assert!(checked > 20, "only {checked} names were found");
}
