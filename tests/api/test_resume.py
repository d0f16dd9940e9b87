"""A power cut in the middle of an installation: it goes on afterwards, and the clocks still run."""

import pytest

from machines import BOOTSTRAP_STAGES, MASTER_STAGES, Fleet, Machine
from muster import eventually
from test_storage import SEALING_KEY

INSTALLING = {"DUMMY_IGNITION": "true"}


def power_cut(server, fleet):
    """Kills the server, starts it again and lets the fleet talk to its new port."""
    server.kill()
    server.start()
    fleet.api.url = server.url


def report_all(fleet, begin=None, end=None):
    """Every machine goes through these of its stages."""
    hosts = [(machine, machine.state()) for machine in fleet.machines]
    for machine, host in sorted(hosts, key=lambda pair: pair[1].get("bootstrap", False)):
        stages = BOOTSTRAP_STAGES if host.get("bootstrap") else MASTER_STAGES
        for stage in stages[begin:end]:
            machine.progress(stage)


def test_an_installation_survives_a_power_cut_at_every_turn(servers):
    server = servers("resume", env=INSTALLING).start()
    fleet = Fleet.compact(server.api(), "resumed")
    power_cut(server, fleet)
    fleet.drive_until("ready")
    fleet.api.post(f"{fleet.path}/actions/install", expect=202)
    # Right after the answer: the files of the installation are not made yet, or just being made.
    power_cut(server, fleet)
    fleet.drive_until("installing")
    for machine in fleet.machines:
        machine.work()
    report_all(fleet, end=2)
    power_cut(server, fleet)
    assert fleet.state()["status"] == "installing"
    report_all(fleet, begin=2)
    eventually(lambda: fleet.state()["status"] == "finalizing", "finalizing")
    power_cut(server, fleet)
    fleet.finalize()
    assert fleet.state()["progress"]["total_percentage"] == 100


def test_the_clock_of_a_stage_runs_on_through_a_power_cut(servers):
    env = {**INSTALLING, "HOST_STAGE_INSTALLING_TIMEOUT": "6s"}
    server = servers("resume-clock", env=env).start()
    fleet = Fleet.compact(server.api(), "slow")
    fleet.drive_until("ready")
    fleet.api.post(f"{fleet.path}/actions/install", expect=202)
    fleet.drive_until("installing")
    for machine in fleet.machines:
        machine.work()
    slow = fleet.machines[0]
    slow.progress("Starting installation")
    slow.progress("Installing")
    power_cut(server, fleet)
    # No more reports arrive: only the timer can notice. Reading does not trigger it.
    host = eventually(
        lambda: [event for event in fleet.api.events(host_id=slow.id) if "error" in event["message"]],
        "the stage to time out",
        timeout=25,
    )
    assert host and slow.state()["status"] == "error"


def test_an_unbound_host_that_went_silent_is_found_after_a_power_cut(servers):
    server = servers("resume-unbound", env={"HOST_MAX_DISCONNECTION_TIME": "6s"}).start()
    api = server.api()
    infra_env = api.new_infra_env("pool")["id"]
    machine = Machine(api, infra_env)
    machine.register()
    machine.send_inventory()
    machine.wait_for("known-unbound", "insufficient-unbound")
    server.kill()
    server.start()
    api.url = server.url
    query = {"infra_env_id": infra_env}
    eventually(
        lambda: [event for event in api.events(**query) if "disconnected-unbound" in event["message"]],
        "the timer of the unbound host",
        timeout=25,
    )


@pytest.mark.timeout(180)
def test_another_replica_takes_over_the_clocks_of_one_that_died(servers, postgres):
    env = {**INSTALLING, "HOST_MAX_DISCONNECTION_TIME": "10s", "MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    args = ["--database", postgres.new_database()]
    one, two = (servers(f"takeover-{n}", args=args, env=env).start() for n in (1, 2))
    fleet = Fleet.compact(one.api(), "orphaned")
    fleet.drive_until("ready")
    one.kill()
    # The hosts were known to the dead one only; nothing asks the other one to look at them.
    eventually(
        lambda: [e for e in two.api().events(infra_env_id=fleet.infra_env_id) if "to disconnected" in e["message"]],
        "the silent hosts to be noticed by the other replica",
        timeout=90,
        every=1.0,
    )
