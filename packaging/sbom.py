"""A software bill of materials in CycloneDX: every crate that is compiled into the programs."""

import json
import subprocess
import tomllib
import uuid
from datetime import UTC, datetime

PROGRAMS = ["muster-cli", "muster-agent"]
TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]


def document(root, version, epoch):
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    checksums = {(found["name"], found["version"]): found.get("checksum") for found in lock["package"]}
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
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    components = [component(name, found, checksums) for name, found in sorted(packages.items())]
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
