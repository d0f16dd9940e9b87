"""The server in a container: Debian's podman, without rights, with a read-only root.

`tests/run-container` names the archive to run in MUSTER_CONTAINER; the tests that share a server then
run against it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from muster import ROOT, Server, eventually, quiet_environment

ARCHIVE = os.environ.get("MUSTER_CONTAINER")
ROOTLESS = str(ROOT / "tests" / "rootless")
IMAGES = ["muster", "muster-image-service", "muster-ui"]


class Podman:
    """A user's own images and containers, gone at the end."""

    def __init__(self):
        # Not below pytest's directories: those are closed to the user who runs podman.
        self.home = Path(tempfile.mkdtemp(prefix="muster-podman-"))
        self.home.chmod(0o755)
        archive = self.home / "images.tar"
        shutil.copyfile(ARCHIVE, archive)
        self.images = self.load(archive)
        archive.unlink()

    def load(self, archive):
        """Loads an archive of ours; returns the names of its images without and with registry and tag."""
        loaded = self.run("podman", "load", "--quiet", "--input", str(archive))
        names = [line.split("image: ")[1] for line in loaded.splitlines() if "image: " in line]
        images = {name.split("/")[-1].split(":")[0]: name for name in names}
        assert sorted(images) == IMAGES, loaded
        return images

    def run(self, *command, ok=True, timeout=120):
        done = subprocess.run(
            [ROOTLESS, str(self.home), *command],
            env=quiet_environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not ok or done.returncode == 0, f"{command}: {done.stderr[-3000:]}"
        return done.stdout

    def remove(self):
        self.run("podman", "pod", "rm", "--all", "--force", ok=False)
        self.run("podman", "rm", "--all", "--force", "--time", "1", ok=False)
        # Ends the process that keeps the user's namespaces.
        self.run("podman", "system", "migrate", ok=False)
        # Files of other ids of the range are theirs alone, and root's.
        shutil.rmtree(self.home, ignore_errors=True)


class Container(Server):
    """`muster serve` in a container, on the network of this machine."""

    def __init__(self, work_dir, podman, image=None, **options):
        super().__init__(work_dir, **options)
        self.podman = podman
        self.image = image or podman.images["muster"]

    def command(self):
        variables = [f"--env={name}={value}" for name, value in {**self.env, "MUSTER_IMAGES_FETCH": "never"}.items()]
        run = ["podman", "run", "--rm", "--read-only", "--network=host", "--cap-drop=all", *variables]
        return [ROOTLESS, str(self.podman.home), *run, self.image, *self.words("/data")]


def play(podman, files, pod):
    """Starts the pod of some files as the reference's README does; returns what ends it."""
    # With a way to servers of the test, which listen on loopback: 10.0.2.2.
    podman.run("podman", "kube", "play", "--network=slirp4netns:allow_host_loopback=true", *files)
    states = "{{range .Containers}}{{.State}} {{end}}"
    eventually(
        lambda: "created" not in podman.run("podman", "pod", "inspect", pod, "--format", states),
        f"the containers of {pod}",
    )
    return lambda: podman.run("podman", "pod", "rm", "--force", "--time", "5", pod)
