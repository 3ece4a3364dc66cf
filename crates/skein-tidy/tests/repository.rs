//! Every rule, on this repository.

use std::path::{Path, PathBuf};

use skein_tidy::{SourceTree, rules};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources() -> SourceTree {
    let tree = SourceTree::read(&root()).unwrap();
    assert!(tree.files().count() > 1_000, "most of the sources were not found");
    tree
}

#[track_caller]
fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    assert_none(&rules::long_files(&sources()));
}

#[test]
fn module_heads_name_all_modules_below_them() {
    assert_none(&rules::missing_children(&sources()));
}

#[test]
fn module_heads_name_only_what_exists() {
    assert_none(&rules::unknown_names(&sources()));
}

#[test]
fn arrows_between_rooms_point_down() {
    assert_none(&rules::upward_arrows(&sources()));
}

#[test]
fn crates_without_unsafe_code_forbid_it() {
    assert_none(&rules::crates_that_do_not_forbid_it(&sources()));
}

#[test]
fn commits_have_a_short_subject_and_a_body() {
    match rules::commits::read(&root()).unwrap() {
        Some(commits) => assert_none(&rules::commits::messages_out_of_form(&commits)),
        None => eprintln!("left out: there is no git repository, or no git"),
    }
}
