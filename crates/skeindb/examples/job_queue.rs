//! A queue of jobs: one worker takes each job. If it does not finish the job in time, another
//! worker takes it.
//!
//! ```text
//!   waiting   number            → job
//!   taken     deadline, number  → job      in the order of the deadlines
//! ```
//!
//! `cargo run -p skeindb --example job_queue`

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skeindb::{Db, Keyspace, Result};

pub(crate) fn main() -> Result<()> {
    let queue = Queue::new(&Db::in_memory()?)?;
    for job in 0..100 {
        queue.add(&format!("job {job}"))?;
    }
    // Four workers; one of them forgets every tenth job.
    let done: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let queue = &queue;
                scope.spawn(move || {
                    let (mut taken, mut done) = (0, 0);
                    while let Some(job) = queue.take(Duration::from_millis(20))? {
                        assert!(job.text.starts_with("job "));
                        taken += 1;
                        let forgets = worker == 0 && taken % 10 == 0;
                        done += usize::from(!forgets && queue.finish(&job)?);
                        if forgets {
                            std::thread::sleep(Duration::from_millis(25));
                        }
                    }
                    Ok::<_, skeindb::Error>(done)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).sum::<Result<usize>>()
    })?;
    // The rest was taken and forgotten; workers can take it again when its time is over.
    std::thread::sleep(Duration::from_millis(25));
    let mut late = 0;
    while let Some(job) = queue.take(Duration::from_secs(1))? {
        late += usize::from(queue.finish(&job)?);
    }
    println!("{done} jobs at once, {late} at the second attempt");
    assert_eq!(done + late, 100);
    Ok(())
}

/// A job that a worker has taken.
struct Job {
    /// Its key among the taken jobs.
    key: Vec<u8>,
    text: String,
}

/// The queue.
struct Queue {
    db: Db,
    waiting: Keyspace,
    taken: Keyspace,
    counters: Keyspace,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl Queue {
    fn new(db: &Db) -> Result<Self> {
        let [waiting, taken, counters] = ["waiting", "taken", "counters"].map(|name| db.keyspace(name));
        Ok(Self { db: db.clone(), waiting: waiting?, taken: taken?, counters: counters? })
    }

    /// Adds a job at the end.
    fn add(&self, job: &str) -> Result<()> {
        self.db.transaction(|tx| {
            let number = tx.increment(&self.counters, "jobs", 1)?;
            tx.insert(&self.waiting, number.to_be_bytes(), job)
        })
    }

    /// Takes the first job, which must be finished within `time`. Returns `None` if no job waits.
    fn take(&self, time: Duration) -> Result<Option<Job>> {
        self.db.transaction(|tx| {
            let now = now_ms();
            // A job that was not finished in time, or else the first that waits.
            let late = tx.first(&self.taken)?.filter(|(key, _)| key[..8] < now.to_be_bytes()[..]);
            let (number, text) = if let Some((key, text)) = late {
                tx.remove(&self.taken, &key)?;
                (key[8..].to_vec(), text)
            } else if let Some((number, text)) = tx.first(&self.waiting)? {
                tx.remove(&self.waiting, &number)?;
                (number, text)
            } else {
                return Ok(None);
            };
            let deadline = now + time.as_millis() as u64;
            let key = [&deadline.to_be_bytes()[..], &number].concat();
            tx.insert(&self.taken, &key, text.clone())?;
            Ok(Some(Job { key, text: String::from_utf8_lossy(&text).into_owned() }))
        })
    }

    /// Finishes a job. Returns false if its time was over and another worker has taken it.
    fn finish(&self, job: &Job) -> Result<bool> {
        self.taken.remove(&job.key)
    }
}
