// Sound to text: files through events, the microphone through a realtime session.
import { Failure, events, realtime, request, sentence } from "./api.js";
import { attempt, element, fill, fillModels, languages, seconds, status } from "./form.js";
import { Microphone, draw, int16, joined, save, wav } from "./sound.js";

const wave = element("listen-wave"), output = element("listen-text");
const SHOWN = 8; // seconds of the microphone's picture
let models = [], sound = null, halt = null, live = null; // sound: the Blob that the text is of

const model = () => models.find((m) => m.id === element("listen-model").value);
const language = () => (element("listen-language").value === "auto" ? "" : element("listen-language").value);
const context = () => element("listen-context").value.trim();

function buttons(busy) {
  element("listen-go").disabled = busy || !models.length;
  element("listen-microphone").disabled = !models.length || (busy && !live);
  element("listen-stop").disabled = !busy;
  for (const kind of ["txt", "srt", "vtt"]) element(`listen-${kind}`).disabled = busy || !sound || !output.textContent;
}

function form(blob, extra) {
  const data = new FormData();
  data.append("file", blob, blob.name ?? "recording.wav");
  if (model()) data.append("model", model().id);
  if (language()) data.append("language", language());
  if (context()) data.append("prompt", context());
  for (const [name, value] of Object.entries(extra)) data.append(name, value);
  return data;
}

async function transcribe() {
  const file = element("listen-file").files[0];
  if (!file) throw new Error("Choose a sound file first, or use the microphone.");
  sound = file;
  output.textContent = "";
  status("listen", "Listening…");
  const response = await request("v1/audio/transcriptions", { method: "POST", body: form(file, { stream: "true" }), signal: halt.signal });
  for await (const event of events(response)) {
    if (event.error) throw new Failure(500, sentence(event.error.message));
    if (event.type === "transcript.text.delta") output.append(event.delta);
    if (event.type === "transcript.text.done") {
      output.textContent = event.text;
      status("listen", `${event.usage?.seconds === undefined ? "Done" : seconds(event.usage.seconds)}${event.text ? "" : " · no speech was heard"}`);
    }
  }
}

async function go() {
  halt = new AbortController();
  buttons(true);
  await attempt("listen", transcribe);
  if (halt.signal.aborted) status("listen", "Stopped");
  else if (element("listen-error").textContent) status("listen", "");
  buttons(false);
}

/** A session with the microphone: text comes while the sound goes. */
class Live {
  constructor() {
    this.pieces = [];
    this.samples = 0;
    this.microphone = new Microphone();
    this.text = "";
    this.ended = new Promise((done, failed) => Object.assign(this, { done, failed }));
  }

  async start() {
    this.socket = realtime(model()?.id);
    this.socket.onmessage = (message) => this.event(JSON.parse(message.data));
    this.socket.onclose = () => this.failed(new Error("The server closed the session."));
    await new Promise((open, failed) => {
      this.socket.onopen = open;
      this.socket.onerror = () => failed(new Error("The server does not open a session. A key may be needed, or it is stopping."));
    });
    await this.microphone.start((pcm) => this.piece(pcm));
    const transcription = {};
    if (language()) transcription.language = language();
    if (context()) transcription.prompt = context();
    this.send({ type: "session.update", session: { audio: { input: { format: { type: "audio/pcm", rate: this.microphone.rate }, transcription } } } });
    this.begun = true;
  }

  send(event) {
    this.socket.send(JSON.stringify(event));
  }

  piece(pcm) {
    if (!this.begun || this.socket.readyState !== WebSocket.OPEN) return;
    this.socket.send(int16(pcm));
    this.pieces.push(pcm);
    this.samples += pcm.length;
    draw(wave, joined(this.pieces.slice(-SHOWN * 10)), this.microphone.rate);
    status("listen", `Recording, ${seconds(this.samples / this.microphone.rate)}`);
  }

  event(event) {
    const kind = event.type.split(".").slice(-2).join(".");
    if (kind === "input_audio_transcription.delta") {
      this.text += event.delta;
      output.textContent = this.text;
    } else if (kind === "input_audio_transcription.completed") {
      output.textContent = event.transcript;
      this.done();
    } else if (kind === "input_audio_transcription.failed" || event.type === "error") {
      this.failed(new Error(sentence(event.error.message)));
    }
  }

  /** Ends the sound; the rest of the text is on its way. */
  finish() {
    this.microphone.stop();
    if (!this.samples) return this.done();
    status("listen", "Writing the rest…");
    this.send({ type: "input_audio_buffer.commit" });
  }

  close() {
    this.microphone.stop();
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.close();
    }
    if (this.samples) sound = wav(joined(this.pieces), this.microphone.rate);
  }
}

async function listenLive() {
  live = new Live();
  output.textContent = "";
  sound = null;
  element("listen-microphone").setAttribute("aria-pressed", "true");
  wave.hidden = false;
  buttons(true);
  await attempt("listen", async () => {
    live.ended.catch(() => {}); // it may fail before it is awaited
    await live.start();
    await live.ended;
  });
  live.close();
  wave.hidden = true;
  status("listen", live.samples ? seconds(live.samples / live.microphone.rate) : "");
  live = null;
  element("listen-microphone").setAttribute("aria-pressed", "false");
  buttons(false);
}

async function subtitles(kind) {
  status("listen", "Making subtitles…");
  const response = await request("v1/audio/transcriptions", { method: "POST", body: form(sound, { response_format: kind }) });
  save(await response.blob(), `transcript.${kind}`);
  status("listen", "");
}

element("listen-form").addEventListener("submit", (event) => {
  event.preventDefault();
  go();
});
element("listen-microphone").addEventListener("click", () => (live ? live.finish() : listenLive()));
element("listen-stop").addEventListener("click", () => (live ? live.finish() : halt?.abort()));
element("listen-txt").addEventListener("click", () => save(new Blob([output.textContent, "\n"], { type: "text/plain" }), "transcript.txt"));
for (const kind of ["srt", "vtt"]) element(`listen-${kind}`).addEventListener("click", () => attempt("listen", () => subtitles(kind)));
element("listen-model").addEventListener("change", () => fill(element("listen-language"), languages(model())));

export const listening = {
  ready(all) {
    models = all.filter((m) => m.kind === "asr");
    fillModels(element("listen-model"), models);
    fill(element("listen-language"), languages(model()));
    element("listen-none").hidden = models.length > 0;
    buttons(false);
  },
};
