//! Runs the examples, which check their own output.

#![expect(dead_code, reason = "the examples' own main functions take their folders from the command line")]

#[path = "../examples/backups.rs"]
mod backups;
#[path = "../examples/inverted_index.rs"]
mod inverted_index;
#[path = "../examples/job_queue.rs"]
mod job_queue;
#[path = "../examples/quick_start.rs"]
mod quick_start;
#[path = "../examples/secondary_index.rs"]
mod secondary_index;
#[path = "../examples/time_series.rs"]
mod time_series;

#[test]
fn backups_runs() -> skeindb::Result<()> {
    backups::run(tempfile::tempdir().expect("a folder").path())
}

#[test]
fn quick_start_runs_twice_in_one_folder() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    quick_start::run(folder.path())?;
    quick_start::run(folder.path())
}

#[test]
fn secondary_index_runs() -> skeindb::Result<()> {
    secondary_index::main()
}

#[test]
fn job_queue_runs() -> skeindb::Result<()> {
    job_queue::main()
}

#[test]
fn inverted_index_runs() -> skeindb::Result<()> {
    inverted_index::main()
}

#[test]
fn time_series_runs() -> skeindb::Result<()> {
    time_series::main()
}
