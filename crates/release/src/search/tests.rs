use tar::{EntryType, Header};

use super::*;

/// Remembers the files it was given.
#[derive(Default)]
struct Shelf(Vec<(String, Vec<u8>)>);

impl Sink for Shelf {
    fn begin(&mut self, below: &str, _: &Entry) -> Result<(), LayerFault> {
        self.0.retain(|(known, _)| known != below);
        self.0.push((below.to_owned(), Vec::new()));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), LayerFault> {
        self.0.last_mut().expect("begun").1.extend_from_slice(bytes);
        Ok(())
    }

    fn forget(&mut self) -> Result<(), LayerFault> {
        self.0.clear();
        Ok(())
    }
}

/// `path=content` is a file, `path->target` a symbolic link, `path=>target` a hard link, `path/` a
/// folder.
fn layer(entries: &[&str]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(0);
        let link = [("->", EntryType::Symlink), ("=>", EntryType::Link)]
            .into_iter()
            .find_map(|(arrow, kind)| Some((entry.split_once(arrow)?, kind)));
        if let Some(((path, target), kind)) = link {
            header.set_entry_type(kind);
            builder
                .append_link(&mut header, path, target)
                .expect("appends");
        } else if let Some((path, content)) = entry.split_once('=') {
            header.set_size(content.len() as u64);
            builder
                .append_data(&mut header, path, content.as_bytes())
                .expect("appends");
        } else {
            header.set_entry_type(EntryType::Directory);
            builder
                .append_data(&mut header, entry, io::empty())
                .expect("appends");
        }
    }
    builder.into_inner().expect("ends")
}

/// Searches layers given from the bottom up; says what was found and which layers were read.
fn search(layers: &[&[&str]], want: Want<Shelf>) -> (State, Vec<(String, String)>, Vec<usize>) {
    let layers: Vec<Vec<u8>> = layers.iter().rev().map(|entries| layer(entries)).collect();
    let mut search = Search::new(vec![want], layers.len(), Limits::default());
    let mut read = Vec::new();
    while let Some(at) = search.next() {
        read.push(at);
        search
            .consume(&mut &*layers[at], layers[at].len() as u64)
            .expect("sound");
        search.settle();
    }
    let want = search.into_wants().pop().expect("one");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let files = want
        .sink
        .0
        .into_iter()
        .map(|(path, bytes)| (path, text(bytes)));
    (want.state, files.collect(), read)
}

fn file(layers: &[&[&str]], path: &str) -> Result<(String, Vec<usize>), Option<String>> {
    match search(layers, Want::file(path.to_owned(), Shelf::default())) {
        (State::Found, mut files, read) => Ok((files.pop().expect("a file").1, read)),
        (State::Missing(why), _, _) => Err(why),
        (State::Open, ..) => panic!("the search ended without an answer"),
    }
}

#[test]
fn the_topmost_layer_wins_and_those_below_are_not_read() {
    let layers: &[&[&str]] = &[&["a/b=old", "c=only"], &["a/", "a/b=new"], &["d=x"]];
    assert_eq!(file(layers, "a/b"), Ok(("new".to_owned(), vec![0, 1])));
    assert_eq!(file(layers, "c"), Ok(("only".to_owned(), vec![0, 1, 2])));
    assert_eq!(file(layers, "e"), Err(None));
}

#[test]
fn of_two_entries_in_a_layer_the_last_counts() {
    assert_eq!(
        file(&[&["a=1", "a=22", "b=3"]], "a"),
        Ok(("22".to_owned(), vec![0]))
    );
}

#[test]
fn whiteouts_hide_what_is_below_them_only() {
    let gone = |top: &[&str]| file(&[&["a/b/c=old"], top], "a/b/c");
    assert_eq!(gone(&["a/b/.wh.c="]), Err(None));
    assert_eq!(gone(&["a/.wh.b="]), Err(None));
    assert_eq!(gone(&["a/b/.wh..wh..opq="]), Err(None));
    assert_eq!(gone(&[".wh..wh..opq="]), Err(None));
    assert_eq!(gone(&[".wh.a="]), Err(None));
    assert_eq!(gone(&["a/b=now a file"]), Err(None));
    assert!(gone(&["a/b/.wh.other=", "a/.wh.bb=", "x/.wh..wh..opq="]).is_ok());
    assert_eq!(
        gone(&["a/b/c=new", "a/b/.wh.c=", "a/b/.wh..wh..opq="]),
        Ok(("new".to_owned(), vec![0])),
        "a whiteout does not hide its own layer"
    );
}

#[test]
fn links_are_followed_inside_the_image_and_nowhere_else() {
    let found = |layers: &[&[&str]], path: &str| file(layers, path).map(|(text, _)| text);
    let base: &[&str] = &["usr/bin/oc=tool", "etc/passwd=inside", "bin->usr/bin"];
    assert_eq!(
        found(&[base, &["usr/bin/kubectl->oc"]], "usr/bin/kubectl"),
        Ok("tool".to_owned())
    );
    assert_eq!(
        found(&[base, &["usr/bin/k=>usr/bin/oc"]], "usr/bin/k"),
        Ok("tool".to_owned())
    );
    assert_eq!(found(&[&["a=1", "b=>a"]], "b"), Ok("1".to_owned()));
    assert_eq!(
        found(&[base], "bin/oc"),
        Ok("tool".to_owned()),
        "a folder on the way is a link"
    );
    assert_eq!(
        found(
            &[base, &["coreos/x.iso->../../../../etc/passwd"]],
            "coreos/x.iso"
        ),
        Ok("inside".to_owned()),
        "above the root of the image there is only its root"
    );
    assert_eq!(
        found(&[&["x->/etc/shadow"]], "x"),
        Err(None),
        "the file of this machine is not it"
    );
    let circle = found(&[&["a->b", "b->a"]], "a").expect_err("a circle");
    assert_eq!(circle.as_deref(), Some("its links lead in a circle"));
    let nowhere = found(&[&["a->/"]], "a").expect_err("the root is no file");
    assert_eq!(nowhere.as_deref(), Some("its link leads nowhere"));
    assert_eq!(
        found(&[&["a/", "a/b=1"]], "a")
            .expect_err("a folder")
            .as_deref(),
        Some("it is a folder")
    );
}

#[test]
fn a_folder_is_taken_from_the_topmost_layer_that_has_it() {
    let want = Want::folder("m".to_owned(), Shelf::default());
    let (state, files, read) = search(
        &[
            &["m/old=0"],
            &["m/", "m/a=1", "m/b/c=2", "mm/x=3"],
            &["z=4"],
        ],
        want,
    );
    assert_eq!(state, State::Found);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b/c"]);
    assert_eq!(read, [0, 1]);
}

#[test]
fn a_layer_that_is_read_again_starts_afresh() {
    let bytes = layer(&["m/a=1"]);
    let want = Want::folder("m".to_owned(), Shelf::default());
    let mut search = Search::new(vec![want], 1, Limits::default());
    assert_eq!(search.next(), Some(0));
    search.consume(&mut &bytes[..1000], 1000).expect_err("cut");
    search
        .consume(&mut &*bytes, bytes.len() as u64)
        .expect("sound");
    search.settle();
    let files = search.into_wants().pop().expect("one").sink.0;
    assert_eq!(files, [("a".to_owned(), b"1".to_vec())]);
}
