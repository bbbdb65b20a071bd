"""A headless Chromium, driven over its debugging socket."""
import base64
import json
import os
import re
import subprocess
import time

import websocket  # PyPI: websocket-client


class Browser:
    def __init__(self, profile, microphone):
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}",
             "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={microphone}",
             "--autoplay-policy=no-user-gesture-required", "--remote-allow-origins=*", "about:blank"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"ws://[^/]+/", line)
            if found:
                break
        self.number, self.faults = 0, []
        self.socket = websocket.create_connection(found[0] + "devtools/browser/" + line.rsplit("/", 1)[1].strip(), timeout=60)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(domain + ".enable")

    session = None

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.event(answer)

    def event(self, event):
        """Dialogs are accepted; what the browser complains of is kept."""
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Page.javascriptDialogOpening":
            self.number += 1
            self.socket.send(json.dumps({"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}, "sessionId": self.session}))
        elif kind == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description", details["text"]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def run(self, code):
        result = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{code}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self, name):
        return self.run(f"document.getElementById('{name}').textContent")

    def click(self, name):
        self.run(f"document.getElementById('{name}').click()")

    def put(self, name, value):
        self.run(f"document.getElementById('{name}').value = {json.dumps(value)}")

    def files(self, name, path):
        node = self.call("DOM.querySelector", nodeId=self.call("DOM.getDocument")["root"]["nodeId"], selector="#" + name)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[os.path.abspath(path)])

    def press(self, key, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers)

    def until(self, code, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(f"!!({code})"):
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds} s: {code}; the page says: {self.run('document.body.innerText')[-600:]}")
            time.sleep(0.05)

    def look(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.run("dispatchEvent(new Event('resize'))")

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
