//! Result files. A run appends its lines when it ends, also after an error. So the results of
//! earlier runs survive a later failure.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use super::{ResultLine, SCHEMA};
use crate::{Error, Result};

/// The file to which a run appends its lines.
#[derive(Debug)]
pub struct ResultSink {
    file: File,
    path: PathBuf,
}

impl ResultSink {
    /// Opens the file for appending. Creates the file and its folder if they do not exist.
    ///
    /// # Errors
    /// If the file cannot be opened or created.
    pub fn append(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("open", path, error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Appends one line.
    ///
    /// # Errors
    /// If the write fails, for instance because the disk is full.
    pub fn write(&mut self, line: &ResultLine) -> Result<()> {
        let failed = |error| Error::io("write to", &self.path, error);
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(failed)
    }
}

/// Reads a results file.
///
/// # Errors
/// If the file cannot be read, or if a line is not in this format; the error names the line.
pub fn read(path: &Path) -> Result<Vec<ResultLine>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    let mut lines = Vec::new();
    for (number, text) in BufReader::new(file).lines().enumerate() {
        let text = text.map_err(|error| Error::io("read", path, error))?;
        if text.trim().is_empty() {
            continue;
        }
        let bad = |why: String| Error::Input(format!("{}, line {}: {why}", path.display(), number + 1));
        let line: ResultLine =
            serde_json::from_str(&text).map_err(|error| bad(format!("no result: {error}")))?;
        match &line {
            ResultLine::Run(run) if run.schema > SCHEMA => {
                return Err(bad(format!(
                    "schema {}, and this program knows {SCHEMA}; use a newer one",
                    run.schema
                )));
            }
            _ => lines.push(line),
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{AxisPoint, Better, ResultCell, ResultNote};

    #[test]
    fn written_data_is_read_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deeper/results.jsonl");
        let lines = [
            ResultLine::Note(ResultNote { run: "r".into(), text: "a \"quoted\" text\n".into() }),
            ResultLine::Cell(ResultCell {
                run: "r".into(),
                measure: "lookup".into(),
                unit: "Mops/s".into(),
                better: Better::More,
                contender: "skein-masstree".into(),
                at: Some(AxisPoint::number("threads", 2.0)),
                rounds: vec![1.5, 2.5],
                quantiles: vec![(0.5, 10.0)],
            }),
        ];
        for line in &lines {
            ResultSink::append(&path).expect("made").write(line).expect("written");
        }
        assert_eq!(read(&path).expect("readable"), lines);
    }

    #[test]
    fn unknown_lines_are_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("results.jsonl");
        std::fs::write(&path, "\n{\"kind\":\"song\"}\n").expect("written");
        let error = read(&path).expect_err("no such kind").to_string();
        assert!(error.contains("line 2"), "{error}");
        assert!(read(&folder.path().join("none")).is_err());
    }
}
