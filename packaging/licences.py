"""The licences of everything that is compiled into the programs or bundled into the web page, with their texts."""

import functools
import re

import sbom

TEXT = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
HEAD = "Muster contains the following software of others. Their licences, with the texts they come with, follow.\n"


@functools.cache
def document(root):
    parts = [*crates(root), *npm(root)]
    lines = [f"{name} {version}: {licence}" for name, version, licence, _ in parts]
    # Most crates have one of a few texts.
    holders = {}
    for name, version, _, folder in parts:
        for file, text in texts(folder):
            holders.setdefault(text, []).append(f"{name} {version} ({file})")
    blocks = sorted(f"{', '.join(names)}\n\n{text}\n" for text, names in holders.items())
    return f"\n{'=' * 80}\n".join([HEAD + "\n" + "\n".join(lines), *blocks])


def crates(root):
    """Name, version, licence and folder of each crate that is not ours."""
    packages, _ = sbom.crates(root)
    for _, found in sorted(packages.items()):
        if found["source"]:
            folder = (root / found["manifest_path"]).parent
            yield found["name"], found["version"], (found["license"] or "see its text").replace("/", " OR "), folder


def npm(root):
    for found in sbom.npm_packages(root):
        folder = root / "web/node_modules" / found["name"]
        if not folder.is_dir():
            raise SystemExit(f"{folder} is missing: scripts/build-web installs it")
        yield found["name"], found["version"], found["license"], folder


def texts(folder):
    for file in sorted(folder.iterdir()):
        if file.is_file() and TEXT.match(file.name):
            lines = file.read_text(errors="replace").splitlines()
            yield file.name, "\n".join(line.rstrip() for line in lines).strip()
