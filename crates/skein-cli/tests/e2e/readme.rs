//! The README's session, word for word: the server must give the answers that it shows.

use std::path::Path;

use crate::common::SkeinServe;

const PROMPT: &str = "127.0.0.1:6380> ";

/// Returns the session's commands, each with the lines that follow it.
fn session() -> Vec<(String, String)> {
    let readme = include_str!("../../../../README.md");
    let mut session: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if let Some(command) = line.strip_prefix(PROMPT) {
            inside = true;
            session.push((command.to_owned(), String::new()));
        } else if line.starts_with("```") {
            inside = false;
        } else if inside {
            let (_, reply) = session.last_mut().expect("a command came first");
            if !reply.is_empty() {
                reply.push('\n');
            }
            reply.push_str(line);
        }
    }
    session
}

/// Returns the words of a command, with double quotes as `redis-cli` interprets them.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("the quote closes"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[test]
fn the_server_answers_the_readme_session() {
    let session = session();
    assert!(session.len() > 10, "the README's session was not found");
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let mut client = server.client();
    for (command, expected) in session {
        let words = words(&command);
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let reply = client.call(&words).unwrap();
        assert_eq!(reply.to_string(), expected, "the README shows something else for: {command}");
    }
    server.stop();
}

/// The first command of the README must start a server, and the options that it names must exist.
#[test]
fn the_readme_names_existing_options() {
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains("\ncargo run --release -- serve\n"));
    assert!(readme.contains("\n.ci/test\n"));
    let help = String::from_utf8(crate::common::run(["--help"]).stdout).unwrap();
    for command in ["serve", "load", "dump", "check", "stats"] {
        assert!(readme.contains(&format!("`skein {command}")), "{command} is missing in the README");
        assert!(help.contains(command), "{command} is missing in --help");
    }
}

/// Links to files of the repository, and to headings within them, must lead to a target.
#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["docs", "docs/design", "docs/benchmarks", "docs/benchmarks/results"];
    let docs = folders.into_iter().flat_map(|folder| {
        let files = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.is_file())
    });
    let pages =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|page| root.join(page));
    for page in pages.into_iter().chain(docs) {
        let text = std::fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let there =
                to.exists() && (anchor.is_empty() || anchors(&to).iter().any(|known| known == anchor));
            assert!(there, "{} links to {link}, which is not there", page.display());
        }
    }
}

/// Returns the link targets of a page's headings.
fn anchors(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let plain = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(plain).collect()
}
