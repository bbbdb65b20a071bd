// Sound in the browser: playing while it arrives, recording, WAV files, pictures of both.

let context = null;

/** The page's one AudioContext; browsers allow it to start in answer to a key or a click. */
export function audio() {
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume();
  return context;
}

export function floats(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength >> 1 }, (_, i) => view.getInt16(2 * i, true) / 32768);
}

export function int16(pcm) {
  const bytes = new Uint8Array(2 * pcm.length), view = new DataView(bytes.buffer);
  pcm.forEach((v, i) => view.setInt16(2 * i, Math.round(Math.max(-1, Math.min(1, v)) * 32767), true));
  return bytes;
}

export function joined(pieces) {
  const all = new Float32Array(pieces.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A mono 16-bit WAV file. */
export function wav(pcm, rate) {
  const data = int16(pcm), head = new DataView(new ArrayBuffer(44));
  const word = (at, text) => [...text].forEach((c, i) => head.setUint8(at + i, c.charCodeAt(0)));
  word(0, "RIFF"); head.setUint32(4, 36 + data.length, true); word(8, "WAVEfmt "); head.setUint32(16, 16, true);
  head.setUint16(20, 1, true); head.setUint16(22, 1, true); head.setUint32(24, rate, true); head.setUint32(28, 2 * rate, true);
  head.setUint16(32, 2, true); head.setUint16(34, 16, true); word(36, "data"); head.setUint32(40, data.length, true);
  return new Blob([head.buffer, data], { type: "audio/wav" });
}

export function save(blob, name) {
  const link = document.createElement("a"), url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** Plays pieces one behind the other; a late piece starts at once. */
export class Player {
  constructor(rate) {
    this.rate = rate;
    this.context = audio();
    this.begins = this.ends = 0; // in the context's time
    this.sources = new Set();
  }

  play(pcm) {
    const buffer = this.context.createBuffer(1, pcm.length, this.rate), source = this.context.createBufferSource();
    buffer.copyToChannel(pcm, 0);
    source.buffer = buffer;
    source.connect(this.context.destination);
    if (this.ends < this.context.currentTime) {
      const start = this.context.currentTime + 0.06;
      this.begins += this.ends ? start - this.ends : start;
      this.ends = start;
    }
    source.start(this.ends);
    this.ends += buffer.duration;
    this.sources.add(source);
    source.onended = () => this.sources.delete(source);
  }

  /** Seconds of the speech that have been heard. */
  get position() {
    return Math.max(0, Math.min(this.context.currentTime, this.ends) - this.begins);
  }

  get playing() {
    return this.sources.size > 0;
  }

  stop() {
    this.sources.forEach((s) => s.stop());
    this.sources.clear();
  }
}

/** Bars of the loudest samples; those behind `played` seconds are pale. */
export function draw(canvas, pcm, rate, played = Infinity) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight, pen = canvas.getContext("2d");
  canvas.width = width * scale;
  canvas.height = height * scale;
  pen.scale(scale, scale);
  pen.fillStyle = getComputedStyle(canvas).color;
  const bars = Math.max(1, Math.floor(width / 4)), each = Math.max(pcm.length / bars, rate / 50), stride = Math.max(1, Math.floor(each / 200));
  for (let bar = 0; bar < bars; bar++) {
    const from = Math.floor(bar * each), to = Math.min(pcm.length, Math.floor((bar + 1) * each));
    let peak = 0;
    for (let i = from; i < to; i += stride) peak = Math.max(peak, Math.abs(pcm[i]));
    const tall = Math.max(from < pcm.length ? 2 : 1, peak * height);
    pen.globalAlpha = from >= pcm.length ? 0.25 : from / rate <= played ? 1 : 0.4;
    pen.fillRect(bar * 4, (height - tall) / 2, 2, tall);
  }
}

/** The microphone: `piece` is called with float32 samples at `rate`. */
export class Microphone {
  async start(piece) {
    if (!navigator.mediaDevices) throw new Error("This browser gives the microphone to pages of this machine or over HTTPS only.");
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: false } });
    } catch (fault) {
      throw new Error(fault.name === "NotFoundError" ? "There is no microphone." : "The microphone was not allowed.");
    }
    const context = audio();
    this.rate = context.sampleRate;
    await context.audioWorklet.addModule("recorder.js");
    this.node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
    this.node.port.onmessage = (event) => piece(event.data);
    this.source = context.createMediaStreamSource(this.stream);
    this.source.connect(this.node);
  }

  stop() {
    this.source?.disconnect();
    this.node?.port.close();
    this.stream?.getTracks().forEach((t) => t.stop());
  }
}
