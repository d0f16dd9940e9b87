//! Many sites in one run.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{INSTALL_CONFIG, muster, other, put_site, succeeded};

#[test]
fn many_sites_are_made_at_once() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for name in ["one", "two", "bad"] {
        put_site(&at.join("sites").join(name));
    }
    fs::write(
        at.join("sites/bad/image-based-config.yaml"),
        "hostname: localhost\n",
    )
    .unwrap();
    let made = muster(
        at,
        &[
            "create",
            "config-images",
            "--sites",
            "sites",
            "--output",
            "out",
        ],
    );
    assert_eq!(made.status.code(), Some(1), "one site is wrong");
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(
        said.contains("2 of 3 sites") && said.contains("failed: bad:"),
        "{said}"
    );
    let complaint = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(
        complaint.contains("bad/image-based-config.yaml:1:11: error"),
        "{complaint}"
    );
    let report: Value =
        serde_json::from_slice(&fs::read(at.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report.as_array().unwrap().len(), 3);
    assert_ne!(report[1]["cluster_id"], report[2]["cluster_id"]);
    assert!(
        at.join("sites/one/install-config.yaml").exists(),
        "a batch uses nothing up"
    );

    let table = at.join("table");
    fs::create_dir(&table).unwrap();
    fs::write(
        table.join("install-config.yaml"),
        INSTALL_CONFIG.replace("site1", "{{name}}"),
    )
    .unwrap();
    fs::write(
        table.join("image-based-config.yaml"),
        "hostname: {{host}}\n",
    )
    .unwrap();
    fs::write(
        table.join("sites.csv"),
        "name,host\nthree,n3\n\"four\",n4\n",
    )
    .unwrap();
    let words = [
        "create",
        "config-images",
        "--sites",
        "table/sites.csv",
        "--output",
        "out",
    ];
    succeeded(&muster(at, &words));
    let report: Value =
        serde_json::from_slice(&fs::read(at.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report[0]["cluster"], "four");
    assert_ne!(report[0]["infra_id"], report[1]["infra_id"]);
    let bytes = fs::read(at.join("out/three/imagebasedconfig.iso")).unwrap();
    succeeded(&muster(at, &words));
    assert_eq!(
        fs::read(at.join("out/three/imagebasedconfig.iso")).unwrap(),
        bytes,
        "a second run makes the same image"
    );
}

#[test]
fn an_interrupted_batch_leaves_whole_images_only() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(
        at.join("install-config.yaml"),
        INSTALL_CONFIG.replace("site1", "{{name}}"),
    )
    .unwrap();
    fs::write(at.join("image-based-config.yaml"), "hostname: {{name}}\n").unwrap();
    let rows: String = (0..200).map(|number| format!("s{number:03}\n")).collect();
    fs::write(at.join("sites.csv"), format!("name\n{rows}")).unwrap();
    let mut batch = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["image-based", "create", "config-images", "--jobs", "1"])
        .args(["--sites", "sites.csv", "--output", "out"])
        .current_dir(at)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let first = at.join("out/s000/imagebasedconfig.iso");
    let end = Instant::now() + Duration::from_secs(60);
    while !first.exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(20));
    }
    other(at, &format!("kill -INT {}", batch.id()));
    assert_eq!(batch.wait().unwrap().code(), Some(8));
    assert!(!at.join("out/report.json").exists());
    let unfinished = other(at, "find out -name .tmp*");
    assert_eq!(unfinished, "", "half-written files are gone");
    other(at, "isoinfo -d -i out/s000/imagebasedconfig.iso");
}
