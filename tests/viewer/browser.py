"""Controls a page in headless Chromium through the driver's HTTP protocol (W3C WebDriver)."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND"]


def missing():
    """Returns the name of a missing program, or None."""
    return next((name for name in ("chromium", "chromedriver") if shutil.which(name) is None), None)


class Browser:
    def __init__(self, address, driver):
        self.address, self.driver = address, driver
        options = {"args": FLAGS, "binary": shutil.which("chromium")}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = self._call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self.address += "/" + made["sessionId"]

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def size(self, width, height):
        self._call("POST", "/window/rect", {"width": width, "height": height})

    def open(self, path, fragment=""):
        self._call("POST", "/url", {"url": "about:blank"})
        self._call("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri() + fragment})

    def run(self, script, *arguments):
        """Returns the value of a function's body; the body may await."""
        body = f"const done = arguments[arguments.length - 1]; (async function() {{ {script} }}).apply(null, arguments)" \
               ".then(value => done({value}), error => done({error: String(error.stack)}));"
        answer = self._call("POST", "/execute/async", {"script": body, "args": list(arguments)})
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")

    def command(self, name, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def pointer(self, *actions):
        """Sends mouse actions in WebDriver's form."""
        self._call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}]})

    def wheel(self, x, y, delta):
        self._call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": delta, "duration": 0}]}]})

    def keys(self, text):
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]}]})

    def log(self, kind):
        """Returns the log since the last call: "browser" or "performance"."""
        return self._call("POST", "/se/log", {"type": kind})

    def requests(self):
        """Returns the addresses requested since the last call."""
        sent = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [message["params"]["request"]["url"] for message in sent if message["method"] == "Network.requestWillBeSent"]

    def screenshot(self):
        return base64.b64decode(self._call("GET", "/screenshot"))

    def processor_seconds(self):
        """Returns the processor time that the browser's processes have taken so far."""
        ticks, found = 0, {self.driver}
        for stat in sorted(pathlib.Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):  # parents first
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended
            if int(fields[1]) in found:
                found.add(int(stat.parent.name))
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def quit(self):
        self._call("DELETE", "")


@contextlib.contextmanager
def browser():
    with socket.socket() as free, tempfile.TemporaryDirectory() as home:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home)
        try:
            until = time.monotonic() + 30
            while True:
                try:
                    opened = Browser(f"http://127.0.0.1:{port}/session", driver.pid)
                    break
                except urllib.error.URLError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.1)
            try:
                yield opened
            finally:
                opened.quit()
        finally:
            driver.terminate()
            driver.wait()
