//! The service on Kubernetes.

use std::net::IpAddr;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use muster_config::{BaseUrl, Parse};

use super::{
    Files, own_image,
    yaml::{entries, quoted},
};

/// What to do with the file.
pub const NEXT: &str = "next: kubectl apply -f DIR/muster.yaml";

/// Manifests for a cluster: one replica with a volume, or several on PostgreSQL and S3.
#[derive(Clone, Debug, Args)]
pub struct Kubernetes {
    /// URL at which hosts reach the service, such as https://muster.example.com
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// What the cluster is
    #[arg(long, value_enum, default_value_t = Platform::Kubernetes)]
    platform: Platform,
    /// Image of the service
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Namespace
    #[arg(long, value_name = "NAME", default_value = "muster")]
    namespace: String,
    /// Several replicas on a PostgreSQL server and an S3 bucket, whose addresses and credentials you
    /// fill into the Secret, with the users who may log in
    #[arg(long)]
    replicated: bool,
}

/// What differs between clusters: how requests come in, and who chooses the user of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Platform {
    /// A Service of type LoadBalancer
    Kubernetes,
    /// A Route, and users of containers as the project's security context constraints give them
    Openshift,
}

impl Platform {
    fn service_type(self) -> &'static str {
        match self {
            Self::Kubernetes => "LoadBalancer",
            Self::Openshift => "ClusterIP",
        }
    }

    /// The group of the volume. OpenShift gives each namespace its own range and refuses others.
    fn volume_group(self) -> &'static str {
        match self {
            Self::Kubernetes => "        fsGroup: 1001\n",
            Self::Openshift => "",
        }
    }
}

impl Kubernetes {
    /// The manifest.
    pub fn files(&self) -> anyhow::Result<Files> {
        let (host, port) = self.reached_at()?;
        let image = self.image.clone().unwrap_or_else(own_image);
        let variables = [
            ("SERVICE_BASE_URL", self.base_url.clone()),
            ("IMAGE_SERVICE_BASE_URL", self.base_url.clone()),
            ("AUTH_TYPE", "users".to_owned()),
        ];
        let mut documents = vec![format!("{HEAD}{}", entries(&variables, 2))];
        documents.push(SERVICE.to_owned());
        match self.platform {
            Platform::Kubernetes => {}
            Platform::Openshift => documents.push(ROUTE.replace("{host}", &quoted(&host))),
        }
        documents.push(if self.replicated { REPLICATED } else { SINGLE }.to_owned());
        let text = documents
            .join("---\n")
            .replace("{container}", CONTAINER)
            .replace("{volume-group}", self.platform.volume_group())
            .replace("{service-type}", self.platform.service_type())
            .replace("{port}", &port.to_string())
            .replace("{image}", &quoted(&image))
            .replace("{namespace}", &self.namespace);
        Ok(vec![("muster.yaml", text)])
    }

    /// Host and port of the URL, if requests to it can arrive at the service.
    fn reached_at(&self) -> anyhow::Result<(String, u16)> {
        let named = || format!("--base-url {}", self.base_url);
        let url = BaseUrl::parse(&self.base_url).with_context(named)?;
        if url.is_plain_http() {
            bail!(
                "{}: the service in these manifests speaks TLS, and agents verify its certificate; \
                 write https://",
                named()
            );
        }
        let reached = url.host_and_port().with_context(named)?;
        let (host, port) = &reached;
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        match self.platform {
            Platform::Openshift if *port != 443 => bail!(
                "{}: routes are reached at port 443; leave the port out",
                named()
            ),
            Platform::Openshift if is_address => bail!(
                "{}: the router finds a route by its host name; give the URL a name, such as \
                 muster.apps.example.com",
                named()
            ),
            Platform::Kubernetes | Platform::Openshift => Ok(reached),
        }
    }
}

const HEAD: &str = "# Made by `muster deploy kubernetes`.
apiVersion: v1
kind: Namespace
metadata:
  name: {namespace}
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: muster-config
  namespace: {namespace}
data:
";

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: muster-api
  namespace: {namespace}
spec:
  type: {service-type}
  selector:
    app: muster
  ports:
    - name: https
      port: {port}
      targetPort: https
";

