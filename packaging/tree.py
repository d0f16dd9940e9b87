"""A tree of files as it will be installed, independent of the archive it goes into.

Everything is given: owners, modes and one time for all, so that the same input makes the same bytes.
"""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file, or a folder if it has no content. The content of a large file is read when it is written."""

    mode: int
    content: bytes | Path | None = None
    uid: int = 0
    gid: int = 0
    # A file that the administrator may change and an upgrade must keep.
    config: bool = False

    @property
    def is_folder(self):
        return self.content is None


class Tree:
    """Entries by absolute path; folders above an entry are there by themselves."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.entries = {}

    def file(self, path, content, mode=0o644, **more):
        if isinstance(content, Path):
            content = content.read_bytes()
        elif isinstance(content, str):
            content = content.encode()
        self.entries[path] = Entry(mode, content, **more)

    def large_file(self, path, source, mode=0o644):
        self.entries[path] = Entry(mode, source)

    def folder(self, path, mode=0o755, **more):
        self.entries[path] = Entry(mode, None, **more)

    def copy(self):
        tree = Tree(self.epoch)
        tree.entries = dict(self.entries)
        return tree

    def __iter__(self):
        """Path and entry, folders before what is in them."""
        every = dict(self.entries)
        for path in self.entries:
            for parent in Path(path).parents:
                if str(parent) != "/":
                    every.setdefault(str(parent), Entry(0o755))
        return iter(sorted(every.items()))

    def tar(self, prefix=""):
        """The tree as a tar archive with names relative to the root."""
        out = io.BytesIO()
        self.write_tar(out, prefix)
        return out.getvalue()

    def write_tar(self, out, prefix=""):
        """The same, to a file."""
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, entry in self:
                info = tarfile.TarInfo(prefix + path.lstrip("/"))
                info.mode, info.uid, info.gid, info.mtime = entry.mode, entry.uid, entry.gid, self.epoch
                if entry.is_folder:
                    info.type = tarfile.DIRTYPE
                    archive.addfile(info)
                else:
                    add_content(archive, info, entry.content)


def add_content(archive, info, content):
    """A file of an archive: bytes, or what is in another file."""
    if isinstance(content, Path):
        info.size = content.stat().st_size
        with content.open("rb") as source:
            archive.addfile(info, source)
    else:
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
