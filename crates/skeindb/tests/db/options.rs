//! The options by name, and the interfaces that are written from their table.

use std::path::Path;

use skeindb::{Db, DbBuilder, DbOption, Engine, Error, OptionKind};

/// Set to write the files instead.
const WRITE: &str = "SKEIN_WRITE_DOCS";
/// The widest line.
const COLUMNS: usize = 100;

/// Returns the names or texts that an option takes: all names, and both ends of the bounds.
fn values(row: &DbOption) -> Vec<String> {
    match &row.kind {
        OptionKind::Name(names) => names().into_iter().map(|(name, _)| name.to_owned()).collect(),
        OptionKind::Bytes(bounds) | OptionKind::Count(bounds) => {
            vec![bounds.start().to_string(), bounds.end().to_string()]
        }
        _ => vec!["yes".to_owned(), "no".to_owned()],
    }
}

/// Incident: the interface for C had three of eight eviction policies. Consequence: a program could
/// not choose the others. Fix: names and options of C and Python follow from this table.
#[test]
fn every_option_takes_its_values_and_no_others() {
    for row in DbBuilder::OPTIONS {
        for value in values(row) {
            assert!(Db::memory_builder().set(row.name, &value).is_ok(), "{} {value}", row.name);
        }
        for wrong in ["zzz", "", "-1", "18446744073709551616"] {
            let error = Db::memory_builder().set(row.name, wrong).unwrap_err();
            assert!(matches!(error, Error::BadOption { name, .. } if name == row.name), "{error}");
            let text = error.to_string();
            let first = &values(row)[0];
            assert!(text.contains(&format!("{wrong:?}")) && text.contains(first), "{text}");
        }
    }
    let error = Db::memory_builder().set("zzz", "1").unwrap_err().to_string();
    assert!(error.contains("zzz") && error.contains("memory_limit"), "{error}");
}

#[test]
fn numbers_outside_the_bounds_are_errors_of_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for row in DbBuilder::OPTIONS {
        let (OptionKind::Bytes(bounds) | OptionKind::Count(bounds)) = &row.kind else { continue };
        let outside = [bounds.start().checked_sub(1), bounds.end().checked_add(1)];
        for (at, number) in outside.into_iter().enumerate().filter_map(|(at, number)| Some((at, number?))) {
            for engine in Engine::ALL.into_iter().filter(|engine| row.engine.is_none_or(|of| of == *engine)) {
                let builder = Db::builder(folder.path().join(format!("{}{at}{}", row.name, engine.name())));
                let builder = builder.engine(engine).set(row.name, &number.to_string()).unwrap();
                let error = builder.open().unwrap_err();
                assert!(matches!(error, Error::BadOption { name, .. } if name == row.name), "{error}");
                assert!(error.to_string().contains(&row.values()), "{error}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 5, "{tried}");
}

#[test]
fn an_option_set_by_name_takes_effect() {
    let folder = tempfile::tempdir().unwrap();
    let open = |create: &str| {
        let builder =
            Db::builder(folder.path().join("db")).set("engine", "disk")?.set("durability", "sync")?;
        builder.set("max_snapshots", "1")?.set("create", create)?.open()
    };
    let refused = open("no").unwrap_err().to_string();
    assert!(refused.contains("`create` is off"), "{refused}");
    let db = open("yes").unwrap();
    assert_eq!(db.stats().unwrap().engine, Engine::Disk);
    let _held = db.snapshot().unwrap();
    assert!(db.snapshot().is_err());
}

/// Compares a file of the repository with its expected text, or writes it.
#[track_caller]
fn assert_written(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, expected).expect("the file is written");
    }
    let present = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = present.lines().zip(expected.lines()).find(|(present, expected)| present != expected);
    assert!(
        present == expected,
        "{path} differs from the options of the library: {differs:#?}\n\
         write it anew: {WRITE}=1 cargo test -p skeindb --test db options"
    );
}

/// Wraps words; lines after the first are indented by eight.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::from("   ")];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > COLUMNS) {
            lines.push(" ".repeat(7));
        }
        let line = lines.last_mut().expect("there is one");
        line.push(' ');
        line.push_str(word);
    }
    lines.join("\n")
}

/// Returns the parameters of a function of Python.
fn parameters<'r>(rows: impl Iterator<Item = &'r DbOption>) -> String {
    let parameter = |row: &DbOption| {
        let (kind, default) = match &row.kind {
            OptionKind::Name(_) => {
                let names: Vec<String> = values(row).iter().map(|name| format!("{name:?}")).collect();
                let one_line = format!("Literal[{}] | None", names.join(", "));
                let many = format!("Literal[\n        {},\n    ]\n    | None", names.join(",\n        "));
                (if one_line.len() < COLUMNS - 20 { one_line } else { many }, "None")
            }
            OptionKind::Switch { default } => ("bool".to_owned(), if *default { "True" } else { "False" }),
            _ => ("int | None".to_owned(), "None"),
        };
        format!("    {}: {kind} = {default},\n", row.name)
    };
    rows.map(parameter).collect()
}

/// Returns the arguments that pass the parameters on.
fn arguments<'r>(rows: impl Iterator<Item = &'r DbOption>) -> String {
    rows.map(|row| format!("        {0}={0},\n", row.name)).collect::<Vec<_>>().concat()
}

#[test]
fn the_keywords_of_python_are_those_of_the_rows() {
    let rows = || DbBuilder::OPTIONS.iter();
    // The others choose an engine, or need a folder.
    let of_memory = || {
        let of_folders = ["engine", "durability", "create"];
        rows().filter(move |row| row.engine != Some(Engine::Disk) && !of_folders.contains(&row.name))
    };
    let help = |row: &DbOption| {
        let bounds = match &row.kind {
            OptionKind::Bytes(bounds) | OptionKind::Count(bounds) if *bounds.start() > 0 => {
                format!(" From {}.", row.values().replace(" or more", " on"))
            }
            _ => String::new(),
        };
        wrapped(&format!("{}: {}{bounds}", row.name, row.help())) + "\n"
    };
    let text = include_str!("options_of_python.txt")
        .replace("PARAMETERS_OF_MEMORY\n", &parameters(of_memory()))
        .replace("ARGUMENTS_OF_MEMORY\n", &arguments(of_memory()))
        .replace("PARAMETERS\n", &parameters(rows()))
        .replace("ARGUMENTS\n", &arguments(rows()))
        .replace("HELP\n", &rows().map(help).collect::<String>());
    assert_written("crates/skeindb-python/python/skeindb/_options.py", &text);
}

#[test]
fn the_table_of_the_page_is_that_of_the_rows() {
    const BEGIN: &str = "<!-- options -->\n";
    const END: &str = "<!-- end of the options -->\n";
    let page = include_str!("../../../../docs/c.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table");
    let (_, after) = rest.split_once(END).expect("its end");
    let row = |row: &DbOption| format!("| `{}` | {} | {} |\n", row.name, row.values(), row.help());
    let rows: String = DbBuilder::OPTIONS.iter().map(row).collect();
    let head = "| option | values | |\n| --- | --- | --- |\n";
    assert_written("docs/c.md", &[before, BEGIN, head, &rows, END, after].concat());
}
