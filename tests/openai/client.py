#!/usr/bin/env python3
"""The official OpenAI client, unchanged, against parley serve.

    client.py PARLEY GOLDEN MODEL

Run by hand in a virtual environment with PyPI's `openai`. Starts PARLEY serve on loopback with MODEL and the tiny golden recogniser. Exit status 0 when all
holds.
"""
import io
import subprocess
import sys
import tempfile
import time
import wave

import openai

TEXT = "Good morning."


def hold(what, value):
    if not value:
        sys.exit(f"client.py: {what}")
    print("ok", what, flush=True)


def speech(client):
    ids = [m.id for m in client.models.list()]
    hold(f"models {ids}", ids == ["parley-tts", "asr"])
    say = dict(model="parley-tts", voice="wren", input=TEXT, extra_body={"seed": 1})
    files = {f: client.audio.speech.create(response_format=f, **say).content for f in ("mp3", "wav", "flac", "opus", "pcm")}
    for name, mark in (("wav", b"RIFF"), ("flac", b"fLaC"), ("opus", b"OggS")):
        hold(f"{name}, {len(files[name])} bytes", files[name].startswith(mark))
    hold(f"mp3, {len(files['mp3'])} bytes, is the default", client.audio.speech.create(**say).content == files["mp3"])
    with wave.open(io.BytesIO(files["wav"])) as w:
        hold("wav and pcm hold the same samples", w.getframerate() == 24000 and w.readframes(len(files["pcm"]))[:len(files["pcm"])] == files["pcm"])
    pieces = []
    with client.audio.speech.with_streaming_response.create(response_format="pcm", **say) as response:
        pieces += list(response.iter_bytes())
    hold(f"streamed in {len(pieces)} pieces, the same bytes", len(pieces) > 1 and b"".join(pieces) == files["pcm"])
    again = client.audio.speech.create(response_format="pcm", instructions="Slowly.", speed=1.0, **say)
    hold("instructions and a speed of 1 are taken", len(again.content) > 1000)
    fast = client.audio.speech.create(response_format="pcm", speed=2.0, **say)
    hold("at speed 2 the sound is half as long", abs(2 * len(fast.content) - len(files["pcm"])) <= 4)


def transcriptions(client, golden):
    path = f"{golden}/asr_clip_chirp/audio.wav"

    def hear(**options):
        with open(path, "rb") as file:
            return client.audio.transcriptions.create(model="asr", file=file, **options)

    hold("json", hear().text == "hello world")
    hold("text", hear(response_format="text").strip() == "hello world")
    hold("srt", "-->" in hear(response_format="srt"))
    hold("vtt", hear(response_format="vtt").startswith("WEBVTT"))
    whole = hear(response_format="verbose_json", language="en", prompt="a greeting", temperature=0, timestamp_granularities=["segment"])
    hold(f"verbose_json: {whole.language}, {whole.duration} s", whole.text and whole.segments)
    with open(path, "rb") as file:
        stream = list(client.audio.transcriptions.create(model="asr", file=file, stream=True))
    hold(f"streamed: {[e.type for e in stream]}", stream[-1].type == "transcript.text.done" and stream[-1].text == "hello world"
         and "".join(e.delta for e in stream[:-1]) == "hello world")


def refused(client, kind, words, **options):
    try:
        client.audio.speech.create(**{**dict(model="parley-tts", voice="wren", input=TEXT), **options})
    except kind as error:
        hold(f"{kind.__name__}: {error.message[:100]}", words in error.message)
        return
    hold(f"{options} is refused", False)


def main():
    parley, golden, model = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as voices:
        server = subprocess.Popen([parley, "serve", "-m", f"parley-tts={model}", "-m", f"asr={golden}/models/asr_a", "--voices", voices, "--port", "0"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            client = openai.OpenAI(base_url=server.stdout.readline().split()[-1] + "/v1", api_key="any", max_retries=5)
            time.sleep(1)
            speech(client)
            transcriptions(client, golden)
            refused(client, openai.BadRequestError, "wren", voice="nobody")
            refused(client, openai.BadRequestError, "speed", speed=4.5)
            refused(client, openai.NotFoundError, "none", model="none")
        finally:
            server.terminate()
            hold("the server ends in good order", server.wait(60) == 0)


if __name__ == "__main__":
    main()
