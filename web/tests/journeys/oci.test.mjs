// A cluster on Oracle's cloud: external platform, minimal image, addresses by DHCP, own load balancer, and no
// installation without the manifests of the cloud controller.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PULL_SECRET, Service, api, assertClean, closeBrowser, hostRow, installed, open, readyToInstall, shot } from "../harness.mjs";

let service;
before(async () => { service = await Service.start(); });
after(async () => { await closeBrowser(); await service?.stop(); });

test("a cluster for Oracle's cloud asks for manifests, and is installed with them", async () => {
  const page = await open(service);
  const sent = [];
  page.on("request", (request) => { if (request.method() === "POST") sent.push([new URL(request.url()).pathname.replace("/api/assisted-install", ""), request.postDataJSON()]); });
  await page.goto("/clusters/new");
  await page.getByLabel("Cluster name").fill("cloud");
  await page.getByLabel("Base domain").fill("example.com");
  await page.getByLabel("Platform").selectOption("oci");
  await page.getByText("Needs the manifests of Oracle's cloud controller").waitFor();
  await page.getByLabel("Pull secret", { exact: true }).or(page.getByLabel("Pull secret *")).first().fill(PULL_SECRET);
  await page.getByRole("button", { name: "Create and continue" }).click();
  await page.waitForURL(/\/setup\/operators/);
  const id = page.url().split("/clusters/")[1].slice(0, 36);
  const [[, cluster], [, infraEnv]] = sent.filter(([path]) => /^\/v2\/(clusters|infra-envs)$/.test(path));
  assert.deepEqual(cluster.platform, { type: "external", external: { platform_name: "oci", cloud_controller_manager: "External" } });
  assert.equal(infraEnv.image_type, "minimal-iso");
  const [env] = await api(page, "GET", `/infra-envs?cluster_id=${id}`);

  // Static addresses and other images are not offered.
  await page.getByRole("link", { name: /Host networks/ }).click();
  await page.getByText("get their addresses by DHCP").waitFor();
  assert.equal(await page.getByRole("radio").count(), 0);
  await page.getByRole("button", { name: "Next" }).click();
  await page.waitForURL("**/setup/operators");
  await page.getByRole("link", { name: /Host discovery/ }).click();
  await page.getByRole("button", { name: "Add hosts" }).click();
  assert.equal(await page.getByRole("radio", { name: "Minimal image" }).isChecked(), true);
  assert.equal(await page.getByRole("radio", { name: "Full image" }).isDisabled(), true);
  await page.getByRole("button", { name: "Generate image" }).click();
  assert.match(await page.getByLabel("Address of the image").innerText(), /minimal\.iso/);
  await page.getByRole("button", { name: "Close" }).last().click();

  // The simulated machines are not Oracle's, which only that check minds.
  await api(page, "PUT", `/clusters/${id}/ignored-validations`, { "host-validation-ids": JSON.stringify(["compatible-with-cluster-platform"]), "cluster-validation-ids": "[]" });
  const machines = service.simulate(env.id, ["--topology", "compact", "--with", "user-managed"]);
  for (const name of ["control-0", "control-1", "control-2"]) await hostRow(page, name).waitFor();
  await page.getByRole("link", { name: /Networking/ }).click();
  assert.equal(await page.getByRole("radio", { name: "Managed by you" }).isChecked(), true);
  assert.equal(await page.getByRole("radio", { name: "Managed by the cluster" }).isDisabled(), true);
  await page.getByText("The platform provides the load balancer.").waitFor();
  await page.getByRole("button", { name: /^(Save and continue|Next)$/ }).click();
  await page.waitForURL("**/setup/manifests");

  // Without manifests neither this step nor the review goes on, and both say why.
  await page.getByText("the nodes of this cluster never become ready").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("alert").getByText("This cluster needs at least one.").waitFor();
  await shot(page, "oci-manifests");
  await page.getByRole("link", { name: /Review and install/ }).click();
  await page.getByText("This platform or network type does not work without manifests of your own.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Install cluster" }).isDisabled(), true);
  await page.getByRole("link", { name: "Add them" }).click();
  await page.getByRole("button", { name: "Add a manifest" }).click();
  await page.getByLabel("File name").fill("oci-ccm.yaml");
  await page.getByRole("textbox", { name: "Content" }).fill("apiVersion: v1\nkind: Namespace\nmetadata: {name: oci-cloud-controller-manager}\n");
  // What is typed and not saved is not left behind by mistake.
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("alert").getByText("Save or discard it first.").waitFor();
  await page.getByRole("button", { name: "Save manifest" }).click();
  await page.getByRole("cell", { name: "oci-ccm.yaml", exact: true }).waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.waitForURL("**/setup/review");
  await readyToInstall(page, id);
  await page.getByRole("button", { name: "Install cluster" }).click();
  await installed(page);
  await page.getByText("Complete the configuration of the platform").waitFor();
  assert.equal(await machines.ended, 0, machines.text);
  assertClean(page);
});

test("a network type that the release does not carry needs manifests as well", async () => {
  const page = await open(service);
  const [done] = await api(page, "GET", "/clusters");
  const { id } = await api(page, "POST", "/clusters", { name: "plugin", base_dns_domain: "example.com", openshift_version: done.openshift_version, pull_secret: PULL_SECRET });
  await page.goto(`/clusters/${id}/setup/networking`);
  await page.getByLabel("Network type").selectOption("Cilium");
  await page.getByText("A third-party network needs custom manifests.").waitFor();
  await api(page, "PATCH", `/clusters/${id}`, { network_type: "Cilium" });
  await page.getByRole("link", { name: /Custom manifests/ }).click();
  await page.getByText("Network type Cilium is not part of the release: add its manifests.").waitFor();
  assertClean(page);
});
