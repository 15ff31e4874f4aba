"""A real browser without a window, driven over its pipe by the DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def path_of_chromium():
    """Where the browser is, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One page of a browser; what the page logs and asks of the network is kept."""

    def __init__(self):
        path = path_of_chromium()
        if path is None:
            pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
        self.folder = tempfile.TemporaryDirectory()
        ours, theirs_out = os.pipe()
        theirs_in, self._out = os.pipe()
        command = [
            "bash",
            "-c",
            f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}',
            path,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}",
        ]
        self.process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in = os.fdopen(ours, "rb")
        self._rest, self._n, self.session = b"", 0, None
        self.messages, self.requests = [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self._in.close()
        os.close(self._out)
        self.folder.cleanup()

    def _read(self):
        while b"\0" not in self._rest:
            more = os.read(self._in.fileno(), 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(message)
        method = message.get("method")
        if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            text = json.dumps(message["params"])
            if "willReadFrequently" not in text:  # advice on what the tests read, not the page
                self.messages.append(text)
        if method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def send(self, method, **params):
        self._n += 1
        request = {"id": self._n, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._n:
                assert "error" not in answer, answer
                return answer["result"]

    def size(self, width, height=900):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, theme):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def open(self, path):
        self.messages.clear()
        self.requests.clear()
        self.send("Page.navigate", url=path.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass
        self.settle()

    def run(self, script):
        """What a script returns, a promise awaited."""
        result = self.send(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def settle(self):
        """Wait until the page has been drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key, *, shift=False):
        text = key if len(key) == 1 else ""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        codes |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        each = {"key": key, "modifiers": 8 * shift}
        each["windowsVirtualKeyCode"] = codes.get(key, ord(key[0]))
        if key == "Enter":
            text = "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **each)
        self.send("Input.dispatchKeyEvent", type="keyUp", **each)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def screenshot(self, path, *, whole=True):
        taken = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))
