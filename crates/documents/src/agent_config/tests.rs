use crate::{
    agent_config::{AgentConfig, DOCUMENT, Loaded, load},
    findings::Severity,
    install_config::{self, Given, InstallConfig, Method, tests::load_with, types::BareMetal},
};

/// A file with everything in it.
const WHOLE: &str = "
apiVersion: v1alpha1
kind: AgentConfig
metadata: {name: lab, namespace: lab}
rendezvousIP: 192.168.111.80
additionalNTPSources: [time.example.com, 192.168.111.9, 'fd00::9']
bootArtifactsBaseURL: http://192.168.111.1/boot
minimalISO: true
hosts:
- hostname: master-0
  role: master
  rootDeviceHints: {deviceName: /dev/disk/by-path/pci-0, minSizeGigabytes: 100, rotational: false}
  interfaces:
  - {name: eno1, macAddress: '52:54:00:AA:00:01'}
  - {name: eno2, macAddress: '52:54:00:aa:00:02'}
  networkConfig:
    interfaces:
    - {name: eno1, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.168.111.80, prefix-length: 24}]}}
    - {name: eno2, type: ethernet, state: up, ipv6: {enabled: true, address: [{ip: 'fd00::80', prefix-length: 64}]}}
- hostname: worker-0
  role: worker
  interfaces: [{name: eno1, macAddress: '52:54:00:aa:00:03'}]
  bmc: {address: 'redfish://192.0.2.1/redfish/v1/Systems/1', username: admin, password: hidden-word}
- interfaces: [{name: eno1, macAddress: '52:54:00:aa:00:04'}]
";

fn cluster(masters: u8, workers: u8) -> InstallConfig {
    let text = format!(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: lab}}\n\
         pullSecret: '{{\"auths\":{{\"quay.io\":{{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}}}}'\n\
         controlPlane: {{name: master, replicas: {masters}}}\n\
         compute: [{{name: worker, replicas: {workers}}}]\n\
         networking: {{machineNetwork: [{{cidr: 192.168.111.0/24}}]}}\nplatform: {{none: {{}}}}\n"
    );
    let given = Given {
        method: Method::Agent,
        ..Given::default()
    };
    match load_with(&text, given) {
        Ok(loaded) => loaded.config,
        Err(report) => panic!("{report}"),
    }
}

fn read(text: &str, cluster: Option<&InstallConfig>) -> Result<Loaded, String> {
    load("agent-config.yaml", text.as_bytes(), cluster).map_err(|report| report.to_string())
}

#[test]
fn everything_that_can_be_said_is_understood() {
    let Loaded { config, report } = read(WHOLE, None).unwrap();
    assert_eq!(report.findings(), []);
    assert_eq!(config.api_version, "v1beta1", "the older form is the same");
    assert_eq!(config.hosts.len(), 3);
    let addresses: Vec<String> = config.hosts[0]
        .addresses()
        .map(|address| address.to_string())
        .collect();
    assert_eq!(addresses, ["192.168.111.80", "fd00::80"]);
    let hints = config.hosts[0].root_device_hints.as_ref().unwrap();
    assert_eq!(hints.min_size_gigabytes, 100);
    // What is written out is read as the same.
    let text = serde_json::to_string(&config).unwrap();
    let again = read(&text, None).unwrap().config;
    assert_eq!(again, config);
    assert!(!format!("{config:?}").contains("hidden-word"));
    let least = read("apiVersion: v1beta1\n", None).unwrap().config;
    let plain = AgentConfig {
        api_version: "v1beta1".to_owned(),
        ..AgentConfig::default()
    };
    assert_eq!(least, plain);
}