/// TLS ends in the service, whose certificate agents verify.
const ROUTE: &str = "apiVersion: route.openshift.io/v1
kind: Route
metadata:
  name: muster
  namespace: {namespace}
spec:
  host: {host}
  to:
    kind: Service
    name: muster-api
  port:
    targetPort: https
  tls:
    termination: passthrough
    insecureEdgeTerminationPolicy: None
";

/// The container, in the template of a pod.
const CONTAINER: &str = "      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
{volume-group}        seccompProfile:
          type: RuntimeDefault
      terminationGracePeriodSeconds: 30
      containers:
        - name: service
          image: {image}
          args: [serve]
          ports:
            - name: https
              containerPort: 8090
          startupProbe:
            httpGet: {path: /ready, port: https, scheme: HTTPS}
            periodSeconds: 2
            failureThreshold: 150
          readinessProbe:
            httpGet: {path: /ready, port: https, scheme: HTTPS}
            periodSeconds: 5
          livenessProbe:
            httpGet: {path: /health, port: https, scheme: HTTPS}
            periodSeconds: 20
            timeoutSeconds: 10
          resources:
            requests:
              cpu: 250m
              memory: 256Mi
            limits:
              memory: 2Gi
          securityContext:
            readOnlyRootFilesystem: true
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
";

const SINGLE: &str = "# One replica: its database, files and keys are on a volume. Only one process may use them, so an
# upgrade stops the old pod first.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: muster
  namespace: {namespace}
spec:
  serviceName: muster-api
  replicas: 1
  selector:
    matchLabels:
      app: muster
  template:
    metadata:
      labels:
        app: muster
    spec:
{container}          envFrom:
            - configMapRef:
                name: muster-config
      volumes:
        - name: tmp
          emptyDir: {}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 60Gi
";

const REPLICATED: &str =
    "# Fill in before applying. All replicas need the same keys: the sealing key by
# `openssl rand -base64 32`, the signing key by `openssl ecparam -name prime256v1 -genkey -noout`.
# They need the same users, too: the hash of a password by `muster hash-password`.
apiVersion: v1
kind: Secret
metadata:
  name: muster-secrets
  namespace: {namespace}
stringData:
  MUSTER_DATABASE_URL: postgres://muster:PASSWORD@postgresql.example.com/muster
  MUSTER_DATABASE_SEALING_KEY: \"\"
  EC_PRIVATE_KEY_PEM: \"\"
  MUSTER_AUTH_USERS: '[{\"name\": \"admin\", \"password_hash\": \"\", \"role\": \"admin\"}]'
  MUSTER_STORAGE_URL: s3://muster?endpoint=https://s3.example.com
  AWS_ACCESS_KEY_ID: \"\"
  AWS_SECRET_ACCESS_KEY: \"\"
