//! Takes out of a capture what identifies the machine.
//!
//! First everything that identifies is gathered from where it is known to be, then each piece is
//! replaced wherever it turns up: in files, in names of files, in links, in tables of the
//! firmware, in what programs said.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use muster_machine::{Node, Record, Tree};
use regex::{Captures, Regex};

use super::disguise::Disguise;
use crate::inventory::smbios::Tables;

/// Files whose content identifies.
const FILES: &[&str] = &[
    "product_serial",
    "product_uuid",
    "board_serial",
    "board_asset_tag",
    "chassis_serial",
    "chassis_asset_tag",
    "serial",
    "serial-number",
    "wwid",
    "eui",
    "nguid",
    "uuid",
    "targetname",
    "target-name",
    "initiator-name",
    "dm/uuid",
    "dm/name",
];
/// Pieces of the names of udev properties that identify.
const PROPERTIES: &[&str] = &["SERIAL", "WWN", "UUID", "DM_NAME"];
/// Kind of an SMBIOS structure and where it has the number of a string that identifies.
const STRINGS: &[(u8, usize)] = &[
    (1, 0x07),
    (2, 0x07),
    (2, 0x08),
    (3, 0x07),
    (3, 0x08),
    (4, 0x20),
    (4, 0x21),
    (17, 0x18),
    (17, 0x19),
    (39, 0x08),
    (39, 0x09),
];
/// What makers write when they have nothing to say.
const EMPTY_WORDS: &[&str] = &[
    "unknown",
    "none",
    "default string",
    "not specified",
    "to be filled by o.e.m.",
    "no asset tag",
    "not present",
    "oraclecloud.com",
    "localhost",
    "localhost.localdomain",
];
/// What stands before a number and says of what kind it is.
const KINDS: &[&str] = &[
    "0x", "naa.", "eui.", "uuid.", "nvme.", "t10.", "LVM-", "mpath-",
];
/// Shorter words are in too many others.
const SHORTEST: usize = 4;
/// A word at least this long with a digit in it is no ordinary word and is replaced wherever it
/// turns up, names of files included; any other only where it stands alone in a text.
const PECULIAR: usize = 6;
/// The longest ordinary word.
const LONGEST: usize = 100;
/// Names here are the same on all machines.
const UNTOUCHED: &str = "/sys/firmware/efi";

static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"));
static MAC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5,19}\b|\b[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5,19}\b")
});
static IPV4: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(\d{1,3}\.){3}\d{1,3}\b"));
/// What might be one; reading it decides.
static IPV6: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,8}"));
/// A value in a URL on the kernel command line can be a key.
static QUERY: LazyLock<Regex> = LazyLock::new(|| pattern(r"([?&][A-Za-z_]+=)([^&\s]+)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are valid")
}

/// Replaces what identifies a machine.
#[derive(Debug)]
pub struct Scrub {
    disguise: Disguise,
    /// Peculiar words and stand-ins, longest first, so that no word is torn by a shorter one.
    words: Vec<(String, String)>,
    /// Ordinary words, as patterns that find them where they stand alone.
    ordinary: Vec<(Regex, String)>,
    /// Runs of bytes, for UUIDs in tables.
    runs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Scrub {
    /// Gathers what identifies the machine of a record.
    pub fn new(record: &Record, salt: u128) -> Self {
        let disguise = Disguise::new(salt);
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        let mut runs = Vec::new();
        let mut add = |word: &str| {
            let word = word.trim_matches(|c: char| c.is_whitespace() || c == '\0');
            let own = KINDS.iter().find_map(|kind| word.strip_prefix(kind));
            let word = own.unwrap_or(word);
            // Already covered by a pattern that knows better what it looks like.
            let is_uuid = UUID
                .find(word)
                .is_some_and(|found| found.len() == word.len());
            let says_something = !EMPTY_WORDS.contains(&word.to_lowercase().as_str());
            if word.len() >= SHORTEST && says_something && !is_uuid {
                found.insert(word.to_owned(), disguise.word(word));
            }
        };
        let hostname = &record.about.kernel.hostname;
        add(hostname);
        if let Some((first, _)) = hostname.split_once('.') {
            add(first);
        }
        for (path, node) in record.tree.nodes() {
            let Node::File(content) = node else { continue };
            let text = String::from_utf8_lossy(content);
            if FILES.iter().any(|file| path.ends_with(file)) {
                add(&text);
            }
            if path.starts_with("/run/udev/data") {
                for (key, value) in text
                    .lines()
                    .filter_map(|line| line.strip_prefix("E:")?.split_once('='))
                {
                    if PROPERTIES.iter().any(|part| key.contains(part)) {
                        add(value);
                    }
                }
            }
            if path.ends_with("dmi/tables/DMI") {
                for structure in Tables::from_bytes(content).all() {
                    for (_, at) in STRINGS.iter().filter(|(kind, _)| *kind == structure.kind()) {
                        structure.string(*at).into_iter().for_each(&mut add);
                    }
                    let uuid = structure.bytes(8..24).filter(|_| structure.kind() == 1);
                    runs.extend(uuid.map(|uuid| (uuid.to_vec(), disguise.bytes(uuid))));
                }
            }
        }
        let (mut words, ordinary): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(word, _)| is_peculiar(word));
        let ordinary = ordinary
            .into_iter()
            .filter_map(|(word, stand_in)| {
                let alone = format!(r"\b{}\b", regex::escape(&word));
                Some((Regex::new(&alone).ok()?, stand_in))
            })
            .collect();
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        Self {
            disguise,
            words,
            ordinary,
            runs,
        }
    }

