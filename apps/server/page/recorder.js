// On the audio thread: hands samples of the first channel to the page, a tenth of a second at a time.
class Recorder extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Float32Array(Math.round(sampleRate / 10));
    this.filled = 0;
  }

  process([input]) {
    for (const sample of input[0] ?? []) {
      this.piece[this.filled++] = sample;
      if (this.filled === this.piece.length) {
        this.port.postMessage(this.piece);
        this.piece = new Float32Array(this.piece.length);
        this.filled = 0;
      }
    }
    return true;
  }
}
registerProcessor("recorder", Recorder);
