"""A software bill of materials in CycloneDX: every crate that is compiled into the programs, and every npm
package that is bundled into the web page."""

import base64
import functools
import json
import subprocess
import tomllib
import uuid
from datetime import UTC, datetime

PROGRAMS = ["muster-cli", "muster-agent"]
TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]


# The crate that the web page is compiled into.
HOLDS_PAGE = "muster-service"


def document(root, version, epoch):
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    checksums = {(found["name"], found["version"]): found.get("checksum") for found in lock["package"]}
    packages, edges = crates(root)
    page = npm_packages(root)
    edges = {name: set(needs) for name, needs in edges.items()}
    for name, found in packages.items():
        if found["name"] == HOLDS_PAGE:
            edges[name].update(npm_reference(part) for part in page)
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    components = [component(name, found, checksums) for name, found in sorted(packages.items())]
    components += [npm_component(found) for found in page]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {"type": "application", "bom-ref": "muster", "name": "muster", "version": version},
        },
        "components": components,
        "dependencies": [{"ref": name, "dependsOn": sorted(needs)} for name, needs in sorted(edges.items())],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    return json.dumps({**content, "serialNumber": f"urn:uuid:{serial}"}, indent=1) + "\n"


@functools.cache
def crates(root):
    """The packages of the programs as cargo describes them, and what each needs, by reference."""
    packages = {}
    edges = {}
    for target in TARGETS:
        metadata = cargo_metadata(root, target)
        by_id = {found["id"]: found for found in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        waiting = [key for key, found in by_id.items() if found["name"] in PROGRAMS]
        while waiting:
            key = waiting.pop()
            found = by_id[key]
            name = reference(found)
            known = name in packages
            packages[name] = found
            needs = [dep["pkg"] for dep in nodes[key]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
            edges.setdefault(name, set()).update(reference(by_id[need]) for need in needs)
            if not known:
                waiting += needs
    return packages, edges


def npm_packages(root):
    """What the web page needs when it runs, by the lock file; tools that only build it are left out."""
    lock = json.loads((root / "web/package-lock.json").read_text())
    packages = []
    for path, found in sorted(lock["packages"].items()):
        if path and not found.get("dev"):
            packages.append({**found, "name": path.rpartition("node_modules/")[2]})
    return packages


def npm_reference(found):
    return f"pkg:npm/{found['name'].replace('@', '%40')}@{found['version']}"


def npm_component(found):
    name = npm_reference(found)
    algorithm, _, digest = found["integrity"].partition("-")
    return {
        "type": "library",
        "bom-ref": name,
        "name": found["name"],
        "version": found["version"],
        "purl": name,
        "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
        "licenses": [{"expression": found["license"]}],
    }


def cargo_metadata(root, target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)


def reference(found):
    return f"pkg:cargo/{found['name']}@{found['version']}"


def component(name, found, checksums):
    entry = {
        "type": "library",
        "bom-ref": name,
        "name": found["name"],
        "version": found["version"],
        "purl": name,
    }
    checksum = checksums.get((found["name"], found["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if found.get("license"):
        # Cargo allowed a slash for "or"; the standard does not.
        expression = found["license"].replace("/", " OR ")
        entry["licenses"] = [{"expression": expression}]
    return entry
