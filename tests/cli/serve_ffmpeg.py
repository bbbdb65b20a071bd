#!/usr/bin/env python3
"""--allow-ffmpeg: what a program of that name is given, and what comes of all it may do. The program is a script of this test; where the real one is
installed it is run too, on containers and on files that name other files.

    serve_ffmpeg.py PARLEY GOLDEN
"""
import http.client
import json
import os
import re
import shutil
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

from serving import Fail, Server, TIMEOUT, ensure, error_of, multipart, want

UPLOAD = b"no format that the library knows, called by its client:"


class World:
    def __init__(self, parley, golden, here):
        self.parley, self.here = parley, here
        self.model = os.path.join(golden, "models", "asr_a")
        self.clip_path = os.path.join(golden, "asr_clip_chirp", "audio.wav")
        self.folder = os.path.join(here, "bin")
        os.mkdir(self.folder)

    def path(self, name):
        return os.path.join(self.here, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def program(self, script):
        """An ffmpeg that does this and leaves its process id in `pid`."""
        path = os.path.join(self.folder, "ffmpeg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nPATH=/usr/bin:/bin\ncd {shlex.quote(self.here)}\necho $$ >pid.new && mv pid.new pid\n{script}\n")
        os.chmod(path, 0o700)
        if os.path.exists(self.path("pid")):
            os.remove(self.path("pid"))

    def server(self, *options, path=None):
        before = os.environ["PATH"]
        os.environ["PATH"] = self.folder if path is None else path
        try:
            return Server(self.parley, "-m", self.model, *options, voices=self.path("voices"))
        finally:
            os.environ["PATH"] = before

    def pid(self):
        wait_for(lambda: os.path.exists(self.path("pid")), "the program to start")
        return int(self.read("pid"))


def wait_for(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        ensure(time.monotonic() < end, f"waited for {what}")
        time.sleep(0.02)


def ended(pid):
    """Whether the process is gone, or was taken by nobody."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def send(server, data=UPLOAD, name="../../etc/passwd", *more):
    return server.form("/v1/audio/transcriptions", [("file", (name, data)), *more])


def off_by_default(w):
    w.program("touch was-run")
    with w.server() as server:
        error_of(send(server), 400, param="file")
    ensure(not os.path.exists(w.path("was-run")), "ffmpeg ran without --allow-ffmpeg")


def what_it_is_given(w):
    """The upload as standard input, no byte of the request among the arguments, no network among the protocols, no descriptor but the three."""
    w.program("printf '%s\\n' \"$@\" >arguments; ls -l /proc/$$/fd >descriptors; cat >upload; exec cat " + shlex.quote(w.clip_path))
    with w.server("--allow-ffmpeg") as server:
        want("text", "hello world", json.loads(send(server)[2])["text"])
    arguments = w.read("arguments").decode().split("\n")
    want("upload", UPLOAD, w.read("upload"))
    ensure("-nostdin" in arguments, "the upload's bytes are taken for keys")
    want("protocols", "file", arguments[arguments.index("-protocol_whitelist") + 1])
    want("input", "file:/dev/fd/0", arguments[arguments.index("-i") + 1])
    formats = arguments[arguments.index("-format_whitelist") + 1].split(",")
    want("formats that name other files", set(), {"hls", "concat", "dash", "sdp", "rtsp", "image2", "lavfi", "tee", "imf", "applehttp"} & set(formats))
    ensure(not any("passwd" in a for a in arguments), "the name of the upload is among the arguments")
    numbers = {int(n) for n in re.findall(r" (\d+) -> ", w.read("descriptors").decode())}
    # A shell keeps its script open, at 10 or above or at 255.
    want("descriptors", {0, 1, 2}, {n for n in numbers if n < 10})
    ensure("socket" not in w.read("descriptors").decode(), "the program holds a socket: " + w.read("descriptors").decode())


def what_it_may_do(w):
    with w.server("--allow-ffmpeg", "--max-audio", "5") as server:
        w.program("echo it broke >&2; exit 1")
        ensure("it broke" in error_of(send(server), 400, param="file"), "ffmpeg's words are not told")
        w.program("exit 0")
        error_of(send(server), 400, param="file")
        w.program("kill -9 $$")
        error_of(send(server), 400, param="file")
        w.program(f"cat {shlex.quote(w.clip_path)}; exit 3")
        error_of(send(server), 400, param="file")
        w.program(f"head -c 44 {shlex.quote(w.clip_path)}; exec cat /dev/zero")
        error_of(send(server), 413, "limit", "file")
        ensure(ended(w.pid()), "an endless program goes on")
        w.program(f"exec cat {shlex.quote(w.clip_path)}")
        want("after all that", 200, send(server)[0])


def not_installed(w):
    with w.server("--allow-ffmpeg", path=w.path("nothing")) as server:
        message = error_of(send(server), 400, param="file")
    ensure("ffmpeg" in message and "not in PATH" in message, "it is not said what is missing: " + message)


def client_leaves(w):
    w.program("exec sleep 1000")
    with w.server("--allow-ffmpeg", "--max-active", "1") as server:
        kind, body = multipart([("file", ("a", UPLOAD))])
        connection = server.connect()
        connection.request("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})
        pid = w.pid()
        busy = send(server)
        error_of(busy, 503, "busy")
        ensure("Retry-After" in busy[1], "no Retry-After")
        ensure(not ended(pid), "the program ended by itself")
        connection.close()
        wait_for(lambda: ended(pid), "the program of a client that has left to be ended")
        w.program(f"exec cat {shlex.quote(w.clip_path)}")
        want("the next one", 200, send(server)[0])


def answer(server, answers):
    try:
        answers.append(send(server)[0])
    except (http.client.HTTPException, ConnectionError):
        answers.append(None)


def drains(w):
    """SIGTERM leaves a program that decodes its time; --drain ends it."""
    for seconds, status in (("30", 200), ("0", None)):
        w.program(f"while [ ! -e go ]; do sleep 0.05; done; exec cat {shlex.quote(w.clip_path)}" if status else "exec sleep 1000")
        answers = []
        with w.server("--allow-ffmpeg", "--drain", seconds) as server:
            try:
                thread = threading.Thread(target=answer, args=(server, answers))
                thread.start()
                pid = w.pid()
                server.process.send_signal(signal.SIGTERM)
                wait_for(lambda p=server.port: not_listening(p), "the server to take no more")
                with open(w.path("go"), "wb"):
                    pass
                want("exit code", 0, server.process.wait(TIMEOUT))
            finally:
                thread.join()
        ensure(ended(pid), "the program outlives the server")
        want(f"answers with --drain {seconds}", [status], answers)


def not_listening(port):
    with open("/proc/net/tcp", encoding="ascii") as f:
        return not any(re.match(rf"\s*\d+: 0100007F:{port:04X} 00000000:0000 0A", line) for line in f)


def real(w):
    """Containers, cut and damaged ones, and files that name other files and addresses."""
    if not shutil.which("ffmpeg"):
        print("  (the real program is not here)")
        return
    made = []
    for name in ("a.mka", "a.m4a", "a.webm", "a.mov"):
        done = subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", w.clip_path, w.path(name)], timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        made += [name] if done.returncode == 0 else []
    ensure(made, "ffmpeg writes nothing")
    secret = w.clip_path
    lists = [f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:1,\nfile://{secret}\n#EXT-X-ENDLIST\n", f"#EXTM3U\n#EXTINF:1,\n{secret}\n",
             "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:1,\nhttp://127.0.0.1:{port}/health\n#EXT-X-ENDLIST\n", f"ffconcat version 1.0\nfile '{secret}'\n",
             f"ffconcat version 1.0\nfile 'concat:{secret}|{secret}'\n", "file:" + secret, secret, "http://127.0.0.1:{port}/health",
             "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=audio {port} RTP/AVP 0\n",
             "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><Period><AdaptationSet><Representation><BaseURL>"
             f"file://{secret}</BaseURL></Representation></AdaptationSet></Period></MPD>", "RIFF\0\0\0\0AVI LIST" + "\0" * 100]
    with w.server("--allow-ffmpeg", path=os.environ["PATH"]) as server:
        for name in made:
            want("text of " + name, "hello world", json.loads(send(server, w.read(name), name)[2])["text"])
            error_of(send(server, w.read(name)[:300], name), 400, param="file")
        asked = server.metric("parley_http_requests_total", path="/health", status="200")
        for text in lists:
            for name in ("a.m3u8", "a.wav"):
                error_of(send(server, text.replace("{port}", str(server.port)).encode(), name), 400, param="file")
        want("requests that ffmpeg made", asked, server.metric("parley_http_requests_total", path="/health", status="200"))


CASES = [off_by_default, what_it_is_given, what_it_may_do, not_installed, client_leaves, drains, real]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as here:
        world = World(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), here)
        for case in CASES:
            try:
                case(world)
                print("ok", case.__name__, flush=True)
            except (Fail, OSError, EOFError, ValueError, KeyError, subprocess.SubprocessError) as fault:
                failed += 1
                print("FAILED", case.__name__, type(fault).__name__, str(fault)[:1000], flush=True)
    sys.exit(1 if failed else 0)


main()
