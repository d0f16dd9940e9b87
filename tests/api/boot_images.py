"""What tests of boot images share: a catalogue with two small OS images, and ways to get at them."""

import json
import subprocess

import requests

from muster import BINARY, quiet_environment

VERSION = "4.20"
BUILD = "420.1.202601-0"
# The suite switches fetching off, see quiet_environment.
WHEN_ASKED = {"MUSTER_IMAGES_FETCH": "when-asked"}


def catalogue(url="https://images.invalid/live.iso", **extra):
    entry = {"openshift_version": VERSION, "url": url, "version": BUILD, **extra}
    return json.dumps([{**entry, "cpu_architecture": arch} for arch in ("x86_64", "s390x")])


def os_images(server, *arguments, expect=0):
    """Runs `muster os-images` on the data of a server."""
    command = [str(BINARY), "os-images", "--data-dir", str(server.data_dir), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**quiet_environment(), **server.env}, timeout=60
    )
    assert done.returncode == expect, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def stock(server, iso, arch="x86_64"):
    return os_images(server, "add", iso, "--version", VERSION, "--arch", arch)


def fetch(url, **options):
    options.setdefault("timeout", 30)
    with requests.Session() as session:
        session.trust_env = False
        return session.request(options.pop("method", "GET"), url, **options)
