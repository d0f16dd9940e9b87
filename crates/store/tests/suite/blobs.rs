//! Files: written completely or not at all, under their own name.

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use muster_store::{BlobError, BlobPath, Blobs};
use tempfile::TempDir;

async fn folder() -> (TempDir, Blobs) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}/blobs", dir.path().display());
    let blobs = Blobs::open(&url).await.unwrap();
    (dir, blobs)
}

fn path<const N: usize>(segments: [&str; N]) -> BlobPath {
    BlobPath::new(segments).unwrap()
}

async fn names(blobs: &Blobs, folder: &BlobPath) -> Vec<String> {
    let listed = blobs.list(folder).await.unwrap();
    listed.iter().map(|blob| blob.path.to_string()).collect()
}

#[tokio::test]
async fn a_blob_comes_back_as_it_was_put() {
    let (_dir, blobs) = folder().await;
    let here = path(["cluster", "logs", "a.tar.gz"]);
    assert_eq!(blobs.get(&here).await.unwrap(), None);
    assert!(blobs.stream(&here).await.unwrap().is_none());
    assert!(!blobs.exists(&here).await.unwrap());
    for content in ["first", "", "the second one"] {
        blobs.put(&here, Bytes::from(content)).await.unwrap();
        assert_eq!(blobs.get(&here).await.unwrap().unwrap(), content);
        assert!(blobs.exists(&here).await.unwrap());
        let (size, pieces) = blobs.stream(&here).await.unwrap().unwrap();
        assert_eq!(size, content.len() as u64);
        let pieces: Vec<Bytes> = pieces.try_collect().await.unwrap();
        assert_eq!(pieces.concat(), content.as_bytes());
    }
    assert!(
        !blobs.exists(&path(["cluster", "logs"])).await.unwrap(),
        "a folder is no blob"
    );
    assert_eq!(blobs.get(&path(["cluster", "logs"])).await.unwrap(), None);
    assert!(
        blobs
            .presign(&here, std::time::Duration::from_secs(1))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_stream_is_stored_whole_or_not_at_all() {
    let (dir, blobs) = folder().await;
    let here = path(["image"]);
    let pieces =
        || stream::iter((0..100u8).map(|n| Ok::<_, std::io::Error>(Bytes::from(vec![n; 70_000]))));
    assert_eq!(blobs.put_stream(&here, pieces()).await.unwrap(), 7_000_000);
    let (size, read) = blobs.stream(&here).await.unwrap().unwrap();
    let read: Vec<Bytes> = read.try_collect().await.unwrap();
    assert_eq!((size, read.concat().len()), (7_000_000, 7_000_000));
    assert_eq!(read.concat()[6_999_999], 99);

    let broken = pieces()
        .take(3)
        .chain(stream::iter([Err(std::io::Error::other("cable cut"))]));
    let error = blobs.put_stream(&here, broken).await.expect_err("cut");
    assert!(matches!(error, BlobError::Source { .. }), "{error:?}");
    assert_eq!(
        blobs.get(&here).await.unwrap().unwrap().len(),
        7_000_000,
        "the old one stays"
    );
    let left = std::fs::read_dir(dir.path().join("blobs")).unwrap().count();
    assert_eq!(left, 1, "nothing unfinished stays behind");
}

#[tokio::test]
async fn lists_and_deletions_stay_in_their_folder() {
    let (dir, blobs) = folder().await;
    for segments in [["a", "1"], ["a", "2"], ["ab", "1"], ["b", "1"]] {
        blobs.put(&path(segments), Bytes::from("x")).await.unwrap();
    }
    blobs
        .put(&path(["a", "deep", "er", "3"]), Bytes::from("xyz"))
        .await
        .unwrap();
    assert_eq!(
        names(&blobs, &path(["a"])).await,
        ["a/1", "a/2", "a/deep/er/3"]
    );
    assert_eq!(names(&blobs, &BlobPath::root()).await.len(), 5);
    assert!(names(&blobs, &path(["nowhere"])).await.is_empty());
    let info = blobs.list(&path(["a", "deep"])).await.unwrap().remove(0);
    assert_eq!(info.size, 3);
    assert!(
        muster_model::Timestamp::now()
            .since(info.modified)
            .as_secs()
            < 60
    );
    blobs.delete(&path(["a", "1"])).await.unwrap();
    blobs.delete(&path(["a", "1"])).await.unwrap();
    assert_eq!(names(&blobs, &path(["a"])).await, ["a/2", "a/deep/er/3"]);
    blobs.delete_prefix(&path(["a"])).await.unwrap();
    blobs.delete_prefix(&path(["a"])).await.unwrap();
    assert_eq!(names(&blobs, &BlobPath::root()).await, ["ab/1", "b/1"]);
    assert!(!dir.path().join("blobs/a").exists(), "empty folders go too");
    assert!(blobs.delete_prefix(&BlobPath::root()).await.is_err());
    assert!(blobs.put(&BlobPath::root(), Bytes::new()).await.is_err());
}

#[tokio::test]
async fn odd_names_are_only_names() {
    let (dir, blobs) = folder().await;
    let odd = [
        "%2e%2e",
        "..%2f..",
        "käse 日本",
        "x#12",
        "incoming#7",
        "a?b*c",
        "~root",
        "-rf",
        "%00",
    ];
    for name in odd {
        let here = path([name, name]);
        blobs.put(&here, Bytes::from(name)).await.unwrap();
        assert_eq!(blobs.get(&here).await.unwrap().unwrap(), name);
    }
    let mut listed: Vec<BlobPath> = blobs
        .list(&BlobPath::root())
        .await
        .unwrap()
        .into_iter()
        .map(|b| b.path)
        .collect();
    listed.sort();
    let mut expected: Vec<BlobPath> = odd.iter().map(|name| path([name, name])).collect();
    expected.sort();
    assert_eq!(listed, expected);
    let outside: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
    assert_eq!(outside.len(), 1, "{outside:?}");
    for name in odd {
        blobs.delete(&path([name, name])).await.unwrap();
    }
    assert!(names(&blobs, &BlobPath::root()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_and_deleters_of_one_folder_do_not_disturb_each_other() {
    let (_dir, blobs) = folder().await;
    let deleter = tokio::spawn({
        let blobs = blobs.clone();
        async move {
            for _ in 0..200 {
                blobs.delete_prefix(&path(["shared", "old"])).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    });
    for number in 0..100 {
        let name = number.to_string();
        blobs
            .put(&path(["shared", "old", &name]), Bytes::from("x"))
            .await
            .unwrap();
        blobs
            .put(&path(["shared", "new", &name]), Bytes::from("x"))
            .await
            .unwrap();
    }
    deleter.await.unwrap();
    assert_eq!(names(&blobs, &path(["shared", "new"])).await.len(), 100);
}

#[tokio::test]
async fn what_a_dead_process_left_is_cleared_at_once_and_uploads_under_way_stay() {
    let (dir, _) = folder().await;
    let root = dir.path().join("blobs");
    for name in ["incoming#1", "incoming#2", "report"] {
        std::fs::write(root.join(name), "half of it").unwrap();
    }
    let under_way = std::fs::File::open(root.join("incoming#2")).unwrap();
    under_way.try_lock().unwrap();
    let blobs = Blobs::open(&format!("file://{}", root.display()))
        .await
        .unwrap();
    let mut left: Vec<_> = std::fs::read_dir(&root)
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["incoming#2", "report"]);
    assert_eq!(
        names(&blobs, &BlobPath::root()).await,
        ["report"],
        "unfinished files are hidden"
    );
}

#[tokio::test]
async fn another_process_that_starts_leaves_an_upload_alone() {
    let (dir, blobs) = folder().await;
    let url = format!("file://{}", dir.path().join("blobs").display());
    let path = BlobPath::new(["logs"]).unwrap();
    let pieces = futures::stream::iter([1, 2]).then(|_| async {
        Blobs::open(&url)
            .await
            .map(|_| bytes::Bytes::from_static(b"half "))
    });
    blobs.put_stream(&path, pieces).await.unwrap();
    let stored = blobs.get(&path).await.unwrap().unwrap();
    assert_eq!(stored, "half half ");
}
