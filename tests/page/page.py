#!/usr/bin/env python3
"""The server's page in headless Chromium: speak, listen, clone, keys, errors, and pictures to look at.

    page.py PARLEY GOLDEN MODEL PICTURES

Run by hand. Needs Debian's `chromium` and PyPI's `websocket-client`. Starts PARLEY serve on loopback with MODEL and tiny golden models, once without and once
with a key; writes PICTURES/*.png. Exit status 0 when all holds, and the browser had nothing to complain of.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

from browser import Browser

KEY = "a-key-for-this-test"


class Server:
    def __init__(self, parley, golden, model, here, *options):
        models = [x for name in ("tts_a_base", "asr_a") for x in ("-m", f"{name}={golden}/models/{name}")]
        self.process = subprocess.Popen([parley, "serve", "-m", f"parley-tts={model}", *models, "--voices", os.path.join(here, "voices"), "--port", "0",
                                         *options], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        while True:
            try:
                urllib.request.urlopen(self.url + "/health")
                return
            except urllib.error.HTTPError:
                time.sleep(0.2)

    def close(self):
        self.process.terminate()
        self.process.wait()


def hold(what, value):
    if not value:
        sys.exit(f"page.py: {what}")
    print("ok", what, flush=True)


def speak(b):
    b.until("document.getElementById('speak-voice').length > 0")
    hold("the voices of the model are offered", b.run("[...document.getElementById('speak-voice').options].map(o => o.value).join()") == "wren")
    b.put("speak-seed", "7")
    b.run("document.getElementById('speak-text').focus()")
    b.press("Enter", modifiers=2)
    b.until("/of .*…/.test(document.getElementById('speak-status').textContent)")
    hold("Ctrl + Enter speaks, and sound is there before the end", True)
    b.until("!document.getElementById('speak-save').disabled")
    hold("the seed is shown", "seed 7" in b.text("speak-status"))
    lit = "(() => { const c = document.getElementById('speak-wave'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0) })()"
    hold("the waveform is drawn", b.run(lit))
    b.until("document.getElementById('speak-stop').disabled")
    length = lambda: float(re.search(r"of ([0-9.]+)", b.text("speak-status")).group(1))
    plain = length()
    b.click("speak-go")
    b.until("/of .*…/.test(document.getElementById('speak-status').textContent)")
    b.click("speak-stop")
    b.until("document.getElementById('speak-stop').disabled", 5)
    hold("Stop stops", b.text("speak-error") == "")
    b.put("speak-speed", "2")
    b.click("speak-go")
    b.until("document.getElementById('speak-save').disabled === false")
    b.until("document.getElementById('speak-stop').disabled")
    hold(f"at speed 2 it is half as long as {plain} s", abs(length() - plain / 2) < 0.11)
    b.put("speak-speed", "1")
    before = b.run("document.getElementById('speak-text').value")
    b.put("speak-text", "word " * 20000)
    b.click("speak-go")
    b.until("document.getElementById('speak-error').textContent")
    hold("an error is a sentence: " + b.text("speak-error")[:90], b.text("speak-error").endswith("."))
    b.put("speak-text", before)
    b.put("speak-seed", "")
    b.faults = [f for f in b.faults if "413" not in f and "400" not in f]


def listen(b, golden):
    b.run("document.getElementById('tab-speak').focus()")
    b.press("ArrowRight")
    hold("arrow keys change the tab", b.run("document.activeElement.id === 'tab-listen' && !document.getElementById('listen').hidden"))
    b.files("listen-file", f"{golden}/asr_clip_chirp/audio.wav")
    b.click("listen-go")
    b.until("document.getElementById('listen-text').textContent && !document.getElementById('listen-go').disabled")
    hold("a file is written down", b.text("listen-text") == "hello world")
    b.run("window.saved = []; HTMLAnchorElement.prototype.click = () => {}; URL.createObjectURL = (blob) => { saved.push(blob.text()); return 'blob:none' }")
    b.click("listen-srt")
    b.until("saved.length === 1")
    hold("subtitles are there to download", "-->" in b.run("saved[0]"))
    b.click("listen-microphone")
    b.until("/Recording, [2-9]/.test(document.getElementById('listen-status').textContent)")
    b.click("listen-stop")
    b.until("!document.getElementById('listen-go').disabled")
    hold("the microphone is written down: " + b.text("listen-text")[:60], b.text("listen-text") and not b.text("listen-error"))


def clone(b, golden):
    b.click("tab-clone")
    b.files("clone-file", f"{golden}/asr_clip_chirp/audio.wav")
    b.put("clone-name", "me")
    b.put("clone-said", "hello world")
    b.click("clone-go")
    b.until("document.querySelector('#clone-list button')")
    hold("a voice is kept", b.text("clone-status") == "me is kept")
    b.click("clone-go")
    b.until("document.getElementById('clone-error').textContent")
    hold("a name that is taken is told: " + b.text("clone-error"), "me" in b.text("clone-error"))
    b.faults = [f for f in b.faults if "409" not in f]
    b.run("document.querySelector('#clone-list button').click()")
    b.until("performance.getEntriesByType('resource').filter(e => e.name.endsWith('/speech')).length >= 4")
    hold("it can be tried", b.text("clone-error") == "")
    b.click("clone-record")
    b.until("/Recording, [1-9]/.test(document.getElementById('clone-status').textContent)")
    b.click("clone-record")
    hold("a recording can be made", b.text("clone-status").startswith("Recorded"))


def pictures(b, folder):
    os.makedirs(folder, exist_ok=True)
    for name, width, height, dark in (("desktop-light", 1100, 900, False), ("desktop-dark", 1100, 900, True), ("phone-light", 375, 812, False)):
        for tab in ("speak", "listen", "clone"):
            b.click("tab-" + tab)
            b.look(width, height, dark)
            hold(f"{tab} fits {name}", b.run("document.documentElement.scrollWidth <= innerWidth"))
            b.picture(os.path.join(folder, f"{tab}-{name}.png"))
    names = b.run("[...document.querySelectorAll('input, select, textarea')].filter(e => !e.labels.length).map(e => e.id).join()")
    hold("every field has a label", names == "")
    b.look(1100, 900)


def remove(b):
    b.click("tab-clone")
    b.run("setTimeout(() => document.querySelectorAll('#clone-list button')[1].click())")
    b.until("document.querySelector('#clone-list .empty')")
    hold("a voice can be removed", True)


def keyed(b, server):
    b.call("Page.navigate", url=server.url + "/")
    b.until("document.getElementById('key-form') && !document.getElementById('key-form').hidden")
    hold("a key is asked for", b.text("state") == "A key is needed")
    b.faults = [f for f in b.faults if "401" not in f]
    b.put("key", KEY)
    b.run("document.getElementById('key-form').requestSubmit()")
    b.until("document.getElementById('speak-voice').length > 0 && document.getElementById('key-form').hidden")
    hold("the key is used", True)
    b.click("tab-listen")
    b.click("listen-microphone")
    b.until("/Recording, [1-9]/.test(document.getElementById('listen-status').textContent)")
    b.click("listen-stop")
    b.until("!document.getElementById('listen-go').disabled")
    hold("the socket takes the key", b.text("listen-error") == "")


def main():
    parley, golden, model, folder = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as here:
        with open(os.path.join(here, "key"), "w", encoding="ascii") as file:
            file.write(KEY + "\n")
        servers = [Server(parley, golden, model, here), Server(parley, golden, model, here, "--api-key-file", os.path.join(here, "key"))]
        b = Browser(os.path.join(here, "profile"), f"{golden}/asr_clip_chirp/audio.wav")
        try:
            b.look(1100, 900)
            b.call("Page.navigate", url=servers[0].url + "/")
            b.until("document.readyState === 'complete'")
            speak(b)
            listen(b, golden)
            clone(b, golden)
            pictures(b, folder)
            remove(b)
            keyed(b, servers[1])
            hold(f"the browser complained of nothing {b.faults}", not b.faults)
        finally:
            b.close()
            for server in servers:
                server.close()


if __name__ == "__main__":
    main()
