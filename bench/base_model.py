#!/usr/bin/env python3
"""A Base model of true size for `parley bench`: a custom_voice directory with a speaker encoder of published size and random weights beside it.

    bench/base_model.py CUSTOM_VOICE_DIRECTORY OUT
    build/parley bench -m OUT --threads 2       the rows "speaker vector" and "codec encode": 10 s of sound

OUT links to the files of the directory, which holds one model.safetensors; only the encoder (24 MB in bf16) and the configuration are new.
"""
import json
import math
import os
import random
import struct
import sys

CHANNELS, MFA, ATTENTION, SQUEEZED, SCALE, MELS = 512, 1536, 128, 128, 8, 128      # published sizes
SHARDS = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]


def kernels(length):
    """Names and shapes of the convolutions; each has a bias."""
    yield "blocks.0.conv", (CHANNELS, MELS, 5)
    for b in (1, 2, 3):
        for name in ("tdnn1", "tdnn2"):
            yield f"blocks.{b}.{name}.conv", (CHANNELS, CHANNELS, 1)
        for i in range(SCALE - 1):
            yield f"blocks.{b}.res2net_block.blocks.{i}.conv", (CHANNELS // SCALE, CHANNELS // SCALE, 3)
        yield f"blocks.{b}.se_block.conv1", (SQUEEZED, CHANNELS, 1)
        yield f"blocks.{b}.se_block.conv2", (CHANNELS, SQUEEZED, 1)
    yield "mfa.conv", (MFA, MFA, 1)
    yield "asp.tdnn.conv", (ATTENTION, 3 * MFA, 1)
    yield "asp.conv", (MFA, ATTENTION, 1)
    yield "fc", (length, 2 * MFA, 1)


def noise(count, inputs, rng):
    """bf16 of either sign, of a size that keeps what `inputs` of them add up to near 1."""
    exponent = 127 - max(1, round(math.log2(inputs) / 2))
    fraction = bytes((exponent & 1) << 7 | v & 0x7F for v in range(256))
    top = bytes(exponent >> 1 | v & 0x80 for v in range(256))
    out = bytearray(2 * count)
    out[0::2] = rng.randbytes(count).translate(fraction)
    out[1::2] = rng.randbytes(count).translate(top)
    return bytes(out)


def main():
    source, out = (os.path.abspath(p) for p in sys.argv[1:3])
    rng = random.Random(1)
    with open(os.path.join(source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    with open(os.path.join(source, "model.safetensors"), "rb") as f:
        own = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    length = config["talker_config"]["hidden_size"]
    head, body, places = {}, bytearray(), {name: SHARDS[0] for name in own if name != "__metadata__"}
    for name, shape in kernels(length):
        inputs = shape[1] * shape[2]
        for end, dims in (("weight", shape), ("bias", shape[:1])):
            data = noise(math.prod(dims), inputs, rng)
            key = f"speaker_encoder.{name}.{end}"
            head[key] = {"dtype": "BF16", "shape": dims, "data_offsets": [len(body), len(body) + len(data)]}
            places[key] = SHARDS[1]
            body += data
    config["tts_model_type"] = "base"
    config["speaker_encoder_config"] = {"enc_dim": length, "sample_rate": 24000}
    config["talker_config"]["spk_id"] = config["talker_config"]["spk_is_dialect"] = {}
    os.makedirs(out)
    for file in os.listdir(source):
        if file != "config.json":
            os.symlink(os.path.join(source, file), os.path.join(out, SHARDS[0] if file == "model.safetensors" else file))
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(out, SHARDS[1]), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)
    for file, value in (("config.json", config), ("model.safetensors.index.json", {"metadata": {}, "weight_map": places})):
        with open(os.path.join(out, file), "w", encoding="utf-8") as f:
            json.dump(value, f)


if __name__ == "__main__":
    main()
