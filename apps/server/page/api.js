// Requests to the server that this page came from. Errors become sentences.

const KEY = "parley-api-key"; // kept for this tab alone

export const key = {
  get: () => sessionStorage.getItem(KEY) || "",
  set: (value) => sessionStorage.setItem(KEY, value),
};

export class Failure extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function reason(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `the server answered ${response.status} ${response.statusText}`.trim();
  }
}

/** A response with a good status; anything else is a Failure. 401 also tells the page, which asks for a key. */
export async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Failure(0, "The server cannot be reached. Is it still running?");
  }
  if (response.ok) return response;
  if (response.status === 401) document.dispatchEvent(new Event("key-wanted"));
  throw new Failure(response.status, sentence(await reason(response)));
}

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

export const json = async (path) => (await request(path)).json();

/** The JSON values of a stream of server-sent events. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split(/\r?\n/).filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trim()).join("\n");
      if (data && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

/** A realtime session; browsers can give a key as a subprotocol only. */
export function realtime(model) {
  const url = new URL("v1/realtime", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  if (model) url.searchParams.set("model", model);
  const protocols = ["realtime"];
  if (key.get()) protocols.push(`openai-insecure-api-key.${key.get()}`);
  const socket = new WebSocket(url, protocols);
  socket.binaryType = "arraybuffer";
  return socket;
}
