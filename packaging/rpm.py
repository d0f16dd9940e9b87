"""An RPM package: lead, signature header, header, and a compressed cpio archive.

The layout is that of RPM 4 (documented in rpm's docs/manual/format): a header is an index of tags over
one block of data, big-endian, the first tag naming the whole as its immutable region.
"""

import hashlib
import lzma
import posixpath
import struct

ARCHITECTURES = {"x86_64": 1, "aarch64": 19}
REGULAR, FOLDER = 0o100000, 0o040000
# Types of tags.
INT16, INT32, STRING, BINARY, STRINGS, TRANSLATED = 3, 4, 6, 7, 8, 9
# Flags of files: configuration, which an upgrade does not replace.
CONFIG_NOREPLACE = 1 | 16
# Flags of dependencies.
LESS, EQUAL, RPMLIB = 2, 8, 1 << 24
# When they are needed: before the files are there, and right after.
BEFORE, AFTER = 1 << 9, 1 << 10
# Scripts before and after; tags of their text and of their interpreter.
SCRIPTS = {"pre": (1023, 1085), "post": (1024, 1086), "preun": (1025, 1087), "postun": (1026, 1088)}


def package(tree, architecture, version, about, scripts, level):
    """The bytes of a package; `scripts` by the names of spec files; `level` is that of xz."""
    entries = list(tree)
    # Folders that every system has belong to other packages.
    own = [(path, entry) for path, entry in entries if not entry.is_folder or path in tree.entries]
    payload = cpio(own, tree.epoch)
    packed = lzma.compress(payload, preset=level)
    header = build(63, header_tags(own, tree.epoch, architecture, version, about, scripts, packed, level))
    body = header + packed
    signature = build(
        62,
        [
            (269, STRING, [hashlib.sha1(header).hexdigest()]),
            (273, STRING, [hashlib.sha256(header).hexdigest()]),
            (1000, INT32, [len(body)]),
            (1004, BINARY, hashlib.md5(body).digest()),
            (1007, INT32, [len(payload)]),
        ],
    )
    name = f"{about['name']}-{version}-1".encode()
    lead = struct.pack(">IBBHH66sHH16x", 0xEDABEEDB, 3, 0, 0, ARCHITECTURES[architecture], name, 1, 5)
    return lead + signature + b"\0" * (-len(signature) % 8) + body