    /// The record of the machine in disguise.
    pub fn record(&self, original: &Record) -> Record {
        let mut record = original.clone();
        record.tree = Tree::default();
        for (path, node) in original.tree.nodes() {
            record.tree.insert(self.path(path), self.node(path, node));
        }
        let network = &mut record.network;
        for link in &mut network.links {
            for mac in [&mut link.mac, &mut link.permanent_mac]
                .into_iter()
                .flatten()
            {
                *mac = self.disguise.mac(mac);
            }
        }
        for address in &mut network.addresses {
            address.ip = self.disguise.ip(address.ip, 128);
        }
        for route in &mut network.routes {
            route.destination = self.disguise.ip(route.destination, route.prefix);
            route.gateway = route.gateway.map(|gateway| self.disguise.ip(gateway, 128));
        }
        for neighbour in &mut network.neighbours {
            neighbour.ip = self.disguise.ip(neighbour.ip, 128);
            neighbour.mac = neighbour.mac.as_deref().map(|mac| self.disguise.mac(mac));
        }
        let about = &mut record.about;
        about.kernel.hostname = self.prose(&about.kernel.hostname);
        for answer in &mut about.programs {
            for output in [&mut answer.finished.stdout, &mut answer.finished.stderr] {
                *output = self.prose(&String::from_utf8_lossy(output)).into_bytes();
            }
        }
        record
    }

    fn path(&self, path: &Path) -> PathBuf {
        match path.starts_with(UNTOUCHED) {
            true => path.to_owned(),
            false => PathBuf::from(self.text(&path.to_string_lossy())),
        }
    }

    fn node(&self, path: &Path, node: &Node) -> Node {
        // What a disk says of itself on these pages is a number of its own, and a boot sector
        // has the signature of the disk in it; that they are there is all that matters.
        let is_page = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("vpd_pg"));
        match node {
            Node::File(content) if is_page => {
                let (head, own) = content.split_at(content.len().min(4));
                Node::File([head, &self.disguise.bytes(own)].concat())
            }
            Node::File(content) => Node::File(self.content(content)),
            Node::Block(sector) => {
                let mut sector = sector.clone();
                if let Some(signature) = sector.get_mut(440..444) {
                    signature.copy_from_slice(&self.disguise.bytes(signature));
                }
                Node::Block(sector)
            }
            Node::Link(target) => Node::Link(self.path(target)),
            other => other.clone(),
        }
    }

    fn content(&self, content: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(content) {
            Ok(text) => self.prose(text).into_bytes(),
            Err(_) => {
                let mut bytes = content.to_vec();
                // Stand-ins are as long as what they stand for, so tables stay whole.
                let words = self
                    .words
                    .iter()
                    .filter(|(old, new)| old.len() == new.len())
                    .map(|(old, new)| (old.as_bytes(), new.as_bytes()));
                let runs = self.runs.iter().map(|(old, new)| (&old[..], &new[..]));
                for (old, new) in words.chain(runs) {
                    replace(&mut bytes, old, new);
                }
                bytes
            }
        }
    }

    /// A text in which ordinary words can be distinguished.
    fn prose(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, stand_in) in &self.ordinary {
            if let Cow::Owned(replaced) = word.replace_all(&text, stand_in.as_str()) {
                text = replaced;
            }
        }
        self.text(&text)
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (old, new) in &self.words {
            if text.contains(old.as_str()) {
                text = text.replace(old.as_str(), new);
            }
        }
        let text = UUID.replace_all(&text, |found: &Captures<'_>| self.disguise.word(&found[0]));
        let text = MAC.replace_all(&text, |found: &Captures<'_>| self.disguise.mac(&found[0]));
        let text = QUERY.replace_all(&text, |found: &Captures<'_>| {
            format!("{}{}", &found[1], self.disguise.word(&found[2]))
        });
        let text = IPV4.replace_all(&text, |found: &Captures<'_>| {
            match found[0].parse::<Ipv4Addr>() {
                Ok(ip) => self.disguise.ip(IpAddr::V4(ip), 32).to_string(),
                Err(_) => found[0].to_owned(),
            }
        });
        let text = IPV6.replace_all(&text, |found: &Captures<'_>| {
            match found[0].parse::<Ipv6Addr>() {
                Ok(ip) => self.disguise.ip(IpAddr::V6(ip), 128).to_string(),
                Err(_) => found[0].to_owned(),
            }
        });
        text.into_owned()
    }
}

fn is_peculiar(word: &str) -> bool {
    // Too long for a pattern is peculiar enough.
    word.len() > LONGEST || word.len() >= PECULIAR && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Replaces every run of bytes by another of the same length.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    if old.is_empty() || old.len() != new.len() {
        return;
    }
    let mut at = 0;
    while let Some(window) = bytes.get_mut(at..at + old.len()) {
        if window == old {
            window.copy_from_slice(new);
            at += old.len();
        } else {
            at += 1;
        }
    }
}