/// What is written instead of what, where that is reported, and by which rule.
#[rustfmt::skip]
const BROKEN: &[(&str, &str, &str, &str)] = &[
    ("apiVersion: v1alpha1", "apiVersion: v1", ":2:13:", "[api-version]"),
    ("apiVersion: v1alpha1", "", ":1:1:", "[api-version]"),
    ("kind: AgentConfig", "kinds: AgentConfig", ":3:1:", "[unknown-field]"),
    ("kind: AgentConfig", "kind: 7", ":3:7:", "[type]"),
    ("kind: AgentConfig", "kind: true", ":3:7:", "[type]"),
    ("kind: AgentConfig", "kind: [AgentConfig]", ":3:1:", "[type]"),
    // The reference takes this form of an address, and then no machine is recognised by it.
    (SECOND, "'5254.00aa.0002'", ":15:30:", "[host-cards]"),
    ("rendezvousIP: 192.168.111.80", "rendezvousIP: here", ":5:15:", "[type]"),
    ("'fd00::9'", "http://time", ":6:57:", "[time-sources]"),
    ("http://192.168.111.1/boot", "192.168.111.1/boot", ":7:23:", "[artifacts-url]"),
    ("bootArtifactsBaseURL: http://192.168.111.1/boot", "", ":8:13:", "[minimal-image]"),
    ("role: worker", "role: infra", ":21:9:", "[allowed-word]"),
    (SECOND, "'52:54:00:aa:00'", ":15:30:", "[host-cards]"),
    (SECOND, "'01:00:5e:00:00:01'", ":15:30:", "[host-cards]"),
    (SECOND, "''", ":15:", "[host-cards]"),
    (SECOND, "'52-54-00-aa-00-01'", ":15:30:", "[host-cards]"),
    ("hostname: worker-0", "hostname: ../worker", ":20:13:", "[host-names]"),
    ("hostname: worker-0", "hostname: master-0", ":20:13:", "[host-names]"),
    ("{name: eno2, macAddress", "{name: eno3, macAddress", ":15:12:", "[card-names]"),
    ("/dev/disk/by-path/pci-0", "/dev/disk/by-id/x", ":12:33:", "[root-device]"),
    ("rotational: false", "wwnWithExtension: '0x5'", ":12:", "[wwn-extension]"),
    ("mtu: 9000", "mtu: '9000'", ":16:3:", "[network-config]"),
    ("role: master", "role: worker", ":5:15:", "[rendezvous-host]"),
    ("- interfaces: [{name: eno1, macAddress: '52:54:00:aa:00:04'}]", "- hostname: bare", ":24:3:", "[host-cards]"),
];
const SECOND: &str = "'52:54:00:aa:00:02'";

#[test]
fn every_problem_is_reported_with_place_rule_and_fix() {
    for (from, to, place, rule) in BROKEN {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let reported = match read(&text, None) {
            Err(reported) => reported,
            Ok(loaded) => loaded.report.to_string(),
        };
        let lines: Vec<&str> = reported.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].contains(place) && lines[0].ends_with(rule),
            "{to}: {place} {rule} expected, but\n{reported}"
        );
        assert!(lines[1].starts_with("  help: "), "{reported}");
    }
    let reported = read("", None).unwrap_err();
    assert!(
        reported.contains("muster explain agent-config"),
        "{reported}"
    );
    let reported = read("- a list", None).unwrap_err();
    assert!(reported.contains("is this an agent-config?"), "{reported}");
}

#[test]
fn any_text_is_a_kind() {
    for kind in ["Other", "'7'", "''"] {
        let text = WHOLE.replace("kind: AgentConfig", &format!("kind: {kind}"));
        assert!(read(&text, None).is_ok(), "{kind}");
    }
}

#[test]
fn a_card_that_only_a_bond_speaks_of_is_known() {
    let text = WHOLE.replace(
        "{name: eno2, type: ethernet, state: up,",
        "{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno2]}, state: up,",
    );
    assert_ne!(text, WHOLE);
    assert_eq!(read(&text, None).unwrap().report.findings(), []);
}

