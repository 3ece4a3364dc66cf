//! Keys and values over HTTP: a database in an axum server.
//!
//! | request | does |
//! | --- | --- |
//! | `PUT /keys/KEY` | sets the key to the body; it is on disk when the answer comes |
//! | `GET /keys/KEY` | returns the value |
//! | `DELETE /keys/KEY` | removes the key |
//! | `POST /keys/KEY/rename?to=NEW` | moves a value to another key, in a transaction |
//! | `GET /keys?from=A&to=B&limit=N` | returns the keys from A to before B in order, a line each |
//!
//! A call of the database may wait for the disk. `AsyncDb` runs it on Tokio's threads for blocking
//! work, and holds none of them while a write waits to be durable.
//!
//! `cargo run --bin axum_server -- FOLDER ADDRESS`

use std::ops::Bound;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use skeindb::aio::{AsyncDb, AsyncKeyspace};
use skeindb::{Db, Durability, Error};
use skeindb_examples::AnyError;
use tokio::net::TcpListener;

/// Rows of an answer, if the request does not say how many.
const ROWS: usize = 100;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "axum-data".into());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    // Nothing is served yet, so this may hold the thread.
    let db = AsyncDb::from(Db::builder(folder).durability(Durability::Sync).open()?);
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener, db, async { drop(tokio::signal::ctrl_c().await) }).await
}

/// Serves a database until `stop` ends, answers the requests that it has, and closes the database.
async fn serve(
    listener: TcpListener,
    db: AsyncDb,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), AnyError> {
    let keys = db.keyspace("keys").await?;
    let router = Router::new()
        .route("/keys", get(list))
        .route("/keys/{key}", get(read).put(write).delete(remove))
        .route("/keys/{key}/rename", post(rename))
        .with_state(Shared { db: db.clone(), keys });
    axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    Ok(db.close().await?)
}

/// The handles that all requests share. Clones are cheap.
#[derive(Clone)]
struct Shared {
    db: AsyncDb,
    keys: AsyncKeyspace,
}

/// The answer to a request that failed.
enum Failure {
    NotFound,
    Database(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND.into_response(),
            Self::Database(error @ Error::KeyTooLong { .. }) => {
                (StatusCode::BAD_REQUEST, error.to_string()).into_response()
            }
            Self::Database(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}

/// The answer to a write, which found its key or did not.
fn done(found: bool) -> Result<StatusCode, Failure> {
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(Failure::NotFound) }
}

async fn read(State(shared): State<Shared>, Path(key): Path<String>) -> Result<Vec<u8>, Failure> {
    shared.keys.get(key).await?.ok_or(Failure::NotFound)
}

async fn write(
    State(shared): State<Shared>,
    Path(key): Path<String>,
    value: Bytes,
) -> Result<StatusCode, Failure> {
    shared.keys.insert(key, value).await?;
    done(true)
}

async fn remove(State(shared): State<Shared>, Path(key): Path<String>) -> Result<StatusCode, Failure> {
    done(shared.keys.remove(key).await?)
}

#[derive(Deserialize)]
struct NewName {
    to: String,
}

async fn rename(
    State(Shared { db, keys }): State<Shared>,
    Path(key): Path<String>,
    Query(NewName { to }): Query<NewName>,
) -> Result<StatusCode, Failure> {
    let keys = keys.keyspace().clone();
    // The closure runs again if another request changed one of the keys meanwhile.
    let found = db.transaction(move |tx| {
        let Some(value) = tx.get(&keys, &key)? else { return Ok(false) };
        tx.remove(&keys, &key)?;
        tx.insert(&keys, &to, value)?;
        Ok(true)
    });
    done(found.await?)
}

#[derive(Deserialize)]
struct Range {
    from: Option<String>,
    to: Option<String>,
    limit: Option<usize>,
}

/// Returns lines of a key, a tab and a value. Bytes that would be in the way are escaped.
async fn list(State(shared): State<Shared>, Query(range): Query<Range>) -> Result<String, Failure> {
    let from = range.from.map_or(Bound::Unbounded, Bound::Included);
    let to = range.to.map_or(Bound::Unbounded, Bound::Excluded);
    let mut rows = shared.keys.range((from, to));
    let mut lines = String::new();
    for _ in 0..range.limit.unwrap_or(ROWS) {
        let Some(row) = rows.next().await else { break };
        let (key, value) = row?;
        lines.push_str(&format!("{}\t{}\n", key.escape_ascii(), value.escape_ascii()));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    use tokio::runtime::Runtime;
    use tokio::sync::oneshot;

    use super::*;

    /// Sends a request on a connection of its own, and returns the status and the body of the answer.
    fn request(address: SocketAddr, request: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("the answer has a head");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    #[test]
    fn requests_write_read_list_and_rename_keys() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let db = AsyncDb::from(Db::builder(folder.path()).durability(Durability::Sync).open().unwrap());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = runtime.spawn(serve(listener, db, async { drop(stopped.await) }));
        let nothing = |status| (status, String::new());

        assert_eq!(request(address, "PUT /keys/goose%3Agrey", "Anser\nanser"), nothing(204));
        assert_eq!(request(address, "PUT /keys/goose%3Abean", "Anser fabalis"), nothing(204));
        assert_eq!(request(address, "PUT /keys/swan%3Amute", "Cygnus olor"), nothing(204));
        assert_eq!(request(address, "GET /keys/goose%3Agrey", ""), (200, "Anser\nanser".into()));
        assert_eq!(request(address, "GET /keys/goose%3Asnow", ""), nothing(404));

        let geese = "goose:bean\tAnser fabalis\ngoose:grey\tAnser\\nanser\n";
        assert_eq!(request(address, "GET /keys?from=goose:&to=goose;", ""), (200, geese.into()));
        let last = "swan:mute\tCygnus olor\n";
        assert_eq!(request(address, "GET /keys?from=h&limit=5", ""), (200, last.into()));
        assert_eq!(request(address, "GET /keys?limit=1", "").1.lines().count(), 1);
        assert_eq!(request(address, "GET /keys?from=b&to=a", ""), nothing(200));
        assert_eq!(request(address, "GET /keys?limit=many", "").0, 400);

        assert_eq!(request(address, "POST /keys/goose%3Abean/rename?to=goose:taiga", ""), nothing(204));
        assert_eq!(request(address, "POST /keys/goose%3Abean/rename?to=goose:tundra", ""), nothing(404));
        assert_eq!(request(address, "GET /keys/goose%3Ataiga", ""), (200, "Anser fabalis".into()));
        assert_eq!(request(address, "DELETE /keys/swan%3Amute", ""), nothing(204));
        assert_eq!(request(address, "DELETE /keys/swan%3Amute", ""), nothing(404));
        // One byte over the limit of a key, and within that of a URI.
        let long = "k".repeat(65_528);
        assert_eq!(request(address, &format!("PUT /keys/{long}"), "").0, 400);

        stop.send(()).unwrap();
        runtime.block_on(server).unwrap().unwrap();
        let db = Db::open(folder.path()).unwrap();
        let keys: Vec<_> = db.keyspace("keys").unwrap().keys().collect::<Result<_, _>>().unwrap();
        assert_eq!(keys, [&b"goose:grey"[..], b"goose:taiga"]);
    }
}
