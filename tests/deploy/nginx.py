#!/usr/bin/env python3
"""docs/deploy/nginx.conf with two workers, one of which is killed mid-stream.

    nginx.py PARLEY MODEL [NGINX]

Run by hand; needs Debian's nginx-light. The configuration of the documentation is used as it is but for its ports. All is on loopback. Exit status 0 when
all holds.
"""
import base64
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LONG = "The kettle is on and the paper is by the door. " * 12
AROUND = "pid {here}/pid; error_log {here}/error.log; events {{}} http {{ access_log {here}/access.log; client_body_temp_path {here}/body; " \
         "proxy_temp_path {here}/proxy; fastcgi_temp_path {here}/f; uwsgi_temp_path {here}/u; scgi_temp_path {here}/s; {site} }}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def hold(what, value):
    if not value:
        sys.exit(f"nginx.py: {what}")
    print("ok", what, flush=True)


def worker(parley, model, port, voices):
    process = subprocess.Popen([parley, "serve", "-m", f"parley-tts={model}", "--port", str(port), "--voices", voices, "--threads", "1"],
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    while ask(port, "GET", "/health")[0] != 200:
        time.sleep(0.1)
    return process


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    return answer.status, answer.read()


def speech(text, seed=1):
    return {"input": text, "seed": seed, "response_format": "pcm"}


class Stream(threading.Thread):
    """A streamed speech; `begun` once there is sound, `whole` when it came to its proper end."""

    def __init__(self, port):
        super().__init__()
        self.port, self.begun, self.whole, self.data, self.pieces = port, threading.Event(), False, b"", 0
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", "/v1/audio/speech", json.dumps(speech(LONG)), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        try:
            while piece := answer.read1(65536):
                self.data += piece
                self.pieces += 1
                self.begun.set()
            self.whole = True
        except (http.client.IncompleteRead, ConnectionError):
            pass


def upgraded(port):
    """The first line of the answer to a WebSocket's request."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        key = base64.b64encode(b"0123456789abcdef").decode()
        s.sendall(f"GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                  f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        data = b""
        while b"session.created" not in data and (piece := s.recv(65536)):
            data += piece
    return data


def site(ports, listen):
    with open(os.path.join(ROOT, "docs", "deploy", "nginx.conf"), encoding="utf-8") as file:
        text = file.read()
    for wanted, port in zip((8081, 8082), ports):
        text, changed = re.subn(rf"\b127\.0\.0\.1:{wanted}\b", f"127.0.0.1:{port}", text)
        assert changed == 1
    text, changed = re.subn(r"listen 80;", f"listen 127.0.0.1:{listen};", text)
    assert changed == 1
    return text


def checks(port, workers, ports):
    hold("the page, models and health go through", [ask(port, "GET", p)[0] for p in ("/", "/v1/models", "/health")] == [200, 200, 200])
    hold("a WebSocket is upgraded and talks", b"101 Switching" in upgraded(port))
    hold("figures stay inside", ask(port, "GET", "/metrics")[0] == 404)
    many = [ask(port, "GET", "/health")[0] for _ in range(150)]
    hold("a client that asks too often is told so", set(many) == {200, 429})
    time.sleep(5)  # the allowance of one client, all of this test, fills again
    alone = ask(ports[1], "POST", "/v1/audio/speech", speech(LONG))[1]
    streams = [Stream(port), Stream(port)]
    hold("two streams have begun", all(s.begun.wait(60) for s in streams))
    workers[0].kill()
    workers[0].wait()
    new = [ask(port, "POST", "/v1/audio/speech", speech("Hello.", seed)) for seed in range(6)]
    hold("new requests are served while a worker is gone", all(status == 200 and len(data) > 1000 for status, data in new))
    for s in streams:
        s.join()
    hold(f"one of two streams was cut, {[len(s.data) for s in streams]} of {len(alone)} bytes", [s.whole for s in streams].count(True) == 1)
    other = next(s for s in streams if s.whole)
    hold(f"the other is unaffected: equal to its solo run, in {other.pieces} pieces", other.data == alone and other.pieces > 3)


def main():
    parley, model = sys.argv[1:3]
    nginx = sys.argv[3] if len(sys.argv) > 3 else "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory() as here:
        ports, listen = (free_port(), free_port()), free_port()
        config, voices = os.path.join(here, "nginx.conf"), os.path.join(here, "voices")
        with open(config, "w", encoding="utf-8") as file:
            file.write(AROUND.format(here=here, site=site(ports, listen)))
        workers = [worker(parley, model, p, voices) for p in ports]
        balancer = subprocess.Popen([nginx, "-p", here, "-c", config, "-g", "daemon off;"])
        try:
            time.sleep(1)
            checks(listen, workers, ports)
            workers[0] = worker(parley, model, ports[0], voices)
            time.sleep(6)  # fail_timeout of the configuration
            pair = [Stream(listen), Stream(listen)]
            for s in pair:
                s.join()
            hold("a worker that is back takes its part", all(s.whole for s in pair) and b"parley_requests_accepted_total{model=\"parley-tts\"} 0"
                 not in ask(ports[0], "GET", "/metrics")[1])
        finally:
            balancer.terminate()
            balancer.wait()
            for process in workers:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
