// Text to sound, played while it arrives.
import { request } from "./api.js";
import { attempt, element, fill, fillModels, languages, seconds, status } from "./form.js";
import { Player, draw, floats, joined, save, wav } from "./sound.js";

const wave = element("speak-wave");
let models = [], stored = [], current = null; // the speech that is made or was made last

const model = () => models.find((m) => m.id === element("speak-model").value);

function choices() {
  const m = model();
  const names = [...(m?.voices ?? []), ...(m?.clones ? stored : [])];
  fill(element("speak-voice"), names.length ? names.map((n) => [n, n]) : [["default", "Any"]]);
  fill(element("speak-language"), languages(m));
  element("speak-instruct-box").hidden = m?.type === "base";
}

function body(text, voice, id) {
  const value = (name) => element(`speak-${name}`).value.trim();
  const wanted = { model: id ?? model()?.id, input: text, voice, response_format: "pcm" };
  if (id) return wanted; // a trial of a voice, with nothing from the form
  if (value("language") !== "auto") wanted.language = value("language");
  if (value("instruct") && !element("speak-instruct-box").hidden) wanted.instructions = value("instruct");
  if (value("speed") !== "1") wanted.speed = Number(value("speed"));
  if (value("seed")) wanted.seed = Number(value("seed"));
  return wanted;
}

/** One text: the request, its samples and the player. */
class Speech {
  constructor(rate) {
    this.rate = rate;
    this.pieces = [];
    this.samples = 0;
    this.halt = new AbortController();
    this.done = false;
  }

  async run(wanted) {
    const begun = performance.now();
    this.player = new Player(this.rate);
    const response = await request("v1/audio/speech", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted), signal: this.halt.signal });
    this.seed = response.headers.get("X-Parley-Seed");
    const reader = response.body.getReader();
    let odd = new Uint8Array(0); // half a sample at the end of a chunk
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      this.first ??= (performance.now() - begun) / 1000;
      const bytes = new Uint8Array(odd.length + value.length);
      bytes.set(odd);
      bytes.set(value, odd.length);
      odd = bytes.slice(bytes.length & ~1);
      this.add(floats(bytes.subarray(0, bytes.length & ~1)));
    }
    this.done = true;
  }

  add(pcm) {
    if (!pcm.length) return;
    this.pieces.push(pcm);
    this.samples += pcm.length;
    this.player.play(pcm);
  }

  /** All samples so far, as one array. */
  get pcm() {
    if (this.pieces.length > 1) this.pieces = [joined(this.pieces)];
    return this.pieces[0] ?? new Float32Array(0);
  }

  stop() {
    this.halt.abort();
    this.player?.stop();
  }
}

/** Speaks without the form; used to try a voice. */
export async function say(text, voice, id, rate) {
  current?.stop();
  const speech = current = new Speech(rate);
  element("speak-error").textContent = "";
  await speech.run(body(text, voice, id));
  element("speak-save").disabled = speech.samples === 0;
  status("speak", `${seconds(speech.samples / speech.rate)} · seed ${speech.seed}`);
}

function picture(speech) {
  if (speech !== current) return;
  const length = speech.samples / speech.rate, position = speech.player?.position ?? 0;
  draw(wave, speech.pcm, speech.rate, position);
  const first = speech.first === undefined ? "" : ` · first sound after ${seconds(speech.first)}`;
  status("speak", speech.samples ? `${seconds(Math.min(position, length))} of ${seconds(length)}${speech.done ? "" : "…"}${first}${speech.seed ? ` · seed ${speech.seed}` : ""}` : "Waiting for the first sound…");
  if (!speech.over || speech.player?.playing) requestAnimationFrame(() => picture(speech));
  else element("speak-stop").disabled = true;
}

async function go() {
  current?.stop();
  const speech = current = new Speech(model()?.sample_rate ?? 24000);
  element("speak-stop").disabled = false;
  element("speak-save").disabled = true;
  requestAnimationFrame(() => picture(speech));
  await attempt("speak", () => speech.run(body(element("speak-text").value, element("speak-voice").value)));
  speech.over = true;
  if (speech !== current) return;
  element("speak-save").disabled = speech.samples === 0;
  if (!speech.samples) {
    status("speak", "");
    current = null;
    draw(wave, new Float32Array(0), speech.rate);
    element("speak-stop").disabled = true;
  }
}

element("speak-form").addEventListener("submit", (event) => {
  event.preventDefault();
  go();
});
element("speak-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element("speak-form").requestSubmit();
});
element("speak-stop").addEventListener("click", () => current?.stop());
element("speak-save").addEventListener("click", () => save(wav(current.pcm, current.rate), "speech.wav"));
element("speak-model").addEventListener("change", choices);

export const speaking = {
  ready(all, voices) {
    models = all.filter((m) => m.kind === "tts");
    fillModels(element("speak-model"), models);
    element("speak-go").disabled = !models.length;
    this.voices(voices);
  },
  voices(voices) {
    stored = voices.filter((v) => v.kind === "stored").map((v) => v.name);
    choices();
  },
  shown: () => draw(wave, current?.pcm ?? new Float32Array(0), current?.rate ?? 24000),
};
addEventListener("resize", speaking.shown);
