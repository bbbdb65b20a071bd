// Voices of recordings: record or upload, name, keep, try.
import { request } from "./api.js";
import { attempt, element, fillModels, seconds, status } from "./form.js";
import { Microphone, audio, draw, joined, wav } from "./sound.js";
import { say } from "./speak.js";

const wave = element("clone-wave"), list = element("clone-list");
const TRIAL = "This is how I sound now.";
let models = [], recording = null, microphone = null, picture = { pcm: new Float32Array(0), rate: 24000 };

const model = () => models.find((m) => m.id === element("clone-model").value);

function show(pcm, rate) {
  picture = { pcm, rate };
  draw(wave, pcm, rate);
}

async function record() {
  const pieces = [], mine = microphone = new Microphone();
  const button = element("clone-record");
  await mine.start((pcm) => {
    if (mine !== microphone) return;
    pieces.push(pcm);
    show(joined(pieces), mine.rate);
    status("clone", `Recording, ${seconds(picture.pcm.length / mine.rate)}`);
  });
  mine.pieces = pieces;
  button.textContent = "Stop";
  button.setAttribute("aria-pressed", "true");
}

function stopRecording() {
  const { pieces = [], rate } = microphone;
  microphone.stop();
  microphone = null;
  element("clone-record").textContent = "Record";
  element("clone-record").setAttribute("aria-pressed", "false");
  if (!pieces.length) return;
  const pcm = joined(pieces);
  recording = wav(pcm, rate);
  element("clone-file").value = "";
  status("clone", `Recorded ${seconds(pcm.length / rate)}`);
}

async function pick() {
  const file = element("clone-file").files[0];
  recording = file ?? null;
  show(new Float32Array(0), 24000);
  status("clone", "");
  if (!file) return;
  try {
    const decoded = await audio().decodeAudioData(await file.arrayBuffer());
    show(decoded.getChannelData(0), decoded.sampleRate);
    status("clone", seconds(decoded.duration));
  } catch {
    status("clone", file.name); // the server may know more kinds than the browser
  }
}

async function keep() {
  if (microphone) stopRecording();
  if (!recording) throw new Error("Record something first, or choose a file.");
  const data = new FormData(), name = element("clone-name").value.trim(), said = element("clone-said").value.trim();
  data.append("name", name);
  data.append("model", model().id);
  if (said) data.append("text", said);
  data.append("file", recording, recording.name ?? "recording.wav");
  element("clone-go").disabled = true;
  status("clone", "Making the voice…");
  try {
    await request("v1/audio/voices", { method: "POST", body: data });
    status("clone", `${name} is kept`);
    document.dispatchEvent(new Event("voices-changed"));
  } catch (fault) {
    status("clone", "");
    throw fault;
  } finally {
    element("clone-go").disabled = false;
  }
}

async function remove(name) {
  if (!confirm(`Remove the voice ${name}?`)) return;
  await request(`v1/audio/voices/${encodeURIComponent(name)}`, { method: "DELETE" });
  document.dispatchEvent(new Event("voices-changed"));
}

function button(text, label, task) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => attempt("clone", task));
  return made;
}

function row(name) {
  const item = document.createElement("li"), label = document.createElement("span");
  label.textContent = name;
  item.append(label, button("Try", `Try ${name}`, () => say(TRIAL, name, model()?.id, model()?.sample_rate)), button("Remove", `Remove ${name}`, () => remove(name)));
  return item;
}

element("clone-form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt("clone", keep);
});
element("clone-record").addEventListener("click", () => attempt("clone", async () => {
  if (microphone) return stopRecording();
  try {
    await record();
  } catch (fault) {
    microphone = null;
    throw fault;
  }
}));
element("clone-file").addEventListener("change", pick);

export const cloning = {
  ready(all, voices) {
    models = all.filter((m) => m.kind === "tts" && m.clones);
    fillModels(element("clone-model"), models);
    element("clone-none").hidden = models.length > 0;
    element("clone-go").disabled = !models.length;
    this.voices(voices);
  },
  voices(voices) {
    const names = voices.filter((v) => v.kind === "stored").map((v) => v.name);
    const empty = document.createElement("li");
    empty.className = "empty";
    empty.textContent = "None yet";
    list.replaceChildren(...(names.length ? names.map(row) : [empty]));
  },
  shown: () => draw(wave, picture.pcm, picture.rate),
};
