//! A link to a registry that can be slow, break or stall, and that counts bytes.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What the link does; may be changed while it runs.
#[derive(Default)]
pub struct Behaviour {
    /// Bytes towards the client after which a connection is cut; 0 means never.
    pub cut_after: AtomicU64,
    /// How many connections are still to be cut.
    pub cuts: AtomicU64,
    /// Stop sending instead of closing the connection.
    pub stall: AtomicBool,
    /// Milliseconds to wait before each chunk of 64 KiB.
    pub pause: AtomicU64,
    /// Bytes towards the client so far.
    pub delivered: AtomicU64,
    /// Connections so far.
    pub connections: AtomicU64,
}

pub struct Link {
    pub behaviour: Arc<Behaviour>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Link {
    pub async fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("bound");
        let behaviour = Arc::new(Behaviour::default());
        let (shared, target) = (behaviour.clone(), target.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connections.fetch_add(1, SeqCst);
                tokio::spawn(carry(client, target.clone(), shared.clone()));
            }
        });
        Self {
            behaviour,
            address,
            task,
        }
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn delivered(&self) -> u64 {
        self.behaviour.delivered.load(SeqCst)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, target: String, behaviour: Arc<Behaviour>) {
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0;
    while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
        let pause = behaviour.pause.load(SeqCst);
        if pause > 0 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        if to_client.write_all(&buffer[..count]).await.is_err() {
            break;
        }
        passed += count as u64;
        behaviour.delivered.fetch_add(count as u64, SeqCst);
        let cut_after = behaviour.cut_after.load(SeqCst);
        if cut_after > 0
            && passed > cut_after
            && behaviour
                .cuts
                .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
                .is_ok()
        {
            if behaviour.stall.load(SeqCst) {
                std::future::pending::<()>().await;
            }
            break;
        }
    }
    up.abort();
}