---
# The certificate that all replicas show, of type kubernetes.io/tls; cert-manager can make and renew
# it. Hosts get ca.crt of it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: muster
  namespace: {namespace}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: muster
  strategy:
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      labels:
        app: muster
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: muster
{container}            - name: tls
              mountPath: /etc/muster/tls
              readOnly: true
          env:
            - name: HTTPS_CERT_FILE
              value: /etc/muster/tls/tls.crt
            - name: HTTPS_KEY_FILE
              value: /etc/muster/tls/tls.key
            - name: SERVICE_CA_CERT_PATH
              value: /etc/muster/tls/ca.crt
          envFrom:
            - configMapRef:
                name: muster-config
            - secretRef:
                name: muster-secrets
      volumes:
        - name: tmp
          emptyDir: {}
        # OS images and what was read of releases: fetched again when it is gone.
        - name: data
          emptyDir:
            sizeLimit: 60Gi
        - name: tls
          secret:
            secretName: muster-tls
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: muster
  namespace: {namespace}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app: muster
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: muster
  namespace: {namespace}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: muster
  minReplicas: 2
  maxReplicas: 6
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
";

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;
    use crate::deploy::tests::is_current;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        kubernetes: Kubernetes,
    }

    fn made(words: &str) -> anyhow::Result<String> {
        let words = ["kubernetes"].into_iter().chain(words.split_whitespace());
        let files = Line::parse_from(words).kubernetes.files()?;
        Ok(files[0].1.clone())
    }

    fn documents(words: &str) -> Vec<Value> {
        made(words)
            .unwrap()
            .split("---\n")
            .map(|text| serde_yaml_ng::from_str(text).expect(words))
            .collect()
    }

    fn of_kind(documents: &[Value], kind: &str) -> Value {
        let found = documents.iter().find(|document| document["kind"] == kind);
        found.expect(kind).clone()
    }

    const IMAGE: &str = "--image registry.example.com/muster:0.1.0";
    const LOAD_BALANCER: &str = "--base-url https://muster.example.com:8090";
    const ROUTED: &str = "--platform openshift --base-url https://muster.apps.example.com";

    /// The files in `deploy/kubernetes`, and the options that make them.
    const KEPT: &[(&str, &str, &str)] = &[
        ("muster.yaml", LOAD_BALANCER, ""),
        ("muster-replicated.yaml", LOAD_BALANCER, "--replicated"),
        ("muster-openshift.yaml", ROUTED, ""),
    ];

    #[test]
    fn the_files_in_deploy_are_current() {
        for (name, url, more) in KEPT {
            let text = made(&format!("{IMAGE} {url} {more}")).unwrap();
            is_current(&format!("kubernetes/{name}"), &text);
        }
    }

    #[test]
    fn every_document_is_yaml_and_nothing_is_left_open() {
        for url in [LOAD_BALANCER, ROUTED] {
            for more in ["", "--replicated"] {
                for document in documents(&format!("{url} {more}")) {
                    assert!(document["kind"].is_string(), "{document}");
                    let text = document.to_string();
                    assert!(
                        !text.contains("{port}") && !text.contains("{host}"),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_service_has_the_port_of_the_url() {
        let port = |words: &str| of_kind(&documents(words), "Service")["spec"]["ports"][0].clone();
        assert_eq!(port(LOAD_BALANCER)["port"], 8090);
        assert_eq!(port("--base-url https://m.example.com")["port"], 443);
        assert_eq!(
            port("--base-url https://m.example.com")["targetPort"],
            "https"
        );
    }

    #[test]
    fn on_openshift_a_route_passes_tls_on_and_the_project_chooses_users() {
        for more in ["", "--replicated"] {
            let made = documents(&format!("{ROUTED} {more}"));
            let route = of_kind(&made, "Route");
            assert_eq!(route["spec"]["host"], "muster.apps.example.com");
            assert_eq!(route["spec"]["tls"]["termination"], "passthrough");
            assert_eq!(of_kind(&made, "Service")["spec"]["type"], "ClusterIP");
            let text = serde_json::to_string(&made).unwrap();
            assert!(
                !text.contains("fsGroup") && !text.contains("runAsUser\":"),
                "{text}"
            );
        }
    }

    #[test]
    fn urls_at_which_nothing_would_answer_are_refused() {
        for (words, expected) in [
            ("--base-url http://m.example.com:8090", "write https://"),
            ("--base-url m.example.com", "--base-url m.example.com"),
            (
                "--platform openshift --base-url https://m.example.com:8090",
                "port 443",
            ),
            (
                "--platform openshift --base-url https://192.0.2.7",
                "give the URL a name",
            ),
        ] {
            let error = format!("{:#}", made(words).unwrap_err());
            assert!(error.contains(expected), "{words}: {error}");
        }
    }

    #[test]
    fn replicas_get_their_users_from_the_secret_in_the_form_the_service_reads() {
        let secret = of_kind(
            &documents(&format!("{LOAD_BALANCER} --replicated")),
            "Secret",
        );
        let users = secret["stringData"]["MUSTER_AUTH_USERS"].as_str().unwrap();
        // As it stands it is refused, and the refusal names what is to be filled in.
        let refused = muster_config::sections::Users::parse(users).unwrap_err();
        assert!(refused.to_string().contains("password_hash"), "{refused}");
        let filled = users.replace(
            "\"password_hash\": \"\"",
            "\"password_hash\": \"$argon2id$x\"",
        );
        let users = muster_config::sections::Users::parse(&filled).unwrap();
        assert_eq!(users.show(), "admin (admin)");
    }
}