#[test]
fn machines_are_counted_against_the_cluster() {
    let count = |masters, workers| match read(WHOLE, Some(&cluster(masters, workers))) {
        Ok(loaded) => loaded.report,
        Err(reported) => panic!("{reported}"),
    };
    let report = count(3, 2);
    assert_eq!(report.count(Severity::Warning), 2, "{report}");
    assert!(
        report
            .to_string()
            .contains("2 of 3 machines that become master")
    );
    let reported = read(WHOLE, Some(&cluster(1, 0))).unwrap_err();
    assert!(
        reported.contains("1 machines are worker, but the install-config wants 0"),
        "{reported}"
    );
    assert!(reported.contains("1 more machines are named"), "{reported}");
}

#[test]
fn machines_in_both_files_are_reported() {
    let mut cluster = cluster(3, 2);
    let metal = BareMetal {
        hosts: vec![install_config::types::Host::default()],
        ..BareMetal::default()
    };
    cluster.platform.baremetal = Some(metal);
    let reported = read(WHOLE, Some(&cluster)).unwrap().report.to_string();
    assert!(reported.contains("[hosts-twice]"), "{reported}");
}

#[test]
fn rules_are_about_fields_that_exist() {
    let mut fields = Vec::new();
    DOCUMENT.each_field(&mut |path, _| fields.push(path.replace("[]", "")));
    for summary in (DOCUMENT.rule_summaries)() {
        assert!(
            fields.iter().any(|field| field == summary.path),
            "{summary:?}"
        );
    }
}

#[test]
fn fields_and_rules_are_explained_in_words() {
    assert!(DOCUMENT.explain(None).unwrap().contains("rendezvousIP"));
    let reported = DOCUMENT.explain(Some("hosts.interfaces")).unwrap();
    assert!(
        reported.contains("macAddress") && reported.contains("host-cards"),
        "{reported}"
    );
    assert!(
        DOCUMENT
            .explain(Some("rendezvusIP"))
            .unwrap_err()
            .contains("did you mean")
    );
    assert!(
        DOCUMENT
            .page()
            .contains("| `hosts[].rootDeviceHints.wwn` |")
    );
}

/// A machine with a static address.
fn fixed(name: &str, card: u8, ip: &str) -> String {
    format!(
        "- hostname: {name}\n  interfaces: [{{name: eno1, macAddress: '52:54:00:aa:01:{card:02}'}}]\n  \
         networkConfig: {{interfaces: [{{name: eno1, type: ethernet, state: up, ipv4: {{enabled: true, \
         address: [{{ip: {ip}, prefix-length: 24}}]}}}}]}}\n"
    )
}

fn meeting_at(ip: &str, hosts: &str) -> String {
    format!(
        "apiVersion: v1beta1\nkind: AgentConfig\nmetadata: {{name: lab}}\nrendezvousIP: {ip}\nhosts:\n{hosts}"
    )
}

#[test]
fn the_meeting_point_is_an_address_of_a_machine_in_a_machine_network() {
    let three: String = (1..=3)
        .map(|n| fixed(&format!("node-{n}"), n, &format!("192.168.111.{n}")))
        .collect();
    let config = cluster(3, 0);
    let read = |ip: &str, hosts: &str| read(&meeting_at(ip, hosts), Some(&config));
    assert_eq!(read("192.168.111.2", &three).unwrap().report.findings(), []);
    let outside = read("10.9.8.7", &three).unwrap_err();
    assert!(outside.contains("[rendezvous-network]"), "{outside}");
    assert!(outside.contains("192.168.111.0/24"), "{outside}");
    let nobodys = read("192.168.111.77", &three).unwrap_err();
    assert!(nobodys.contains("[rendezvous-owner]"), "{nobodys}");
    let some = fixed("node-1", 1, "192.168.111.1");
    let by_dhcp = read("192.168.111.77", &some).unwrap().report;
    let rules: Vec<_> = by_dhcp
        .findings()
        .iter()
        .map(|finding| finding.rule)
        .collect();
    assert!(rules.contains(&"rendezvous-owner"), "{rules:?}");
}