def header_tags(own, epoch, architecture, version, about, scripts, packed, level):
    folders = sorted({posixpath.dirname(path) + "/" for path, _ in own})
    sizes = [0 if entry.is_folder else len(entry.content) for _, entry in own]
    digests = ["" if entry.is_folder else hashlib.sha256(entry.content).hexdigest() for _, entry in own]
    count = len(own)
    needs = [
        ("/bin/sh", "", 0),
        # The scripts make the user and its folder.
        ("/usr/bin/getent", "", BEFORE),
        ("/usr/bin/install", "", AFTER),
        ("rpmlib(CompressedFileNames)", "3.0.4-1", RPMLIB | LESS | EQUAL),
        ("rpmlib(FileDigests)", "4.6.0-1", RPMLIB | LESS | EQUAL),
        ("rpmlib(PayloadFilesHavePrefix)", "4.0-1", RPMLIB | LESS | EQUAL),
        ("rpmlib(PayloadIsXz)", "5.2-1", RPMLIB | LESS | EQUAL),
        ("shadow-utils", "", BEFORE),
    ]
    tags = [
        (100, STRINGS, ["C"]),
        (1000, STRING, [about["name"]]),
        (1001, STRING, [version]),
        (1002, STRING, ["1"]),
        (1004, TRANSLATED, [about["summary"]]),
        (1005, TRANSLATED, [about["description"]]),
        (1006, INT32, [epoch]),
        (1007, STRING, ["localhost"]),
        (1009, INT32, [sum(sizes)]),
        (1014, STRING, [about["license"]]),
        (1016, TRANSLATED, ["System Environment/Daemons"]),
        (1020, STRING, [about["url"]]),
        (1021, STRING, ["linux"]),
        (1022, STRING, [architecture]),
        (1028, INT32, sizes),
        (1030, INT16, [(FOLDER if entry.is_folder else REGULAR) | entry.mode for _, entry in own]),
        (1033, INT16, [0] * count),
        (1034, INT32, [epoch] * count),
        (1035, STRINGS, digests),
        (1036, STRINGS, [""] * count),
        (1037, INT32, [CONFIG_NOREPLACE if entry.config else 0 for _, entry in own]),
        (1039, STRINGS, ["root"] * count),
        (1040, STRINGS, ["root"] * count),
        (1044, STRING, [f"{about['name']}-{version}-1.src.rpm"]),
        (1045, INT32, [0xFFFFFFFF] * count),
        (1047, STRINGS, [about["name"]]),
        (1048, INT32, [flags for _, _, flags in needs]),
        (1049, STRINGS, [name for name, _, _ in needs]),
        (1050, STRINGS, [least for _, least, _ in needs]),
        (1095, INT32, [1] * count),
        (1096, INT32, list(range(1, count + 1))),
        (1097, STRINGS, [""] * count),
        (1112, INT32, [EQUAL]),
        (1113, STRINGS, [f"{version}-1"]),
        (1116, INT32, [folders.index(posixpath.dirname(path) + "/") for path, _ in own]),
        (1117, STRINGS, [posixpath.basename(path) for path, _ in own]),
        (1118, STRINGS, folders),
        (1124, STRING, ["cpio"]),
        (1125, STRING, ["xz"]),
        (1126, STRING, [str(level)]),
        (5011, INT32, [8]),
        (5062, STRING, ["utf-8"]),
        (5092, STRINGS, [hashlib.sha256(packed).hexdigest()]),
        (5093, INT32, [8]),
    ]
    for name, text in scripts.items():
        script, interpreter = SCRIPTS[name]
        tags += [(script, STRING, [text]), (interpreter, STRING, ["/bin/sh"])]
    return sorted(tags)


def build(region, tags):
    """A header: every tag's values in one block, the region's trailer at its end."""
    index, data = [], b""
    for tag, kind, values in tags:
        if kind in (INT16, INT32):
            width, letter = (2, "H") if kind == INT16 else (4, "I")
            data += b"\0" * (-len(data) % width)
            content = struct.pack(f">{len(values)}{letter}", *values)
        elif kind == BINARY:
            content = values
        else:
            content = b"".join(value.encode() + b"\0" for value in values)
        index.append((tag, kind, len(data), len(values)))
        data += content
    count = len(index) + 1
    index.insert(0, (region, BINARY, len(data), 16))
    data += struct.pack(">IIiI", region, BINARY, -16 * count, 16)
    head = struct.pack(">IIII", 0x8EADE801, 0, count, len(data))
    return head + b"".join(struct.pack(">IIII", *entry) for entry in index) + data


def cpio(own, epoch):
    """An archive of the kind `newc`."""
    out = bytearray()

    def add(name, mode, content, inode, links=1):
        name = name.encode() + b"\0"
        fields = [inode, mode, 0, 0, links, epoch, len(content), 0, 0, 0, 0, len(name), 0]
        out.extend(b"070701" + b"".join(b"%08x" % field for field in fields) + name)
        out.extend(b"\0" * (-len(out) % 4))
        out.extend(content)
        out.extend(b"\0" * (-len(out) % 4))

    for inode, (path, entry) in enumerate(own, 1):
        mode = (FOLDER if entry.is_folder else REGULAR) | entry.mode
        add("." + path, mode, entry.content or b"", inode, 2 if entry.is_folder else 1)
    add("TRAILER!!!", 0, b"", 0)
    return bytes(out)
