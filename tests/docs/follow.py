"""Runs the commands of the documentation, page by page. See README.md beside this file."""

import base64
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1] / "api")]

import pages  # noqa: E402

# Generous: the machine may be busy.
TIMEOUT = 300
HOSTS = "127.0.0.1 localhost muster.example.com registry.example.com mirror.example.com\n::1 localhost\n"
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJf0h7bdU1W8xwgWQkjJRZVdG0vzFW5kYV5UXTi0Nn7 reader@example.com\n"
KEYFILE = "[connection]\nid=eth0\ntype=ethernet\n\n[ipv4]\nmethod=auto\n"


# Prompts whose answers must not be seen.
SECRETS = {"Password", "The same again", "Pull secret"}


class Failed(Exception):
    """A block did not do what its page says."""


class Page:
    """One page being followed: a folder, a home, an environment and services in the background."""

    def __init__(self, path, material, programs):
        self.path = path
        self.home = Path(tempfile.mkdtemp(prefix="docs-", dir=programs.parent))
        self.folder = self.home / "work"
        shutil.copytree(material, self.folder)
        (self.home / ".ssh").mkdir()
        for name in ("id_rsa.pub", "id_ed25519.pub"):
            (self.home / ".ssh" / name).write_text(SSH_KEY)
        self.state = self.home / ".state"
        self.services = []
        self.password = ""
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "USER": "reader",
            "MUSTER_DATA_DIR": str(self.home / ".local/share/muster"),
            # What a site without internet has; nothing is fetched from anywhere.
            "MUSTER_IMAGES_FETCH": "never",
        }

    def script(self, block):
        """The block with the state that the one before left behind, and leaving its own."""
        resume = f'source {self.state}/variables; cd "$(cat {self.state}/folder)"\n' if self.state.is_dir() else ""
        save = f"trap 'mkdir -p {self.state}; export -p > {self.state}/variables; pwd > {self.state}/folder' EXIT\n"
        return f"set -euo pipefail\n{resume}{'' if block.kind == 'service' else save}{block.text}"

    def run(self, block):
        if block.kind == "service":
            return self.serve(block)
        if block.kind == "terminal":
            return self.converse(block)
        done = subprocess.run(
            ["bash", "-c", self.script(block)],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
        )  # fmt: skip
        if (done.returncode == 0) == (block.kind == "fails"):
            expected = "a failure" if block.kind == "fails" else "success"
            raise Failed(f"status {done.returncode} instead of {expected}:\n{done.stdout[-4000:]}")
        return done.stdout

    def serve(self, block):
        log = self.home / f"service-{len(self.services)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", self.script(block)],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.services.append((process, log))
        deadline = time.monotonic() + TIMEOUT
        while "next step" not in (text := log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"the service does not listen:\n{text[-4000:]}")
            time.sleep(0.1)
        if found := re.search(r"password (\S+)", text):
            self.password = found.group(1)
        return text

    def converse(self, block):
        """Types the answers as their prompts appear."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", self.script(block)], self.environment)
        seen, at, deadline = "", 0, time.monotonic() + TIMEOUT
        answers = list(block.dialogue)
        while True:
            ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                raise Failed(f"it hangs; asked for {answers[:1]}, on the terminal:\n{seen[-3000:]}")
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                chunk = b""
            if not chunk:
                break
            seen += chunk.decode(errors="replace")
            while answers and (found := seen.find(answers[0][0], at)) >= 0:
                prompt, answer = answers.pop(0)
                at = found + len(prompt)
                answer = answer.replace("$PASSWORD", self.password)
                # Echo is switched off after the prompt was written.
                time.sleep(0.3)
                os.write(terminal, (answer + "\n").encode())
        _, status = os.waitpid(process, 0)
        os.close(terminal)
        if os.waitstatus_to_exitcode(status) != 0 or answers:
            raise Failed(f"status {status}, not asked for: {answers}, on the terminal:\n{seen[-3000:]}")
        for prompt, answer in block.dialogue:
            if prompt in SECRETS:
                secret = answer.replace("$PASSWORD", self.password)
                if secret and secret in seen:
                    raise Failed(f"what was typed at {prompt!r} is shown on the terminal")
        return seen

    def end(self):
        for process, log in self.services:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=30)
            if "panicked" in log.read_text(errors="replace"):
                raise Failed(f"the service panicked:\n{log.read_text(errors='replace')[-3000:]}")
        shutil.rmtree(self.home, ignore_errors=True)


def isolate(folder):
    """A loopback of our own, on which the names of the documentation are this machine."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hosts = folder / "hosts"
    hosts.write_text(HOSTS)
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def install(folder):
    """The programs of the documentation under their names."""
    programs = folder / "bin"
    programs.mkdir()
    binary = Path(os.environ["MUSTER_BIN"]).resolve()
    # Copies share their inode with the originals: agents are looked for beside the program.
    (programs / "muster").hardlink_to(binary) if same_device(binary, programs) else shutil.copy2(binary, programs)
    (programs / "muster-agent").symlink_to(binary.with_name("muster-agent"))
    (programs / "aicli").symlink_to(Path(sys.executable).with_name("aicli"))
    return programs


