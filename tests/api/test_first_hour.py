"""What a new user meets in the first hour: refusals that help, names of one spelling, nothing of the reference."""

import datetime
import http.server
import json
import os
import re
import ssl
import subprocess
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from boot_images import VERSION, catalogue, fetch, os_images, stock
from machines import Machine, resolutions
from muster import BINARY, ROOT, eventually, pull_secret, quiet_environment
from test_storage import SEALING_KEY


def run(*arguments, expect=0, prefix=(), **variables):
    done = subprocess.run(
        [*prefix, str(BINARY), *map(str, arguments)],
        env={**quiet_environment(), **variables}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert expect in (None, done.returncode), f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if expect else done.stdout


# --- OS images ----------------------------------------------------------------------------------


def test_an_image_that_is_here_with_another_digest_is_not_taken_for_the_right_one(servers, iso):
    server = servers("other-digest", env={"OS_IMAGES": catalogue()})
    stock(server, iso)
    refusal = os_images(server, "fetch", "--release", VERSION, "--sha256", "00" * 32, expect=1)
    assert "00" * 32 in refusal and "muster os-images remove" in refusal
    assert "removed" in os_images(server, "remove", "--release", VERSION)
    assert "ready" not in os_images(server, "list")


def test_commands_about_os_images_answer_programs(servers, iso):
    server = servers("json-images", env={"OS_IMAGES": catalogue()})
    command = [str(BINARY), "os-images", "--data-dir", str(server.data_dir)]
    environment = {**quiet_environment(), **server.env}

    def asked(*words, expect=0):
        done = subprocess.run([*command, *words, "-o", "json"], capture_output=True, text=True, env=environment)
        assert done.returncode == expect, done.stderr
        return json.loads(done.stdout)

    added = asked("add", str(iso), "--release", VERSION)
    assert added["result"] == "added" and os.path.exists(added["file"]) and len(added["sha256"]) == 64
    assert asked("fetch", "--release", VERSION)["result"] == "already here"
    (sound,) = asked("verify")
    assert sound["result"] == "sound" and sound["sha256"] == added["sha256"]
    with open(added["file"], "r+b") as file:
        file.seek(1_000_000)
        file.write(b"\xff\x00\xff\x00")
    (broken,) = asked("verify", expect=1)
    assert broken["result"] == "broken" and "SHA-256" in broken["reason"]
    assert asked("remove", "--release", VERSION)["result"] == "removed"
    assert asked("list", "--here") == []


def test_an_event_does_not_call_an_image_ready_that_is_not_here(servers, iso):
    server = servers("eventful", env={"OS_IMAGES": catalogue()}).start()
    api = server.api()

    def event_messages(name):
        infra_env = api.new_infra_env(name, openshift_version=VERSION)
        events = api.events(infra_env_id=infra_env["id"])
        return [event["message"] for event in events if event["name"] == "image_info_updated"][-1]

    before = event_messages("early")
    assert "ready for download" not in before and "cannot be downloaded yet" in before, before
    stock(server, iso)
    assert "is ready for download" in event_messages("late")


def test_hosts_boot_the_release_of_their_cluster_and_never_a_pre_release_unasked(api):
    cluster = api.new_cluster("settled", openshift_version="4.19")
    body = {"name": "following", "pull_secret": pull_secret(), "cluster_id": cluster["id"]}
    bound = api.post("/v2/infra-envs", body).json()
    assert bound["openshift_version"].startswith("4.19"), bound["openshift_version"]
    alone = api.post("/v2/infra-envs", {"name": "alone", "pull_secret": pull_secret()}).json()
    versions = api.get("/v2/openshift-versions").json()
    (level,) = {
        entry["support_level"]
        for name, entry in versions.items()
        if name.split("-")[0].startswith(alone["openshift_version"])
    } or {"unknown"}
    assert level == "production", alone["openshift_version"]
    for made in (bound, alone):
        api.delete(f"/v2/infra-envs/{made['id']}")
    api.delete(f"/v2/clusters/{cluster['id']}")


# --- hosts --------------------------------------------------------------------------------------


def test_a_host_is_called_insufficient_for_what_holds_it_back_only(api):
    cluster = api.new_cluster("blocked", user_managed_networking=True)
    infra_env = api.new_infra_env("blocked-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 8, "blocked-8")
    machine.register()
    machine.send_inventory()
    answered = set()

    def answer():
        for step in machine.poll()["instructions"]:
            if step["step_type"] == "domain-resolution":
                found = resolutions(json.loads(step["args"][0]), machine.ip)
                for entry in found["resolutions"]:
                    entry.update(ipv4_addresses=[], ipv6_addresses=[], cnames=None)
                machine.reply("domain-resolution", found, step_id=step["step_id"])
            elif step["step_type"] == "ntp-synchronizer":
                sources = [{"source_name": "clock.example.com", "source_state": "unreachable"}]
                machine.reply("ntp-synchronizer", {"ntp_sources": sources}, step_id=step["step_id"])
            answered.add(step["step_type"])
        return {"domain-resolution", "ntp-synchronizer"} <= answered

    eventually(answer, "the questions about names and time")
    host = machine.wait_for("insufficient")
    checks = {
        check["id"]: check["status"] for group in json.loads(host["validations_info"]).values() for check in group
    }
    assert checks["ntp-synced"] == "failure" and checks["api-domain-name-resolved-correctly"] == "failure"
    assert "api." in host["status_info"], host["status_info"]
    assert not re.search("NTP|time source|clock", host["status_info"]), host["status_info"]
    api.delete(f"/v2/clusters/{cluster['id']}")


def test_nothing_of_the_reference_is_named_by_default(servers, iso):
    """No image of the installer, the agent or the controller; hosts run what the boot image brings."""
    server = servers("own", env={"OS_IMAGES": catalogue(), "AGENT_DOCKER_IMAGE": ""})
    agents = server.work_dir / "agents" / "x86_64"
    agents.mkdir(parents=True)
    elf = bytearray(64)
    elf[:7], elf[18] = b"\x7fELF\x02\x01\x01", 62
    (agents / "muster-agent").write_bytes(bytes(elf))
    server.env["MUSTER_IMAGES_AGENT_DIR"] = str(agents.parent)
    server.start()
    stock(server, iso)
    api = server.api()
    infra_env = api.new_infra_env("own-env", openshift_version=VERSION)
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    named = api.get(path, params={"file_name": "discovery.ign"}).text
    named += json.dumps(api.get("/v2/component-versions").json())
    named += fetch(infra_env["download_url"]).content.decode(errors="ignore")
    named += run("serve", "--print-config", MUSTER_DATA_DIR=str(server.data_dir))
    assert not re.search(r"quay\.io/(edge-infrastructure|ocpmetal)|assisted-installer(-agent|-controller)?:", named)


# --- certificates -------------------------------------------------------------------------------


@pytest.fixture
def expired(tmp_path):
    """A service whose certificate has expired, and the CA that signed it."""
    now = datetime.datetime.now(datetime.timezone.utc)

    def certificate(subject, issuer, key, signer, is_ca, until):
        builder = x509.CertificateBuilder(
            issuer_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]),
            subject_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]),
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - datetime.timedelta(days=30),
            not_valid_after=until,
        ).add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        if not is_ca:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    later, earlier = now + datetime.timedelta(days=30), now - datetime.timedelta(days=1)
    (tmp_path / "ca.crt").write_bytes(certificate("authority", "authority", ca_key, ca_key, True, later))
    (tmp_path / "server.crt").write_bytes(certificate("localhost", "authority", key, ca_key, False, earlier))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "server.key").write_bytes(key.private_bytes(*plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_port}", tmp_path / "ca.crt"
    server.shutdown()


def test_an_expired_certificate_ends_a_watch_instead_of_being_tried_for_ever(expired):
    url, ca = expired
    refusal = run("watch", "--url", url, "--cacert", ca, expect=1)
    assert "expired" in refusal, refusal


# --- the command line ---------------------------------------------------------------------------

# Commands without `-o json`, and why.
OTHERWISE = {
    "it runs until it is stopped": {"serve", "image-based serve"},
    "it talks with a person; --print-token is for programs": {"login", "logout", "hash-password"},
    "what it prints is a file for another program": {
        "graph", "agent graph", "coreos print-stream-json", "openapi", "completion", "deploy podman", "deploy kubernetes",
        "iso cat", "iso ignition show", "iso kargs show", "iso network show",
    },
    "it writes the file that it is given, and `iso info -o json` describes it": {
        "iso ignition embed", "iso ignition remove", "iso kargs append", "iso kargs delete", "iso kargs replace",
        "iso kargs reset", "iso network embed", "iso network remove", "iso extract", "iso minimal", "live-iso create",
    },
    "scripts written for the reference look at its exit codes, files and log": {
        "agent create agent-config-template", "agent create cluster-manifests", "agent create image",
        "agent create pxe-files", "agent add-nodes", "agent create config-image",
        "image-based create image-config-template",
        "image-based create image", "image-based create config-template", "image-based create config-image",
        "image-based create config-images", "image-based create seed",
    },
}  # fmt: skip


def leaves(words=()):
    """Every command without commands below it, with its help."""
    text = run(*words, "--help")
    found = re.search(r"^Commands:\n((?:  .*\n|\n)*)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z]\S*)", found.group(1), re.MULTILINE) if found else []
    if not names:
        yield " ".join(words), text
    for name in names:
        if name != "help":
            yield from leaves((*words, name))


def test_every_command_answers_programs_or_has_a_reason_not_to():
    without = {name for name, text in leaves() if "--output <FORMAT>" not in text}
    excused = set().union(*OTHERWISE.values())
    assert without - excused == set(), "commands without -o json"
    assert excused - without == set(), "excused, but they have it"


@pytest.mark.parametrize(
    ("words", "member"),
    [
        (["settings"], "key"),
        (["explain", "states"], "rule"),
        (["explain", "states", "insufficient"], "trigger"),
        (["explain", "validations", "ntp-synced"], "blocks"),
        (["explain", "events"], "severity"),
        (["explain", "steps"], "given"),
        (["explain", "installation"], "steps"),
        (["explain", "parity"], "here"),
    ],
)
def test_tables_are_lists_of_rows_for_programs(words, member):
    rows = json.loads(run(*words, "-o", "json"))
    assert rows and all(member in row for row in rows), rows[:1]
    if words == ["explain", "validations", "ntp-synced"]:
        assert [row["id"] for row in rows] == ["ntp-synced"]
    if words == ["settings"]:
        assert {"key": "server.listen"}.items() <= [row for row in rows if row["key"] == "server.listen"][0].items()


def test_fields_of_files_are_described_for_programs():
    whole = json.loads(run("explain", "install-config", "-o", "json"))
    part = json.loads(run("explain", "install-config", "networking.machineNetwork", "-o", "json"))
    names = [field["field"] for field in part["fields"]]
    assert names and all(name.startswith("networking.machineNetwork") for name in names)
    assert len(whole["fields"]) > 100 > len(part["fields"]) and whole["rules"] and part["rules"]
    assert "did you mean" in run("explain", "install-config", "networkin", "-o", "json", expect=1)


def test_create_prints_what_it_generated_as_json(tmp_path):
    flags = ["--platform", "none", "--name", "lab", "--base-domain", "example.com", "--topology", "compact"]
    flags += ["--product", "okd", "--no-input", "--dir", tmp_path]
    written = json.loads(run("create", "install-config", *flags, "-o", "json"))
    assert written["file"] == str(tmp_path / "install-config.yaml") and "ignition-configs" in written["next"]
    made = json.loads(run("create", "manifests", "--dir", tmp_path, "-o", "json"))
    assert made["release"]["version"].endswith("okd-scos.8") and made["used_up"] == ["install-config.yaml"]
    assert all((tmp_path / path).is_file() for path in made["created"]) and len(made["created"]) > 10
    made = json.loads(run("create", "ignition-configs", "--dir", tmp_path, "-o", "json"))
    assert {"bootstrap.ign", "master.ign", "worker.ign"} <= set(made["created"])


def test_metrics_cover_what_the_service_does_and_stores(servers, tmp_path):
    server = servers("json-service").start()
    api = server.api()
    cluster = api.new_cluster("followed")
    url = ["--url", server.url]
    watch = subprocess.Popen(
        [str(BINARY), "watch", *url, "--cluster", "followed", "-o", "json"],
        env=quiet_environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    first = json.loads(watch.stdout.readline())
    assert first["kind"] == "cluster" and first["body"]["id"] == cluster["id"]
    status = api.cluster(cluster["id"])["status"]
    waited = json.loads(run("wait", "cluster", "followed", "--for", status, *url, "-o", "json"))
    assert (waited["id"], waited["status"]) == (cluster["id"], status)
    copy = tmp_path / "copy.tar"
    of = ["--data-dir", server.data_dir]
    written = json.loads(run("backup", copy, *of, "-o", "json"))
    assert written["path"] == str(copy) and written["bytes"] > 0 and written["files"] > 0
    api.delete(f"/v2/clusters/{cluster['id']}")
    kinds = [json.loads(line)["kind"] for line in watch.stdout]
    assert "deleted" in kinds and watch.wait(timeout=20) == 0
    server.stop()
    restored = json.loads(run("restore", copy, "--data-dir", tmp_path / "restored", "-o", "json"))
    assert restored["files"] == written["files"] and restored["schema"] == written["schema"]
    turned = json.loads(run("keys", "rotate-sealing", *of, "-o", "json"))
    assert turned["secrets"] > 0 and os.path.exists(turned["old_key"])
    moved = json.loads(run("migrate", *of, "--database-to", f"sqlite://{tmp_path}/moved.db", "-o", "json"))
    assert moved["database"]["rows"]["clusters"] >= 0
    # Whatever it finds wrong with the machine that runs the tests.
    checks = json.loads(run("doctor", "--offline", *of, "-o", "json", expect=None))
    assert {"check", "level", "text", "fix"} <= set(checks[0])


def test_a_low_port_without_permission_is_reported_as_such(tmp_path):
    prefix = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"]
    arguments = ["serve", "--listen", "127.0.0.1:80", "--data-dir", tmp_path]
    refusal = run(*arguments, expect=1, prefix=prefix)
    assert "need a permission" in refusal and "another program" not in refusal, refusal


def test_the_reason_why_a_registry_is_not_read_stands_once_in_the_error():
    image = "127.0.0.1:1/ocp/release@sha256:" + "0" * 64
    refusal = run("release", "info", image, expect=1)
    *attempts, error = refusal.splitlines()
    assert all("trying again in" in line for line in attempts), refusal
    assert error.startswith("muster: ") and error.lower().count("connection refused") == 1, error


def test_shells_and_manuals_know_every_command(tmp_path):
    for shell in ("bash", "zsh", "fish"):
        script = run("completion", shell)
        assert "os-images" in script and "wait-for" in script, shell
    subprocess.run(["bash", "-n"], input=run("completion", "bash"), text=True, check=True)
    run("man", tmp_path)
    pages = {path.name for path in tmp_path.iterdir()}
    assert {"muster.1", "muster-os-images-fetch.1", "muster-get.1"} <= pages, sorted(pages)[:10]


def test_terminals_without_colours_get_none(tmp_path):
    """On a terminal of its own, as `script` makes one."""
    bad = tmp_path / "install-config.yaml"
    bad.write_text("apiVersion: v1\nbaseDomian: x\n")

    def shown(**variables):
        environment = {**quiet_environment(), "TERM": "xterm", **variables}
        command = f"{BINARY} check {bad}"
        done = subprocess.run(
            ["script", "--quiet", "--command", command, "/dev/null"],
            env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert "baseDomian" in done.stdout, done.stdout
        return done.stdout

    assert "\x1b[" in shown()
    assert "\x1b[" not in shown(NO_COLOR="1")
    assert "\x1b[" not in shown(TERM="dumb")


def test_the_repository_says_what_a_newcomer_looks_for():
    readme = (ROOT / "README.md").read_text()
    for words in ("What installs today", "docs/pictures/run.svg", "docs/pictures/progress.png", "make release"):
        assert words in readme, words
    for name in ("CHANGELOG.md", "SECURITY.md", "docs/pictures/run.svg", "docs/pictures/progress.png"):
        assert (ROOT / name).stat().st_size > 300, name


def test_the_first_line_of_help_is_a_way_on(servers):
    """In mode users the next step of the banner works as it stands; it used to be answered with 401."""
    server = servers("banner", plain=False, auth="users").start()
    (step,) = re.findall(r"next step +(.*)", server.log())
    assert step.startswith("muster login --url https://") and "--cacert" in step
    password = server.log().split("password ", 1)[1].split()[0]
    words = step.split()[1:]
    done = subprocess.run(
        [str(BINARY), *words, "--user", "admin"],
        env={**quiet_environment(), "HOME": str(server.work_dir)}, input=password + "\n", capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_first_screen_says_whether_hosts_reach_the_service(servers):
    local = servers("local-screen").start()
    assert "hosts        cannot reach it" in local.log() and "server.listen" in local.log()


def test_a_replica_without_users_is_refused_before_it_makes_one_of_its_own(tmp_path, postgres):
    shared = {"MUSTER_DATABASE_URL": postgres.new_database(), "MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    words = ["serve", "--auth", "users", "--listen", "127.0.0.1:0", "--data-dir", tmp_path]
    refusal = run(*words, expect=1, **shared)
    assert "MUSTER_AUTH_USERS" in refusal and "hash-password" in refusal
    assert not list(tmp_path.glob("first-user*"))


def test_one_listener_for_ipv6_and_ipv4_where_the_system_separates_them(tmp_path):
    """In a network of its own, whose default for new sockets is IPv6 alone."""
    script = f"""
        ip link set lo up
        echo 1 >/proc/sys/net/ipv6/bindv6only
        {BINARY} serve --listen '[::]:8090' --plain-http --auth none --data-dir {tmp_path} >{tmp_path}/log 2>&1 &
        for _ in $(seq 100); do
          curl --silent --fail 'http://[::1]:8090/health' >/dev/null && break
          sleep 0.1
        done
        curl --silent --show-error --fail http://127.0.0.1:8090/health
        status=$?
        kill $!; wait
        exit $status
    """
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script],
        env=quiet_environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
