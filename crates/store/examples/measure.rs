//! temp
#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout)]
use muster_model::*;
use muster_store::*;
use std::time::Instant;
use uuid::Uuid;

async fn touch(store: &Store, key: HostKey, n: i64) {
    let row = store.host(key).await.unwrap().unwrap();
    let mut host = Host::clone(&row.value);
    host.updated_at = Timestamp(n);
    let mut c = Changes::default();
    c.update_host(&row, host);
    c.event(Event::new(
        "host_status_updated",
        Severity::Info,
        EventScope {
            cluster: row.cluster,
            host: Some(key.host),
            infra_env: Some(key.infra_env),
        },
        Timestamp(n),
        "Host x: updated status from discovering to known (Host is ready to be installed)",
    ));
    store.commit(c).await.unwrap();
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let store = Store::open(&std::env::args().nth(1).unwrap())
        .await
        .unwrap();
    let size: usize = std::env::args()
        .nth(2)
        .and_then(|s| s.parse().ok())
        .unwrap_or(10_000);
    let cl = ClusterId(Uuid::new_v4());
    let i = InfraEnvId(Uuid::new_v4());
    let keys: Vec<HostKey> = (0..64)
        .map(|_| HostKey {
            infra_env: i,
            host: HostId(Uuid::new_v4()),
        })
        .collect();
    let mut c = Changes::default();
    c.insert_cluster(Cluster::blank(
        cl,
        ClusterKind::Cluster,
        "x",
        ClusterStatus::Ready,
        "a",
        Timestamp(1),
    ));
    for k in &keys {
        let mut h = Host::registered(*k, Some(cl), "a", Timestamp(1));
        h.reports.inventory = Some("i".repeat(size));
        c.insert_host(h);
    }
    store.commit(c).await.unwrap();
    let per = |n: u32, t: Instant| {
        format!(
            "{:.1} us each, {:.0}/s",
            t.elapsed().as_secs_f64() * 1e6 / n as f64,
            n as f64 / t.elapsed().as_secs_f64()
        )
    };
    for k in &keys {
        store.host(*k).await.unwrap();
    }
    let t = Instant::now();
    for n in 0..100_000u32 {
        std::hint::black_box(store.host(keys[n as usize % 64]).await.unwrap());
        if t.elapsed().as_secs() > 2 {
            println!("host() {}", per(n + 1, t));
            break;
        }
        if n == 99_999 {
            println!("host() {}", per(100_000, t));
        }
    }
    let t = Instant::now();
    for _ in 0..300 {
        std::hint::black_box(store.hosts_of_cluster(cl).await.unwrap());
    }
    println!("hosts_of_cluster(64) {}", per(300, t));
    let t = Instant::now();
    for _ in 0..300 {
        std::hint::black_box(store.cluster_revision(cl).await.unwrap());
    }
    println!("cluster_revision(64) {}", per(300, t));
    for round in 0..2 {
        let t = Instant::now();
        for n in 0..1000 {
            touch(&store, keys[n % 64], n as i64).await;
        }
        println!("serial commit {round} {}", per(1000, t));
    }
    for ways in [8usize, 64] {
        let t = Instant::now();
        let per_task = 4000 / ways;
        let tasks: Vec<_> = (0..ways)
            .map(|w| {
                let store = store.clone();
                let key = keys[w];
                tokio::spawn(async move {
                    for n in 0..per_task {
                        touch(&store, key, n as i64).await;
                    }
                })
            })
            .collect();
        for x in tasks {
            x.await.unwrap();
        }
        println!("{ways}-way commit {}", per((per_task * ways) as u32, t));
    }
    let beats: Vec<Heartbeat> = (0..5000)
        .map(|n| Heartbeat {
            key: HostKey {
                infra_env: i,
                host: HostId(Uuid::from_u128(n)),
            },
            at: Timestamp(n as i64),
            agent_clock: Some(1),
        })
        .collect();
    let t = Instant::now();
    store.save_heartbeats(&beats).await.unwrap();
    println!("save 5000 heartbeats {}", per(1, t));
    let q = EventQuery {
        cluster: Some(cl),
        limit: Some(100),
        order: EventOrder::Descending,
        ..Default::default()
    };
    store.events(&q).await.unwrap();
    let t = Instant::now();
    for _ in 0..50 {
        store.events(&q).await.unwrap();
    }
    println!(
        "events page 100 of {} {}",
        store.events(&q).await.unwrap().total,
        per(50, t)
    );
    store.close().await;
    let t = Instant::now();
    let store = Store::open(&std::env::args().nth(1).unwrap())
        .await
        .unwrap();
    println!("reopen {}", per(1, t));
    let t = Instant::now();
    store.hosts_of_cluster(cl).await.unwrap();
    println!("cold hosts_of_cluster(64) {}", per(1, t));
    store.close().await;
}