def same_device(a, b):
    return a.stat().st_dev == b.stat().st_dev


def agent(folder):
    """A file that looks like a static agent: no page boots a machine from the images it downloads."""
    path = folder / "bin" / "agents" / "x86_64" / "muster-agent"
    path.parent.mkdir(parents=True)
    elf = bytearray(64)
    elf[:7] = b"\x7fELF\x02\x01\x01"
    elf[18] = 62
    path.write_bytes(bytes(elf))


def gather(folder):
    """What every page finds in its folder, and the registry."""
    import live_iso
    import registry as registries

    material = folder / "material"
    material.mkdir()
    home = folder / "registry"
    home.mkdir()
    registry = registries.Registry(home, port=5000, names=["registry.example.com"]).start()
    pinned = registry.push_release("4.20.3")
    live_iso.make(folder).rename(material / "rhcos-live.iso")
    shutil.copy(registry.ca_file, material / "registry-ca.crt")
    entry = {"auth": base64.b64encode(f"{registries.USER}:{registries.PASSWORD}".encode()).decode()}
    names = ["quay.io", "cloud.openshift.com", "registry.redhat.io", "registry.example.com:5000"]
    secret = json.dumps({"auths": {name: entry for name in names}})
    for name in ("pull-secret.json", "openshift_pull.json"):
        (material / name).write_text(secret)
    (material / "release-digest").write_text(pinned + "\n")
    (material / "config.ign").write_text('{"ignition": {"version": "3.4.0"}}\n')
    (material / "eth0.nmconnection").write_text(KEYFILE)
    (material / "install-config.yaml").write_text(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {name: lab}\nplatform: {none: {}}\n"
        "controlPlane: {name: master, replicas: 3}\ncompute: [{name: worker, replicas: 0}]\n"
        f"networking: {{machineNetwork: [{{cidr: 192.168.10.0/24}}]}}\npullSecret: '{secret}'\n"
    )
    return material, registry


def listing(chosen):
    for page in chosen:
        for block in pages.blocks(page):
            how = f"not run: {block.reason}" if block.reason else f"run {block.kind}".strip()
            print(f"{block.place}: {how}")


def main():
    arguments = sys.argv[1:]
    only_list = "--list" in arguments
    names = [Path(name).resolve() for name in arguments if not name.startswith("-")]
    chosen = names or pages.all_pages()
    if only_list:
        return listing(chosen)
    folder = Path(tempfile.mkdtemp(prefix="muster-docs-"))
    failures, run, left_out, registry = [], 0, 0, None
    try:
        isolate(folder)
        programs = install(folder)
        agent(folder)
        material, registry = gather(folder)
        for path in chosen:
            began, page = time.monotonic(), Page(path, material, programs)
            todo = pages.blocks(path)
            try:
                for block in todo:
                    if block.reason:
                        left_out += 1
                        continue
                    run += 1
                    try:
                        page.run(block)
                    except (Failed, subprocess.TimeoutExpired) as failure:
                        raise Failed(f"{block.place}: {block.text}\n{failure}") from None
            except Failed as failure:
                failures.append(str(failure))
            try:
                page.end()
            except Failed as failure:
                failures.append(f"{path.name}: {failure}")
            if todo:
                print(
                    f"{path.relative_to(pages.ROOT)}: {len(todo)} blocks, {time.monotonic() - began:.1f} s", flush=True
                )
    finally:
        if registry:
            registry.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for failure in failures:
        print(f"== {failure}", file=sys.stderr)
    print(f"{run} blocks run, {left_out} left out for a reason, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
