import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Service, assertClean, closeBrowser, open, shot, violations } from "../harness.mjs";

let service;
before(async () => { service = await Service.start({ auth: "users" }); });
after(async () => { await closeBrowser(); await service?.stop(); });

async function look(page, name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    assert.deepEqual(await violations(page, theme), [], `${name}, ${theme}`);
    await shot(page, `${name}-${theme}`);
  }
}

test("a login is asked for, refused, granted, and asked for again when it has ended", async () => {
  assert.ok(service.password, `no password was printed: ${service.child.text}`);
  const page = await open(service);
  await page.goto("/clusters/new");
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("This is required.").first().waitFor();
  await look(page, "login");
  await page.getByLabel("User name").fill("admin");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Password").fill(service.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Create cluster" }).waitFor();
  await page.getByLabel("Cluster name").fill("half-typed");

  // The login ends elsewhere; what was typed stays.
  const token = JSON.parse(await page.evaluate(() => sessionStorage.getItem("muster-login"))).token;
  await page.request.post("/auth/logout", { headers: { Authorization: `Bearer ${token}` } });
  // By the next call, or by the watch if that notices it first: its dialog would be in the way of a click.
  // Twice: a second refused call does not throw the page away.
  for (let n = 0; n < 2; n++) await page.getByLabel("Show all versions").dispatchEvent("click");
  await page.getByRole("heading", { name: "Your login has ended" }).waitFor();
  // The page behind the dialog says what was refused, and is drawn again with it, as the watch does.
  const refused = page.locator(".alert", { hasText: "The versions could not be read" });
  await refused.waitFor();
  assert.match(await refused.innerText(), /read\n(this login was ended|credentials are missing).* Try again/);
  await page.getByLabel("Base domain").dispatchEvent("input");
  await look(page, "login-ended");
  // It cannot be sent away, not even as browsers do when they are asked again and again.
  for (let n = 0; n < 3; n++) await page.keyboard.press("Escape");
  await page.getByRole("dialog").getByLabel("User name").fill("admin");
  await page.getByRole("dialog").getByLabel("Password").fill(service.password);
  await page.getByRole("dialog").getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await page.getByLabel("Cluster name").inputValue(), "half-typed");
  await refused.getByRole("button", { name: "Try again" }).click();
  await refused.waitFor({ state: "hidden" });
  await page.goto("/settings");
  await page.getByText("Copy token").waitFor();
  await page.getByRole("table", { name: "Users" }).getByRole("row", { name: /admin \(you\) admin/ }).waitFor();

  // A token for a script is a login of its own.
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("dialog").getByLabel("Password").fill("wrong");
  await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("dialog").getByText("wrong user name or password").waitFor();
  await page.getByRole("dialog").getByLabel("Password").fill(service.password);
  await page.getByRole("dialog").getByText("Show as API call").click();
  const shown = await page.getByRole("dialog").getByLabel("REST API").innerText();
  assert.match(shown, /\/auth\/token/);
  assert.ok(!shown.includes(service.password), "it shows no password");
  await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
  const made = (await page.getByRole("dialog").getByLabel("Token", { exact: true }).innerText()).trim();
  await look(page, "token");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  const answer = await page.request.get("/auth/caller", { headers: { Authorization: `Bearer ${made}` } });
  assert.equal((await answer.json()).name, "admin", "the token outlives the login of the page");
  assertClean(page);
});
