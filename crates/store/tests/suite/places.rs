//! Where a test keeps its data: a SQLite file of its own, or a database of its own on a real
//! PostgreSQL server that the test run starts.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use muster_model::Secret;
use muster_store::{SealingKey, Store, StoreError};
use tempfile::TempDir;

/// An empty database; open it as often as the test likes.
pub enum Place {
    Sqlite(TempDir),
    Postgres(String),
}

impl Place {
    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn postgres() -> Self {
        Self::Postgres(SERVER.new_database())
    }

    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(dir) => format!("sqlite://{}", dir.path().join("muster.db").display()),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// A store that was dropped a moment ago may still hold its file: the writer has a thread of its
    /// own, which ends a little later on a busy machine.
    pub async fn open(&self) -> Store {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            match open(&self.url()).await {
                Err(StoreError::InUse { .. }) if Instant::now() < limit => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                opened => return opened.expect("the store opens"),
            }
        }
    }
}

impl Place {
    /// Runs SQL behind the back of a store, which must be closed if the database is a file; the
    /// first column of the rows comes back.
    pub async fn sql(&self, sql: impl AsRef<str>) -> Vec<String> {
        let sql = sql.as_ref();
        match self {
            Self::Sqlite(dir) => {
                let file = rusqlite::Connection::open(dir.path().join("muster.db")).expect("opens");
                let mut statement = file.prepare(sql).expect("is SQL");
                let rows = statement.query_map([], |row| row.get(0)).expect("runs");
                rows.map(|text| text.expect("is text")).collect()
            }
            Self::Postgres(url) => {
                let mut server: sqlx::PgConnection =
                    sqlx::Connection::connect(url).await.expect("connects");
                let rows = sqlx::query_scalar(sql).fetch_all(&mut server).await;
                rows.expect("runs")
            }
        }
    }
}

/// The key of all these tests.
pub const KEY: &str = "bXVzdGVyLXRlc3RzLXNlYWxpbmcta2V5LTMyLWJ5dGU=";

/// Opens a database with it.
pub async fn open(url: &str) -> Result<Store, StoreError> {
    let key = SealingKey::parse(&Secret::new(KEY), "the test").expect("a key");
    Store::open(url, key).await
}

/// Makes each claim, an `async fn(Place)`, a test on both databases.
macro_rules! on_both {
    ($($claim:ident),+ $(,)?) => {$(
        mod $claim {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$claim(crate::places::Place::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$claim(crate::places::Place::postgres()).await;
            }
        }
    )+};
}
pub(crate) use on_both;

static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

/// A server that stops when this process ends, however it ends.
struct Server {
    port: u16,
    psql: PathBuf,
    databases: AtomicU32,
    /// Holds the other end of its stdin, which is how it knows that we live.
    _process: Child,
}

impl Server {
    fn start() -> Self {
        let programs = programs();
        let port = free_port();
        let mut command = if is_root() {
            // PostgreSQL refuses to run as root.
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "sh",
            ]);
            command
        } else {
            Command::new("sh")
        };
        let mut child = command
            .args(["-c", include_str!("postgres.sh"), "sh"])
            .arg(&programs)
            .arg(port.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is piped"))
            .read_line(&mut line)
            .expect("the server's script speaks");
        assert_eq!(line.trim(), "ready", "PostgreSQL did not start, see above");
        Self {
            port,
            psql: programs.join("psql"),
            databases: AtomicU32::new(0),
            _process: child,
        }
    }

    fn new_database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let address = |name: &str| format!("postgres://muster@127.0.0.1:{}/{name}", self.port);
        let name = format!("test_{number}");
        let status = Command::new(&self.psql)
            .args(["-q", "-c", &format!("CREATE DATABASE {name}")])
            .arg(address("postgres"))
            .status()
            .expect("psql runs");
        assert!(status.success(), "CREATE DATABASE failed, see above");
        address(&name)
    }
}

fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let debian = versions.flatten().map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = debian.collect();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::split_paths(&path));
    let complete = |folder: &&PathBuf| {
        ["initdb", "postgres", "psql", "pg_isready"]
            .iter()
            .all(|program| folder.join(program).exists())
    };
    folders
        .iter()
        .find(complete)
        .cloned()
        .expect("PostgreSQL is needed to test the store: install the Debian package `postgresql`")
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|me| me.uid() == 0)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}
