// The page: tabs, the key, what the server has; each panel is a module.
import { json, key } from "./api.js";
import { cloning } from "./clone.js";
import { listening } from "./listen.js";
import { speaking } from "./speak.js";

const $ = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll("[role=tab]")];
const panels = [speaking, listening, cloning];

function choose(tab, focus) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
  panels.forEach((p) => p.shown?.());
}

function step(event) {
  const at = tabs.indexOf(event.target), last = tabs.length - 1;
  const to = { ArrowRight: (at + 1) % tabs.length, ArrowLeft: (at + last) % tabs.length, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  choose(tabs[to], true);
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Asks until the models are there. */
async function connect() {
  for (;;) {
    try {
      const [models, voices] = await Promise.all([json("v1/models"), json("v1/audio/voices")]);
      $("key-form").hidden = true;
      $("state").textContent = models.data.map((m) => m.id).join(", ");
      panels.forEach((p) => p.ready(models.data, voices.data));
      return;
    } catch (fault) {
      $("state").textContent = fault.status === 503 ? "Loading models…" : fault.status === 401 ? "A key is needed" : fault.message;
      if (fault.status === 401) return;
      await wait(1500);
    }
  }
}

document.addEventListener("key-wanted", () => {
  $("key-form").hidden = false;
  $("key").focus();
});
document.addEventListener("voices-changed", async () => {
  const voices = await json("v1/audio/voices");
  panels.forEach((p) => p.voices?.(voices.data));
});
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set($("key").value.trim());
  $("key").value = "";
  connect();
});
for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", step);
}
choose(tabs.find((t) => `#${t.getAttribute("aria-controls")}` === location.hash) ?? tabs[0]);
connect();
