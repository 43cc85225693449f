#!/usr/bin/env python3
"""chromium.py PAGE...: looks at pages in headless Chromium (DevTools through a pipe) at 390, 1280 and 1440
pixels, light and dark, with scripts and without: no message on the console, no request but the page itself,
nothing cut off, text that stands out from its ground, values under the pointer and by the keyboard, sections in
their order. PAGE.dom is what scripts have made of each (page_check.py). Exits 1 and names what is wrong; 77: there
is no Chromium. SHOTS=folder keeps a picture of each; QUICK=1 looks at one width."""
import base64, json, os, shutil, subprocess, sys, tempfile, time
from pathlib import Path

DEADLINE = 60
WIDTHS = (1280,) if os.environ.get("QUICK") else (390, 1280, 1440)
ORDER = ["chart", "results", "why", "measurements", "curves", "figures", "comparisons", "tuning", "time", "waits", "staleness",
         "losses", "pipelines", "classes", "settings"]

# What is wrong with the page as it stands: a list of sentences.
LOOK = r"""(() => {
  const wrong = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
  const shown = e => e.getClientRects().length > 0;
  for (const e of document.querySelectorAll('h1, h2, h3, p, li, figure, figcaption, pre, summary, dl, svg[role=img], .scroll')) {
    const r = e.getBoundingClientRect();
    if (shown(e) && !e.closest('.skip') && !e.classList.contains('skip') && !e.closest('.scroll table') && (r.right > root.clientWidth + 1 || r.left < -1))
      wrong.push(`${e.tagName} is cut off: ${e.textContent.slice(0, 40)}`);
  }
  for (const e of document.querySelectorAll('.results, .why'))
    if (shown(e) && e.parentElement.scrollWidth > e.parentElement.clientWidth + 1) wrong.push(`the table ${e.className} is wider than its page`);
  for (const e of document.querySelectorAll('pre, p, h1, h2, li, dd, summary'))
    if (shown(e) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth) wrong.push(`${e.tagName} overflows: ${e.textContent.slice(0, 40)}`);
  for (const t of document.querySelectorAll('svg[role=img] text')) {
    const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
    if (shown(t) && (a.right > b.right + 3 || a.left < b.left - 3)) wrong.push(`text leaves its picture: ${t.textContent}`);
  }
  const number = c => (c.match(/[\d.]+/g) || []).map(Number);
  const luminance = c => { const f = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const ground = e => { const layers = [];
    for (let n = e; n; n = n.parentElement) { const c = number(getComputedStyle(n).backgroundColor); if (c.length && c[3] !== 0) { layers.push(c); if (c[3] === undefined || c[3] === 1) break; } }
    let at = layers.pop() || [255, 255, 255];
    for (const c of layers.reverse()) at = at.slice(0, 3).map((v, i) => v * (1 - c[3]) + c[i] * c[3]);
    return at; };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const seen = new Set();
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const line = e.matches('path.line');
    if (!shown(e) || !(text || line) || e.closest('script, style, .skip, .in')) continue; // .in stands on a shape, not on the page
    const style = getComputedStyle(e), colour = number(line ? style.stroke : e.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const r = ratio(colour, ground(e)), key = `${e.tagName}.${e.className.baseVal ?? e.className} ${r.toFixed(2)}`;
    if (r < (line ? 3 : 4.5) && !seen.has(key)) { seen.add(key); wrong.push(`contrast of ${key}: ${e.textContent.slice(0, 30)}`); }
  }
  return wrong;
})()"""


class Chromium:
    def __init__(self, binary):
        self.profile = tempfile.mkdtemp()
        to_read, self.out = os.pipe()
        self.read, to_write = os.pipe()
        def hand_over():
            os.dup2(to_read, 3), os.dup2(to_write, 4)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                 f"--user-data-dir={self.profile}", "--hide-scrollbars=false", "about:blank"]
        high = [os.dup2(fd, fd + 20) for fd in (to_read, to_write)]  # out of the way of 3 and 4
        os.close(to_read), os.close(to_write)
        to_read, to_write = high
        self.process = subprocess.Popen([binary, *flags], preexec_fn=hand_over, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(to_write)
        self.pending, self.events, self.last = b"", [], 0
        os.set_blocking(self.read, False)

    def receive(self):
        end = time.monotonic() + DEADLINE
        while b"\0" not in self.pending:
            try:
                piece = os.read(self.read, 1 << 20)
                if not piece:
                    raise SystemExit("chromium: ended")
                self.pending += piece
            except BlockingIOError:
                if time.monotonic() > end:
                    raise SystemExit("chromium: no answer")
                time.sleep(0.002)
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise SystemExit(f"chromium: {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Tab:
    def __init__(self, browser):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, text):
        answer = self.call("Runtime.evaluate", expression=text, returnByValue=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"chromium: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, page, width, dark, scripts):
        self.browser.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.browser.wait_for("Page.loadEventFired")

    def complaints(self, page):
        """Of the console, and requests for anything else."""
        for event in self.browser.events:
            parameters = event.get("params", {})
            if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                yield f"console: {json.dumps(parameters)[:300]}"
            if event.get("method") == "Network.requestWillBeSent" and parameters["request"]["url"].split("#")[0] != page.resolve().as_uri():
                yield f"request: {parameters['request']['url']}"

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 9000), "scale": 1})
        path.write_bytes(base64.b64decode(data["data"]))


TIP = "[...document.querySelectorAll('.tip b')].map(b => b.textContent.split(' ')[0])"


def hover(tab):
    """The pointer over the chart: a tip says the values nearest to it; and so do the arrow keys."""
    if not tab.evaluate("!!document.querySelector('.hero:not(.schedule) svg.chart')"):
        return
    tab.evaluate("document.querySelector('.hero:not(.schedule) svg.chart').scrollIntoView({block: 'center'})")
    place = tab.evaluate("(r => [r.left + r.width * .4, r.top + r.height * .5])(document.querySelector('.hero:not(.schedule) svg.chart').getBoundingClientRect())")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    told = tab.evaluate(TIP)
    if not told:
        yield "no values under the pointer"
    box = tab.evaluate("(t => t ? (r => [r.left, r.right, document.documentElement.clientWidth])(t.getBoundingClientRect()) : null)(document.querySelector('.tip'))")
    if box and (box[0] < 0 or box[1] > box[2]):
        yield f"the tip is cut off: {box}"
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    tab.evaluate("document.querySelector('.hero:not(.schedule) svg.chart').focus()")
    for key in ("Home", "ArrowRight"):
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    if not tab.evaluate(TIP):
        yield "no values by the keyboard"
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    if tab.evaluate(TIP):
        yield "the tip stays"


def order(tab):
    """What is concluded comes first; then the sections, in their order; what comes last is folded."""
    parts = tab.evaluate("[...document.querySelectorAll('main > [id]')].map(e => e.id)")
    if not parts or parts != [part for part in ORDER if part in parts]:
        yield f"sections: {parts}"
    if tab.evaluate("document.querySelector('.conclusion').getBoundingClientRect().top > document.querySelector('main').getBoundingClientRect().top"):
        yield "the conclusion is not first"
    if tab.evaluate("!(document.querySelector('#settings') instanceof HTMLDetailsElement) || document.querySelector('#settings').open"):
        yield "the settings are not folded"
    if tab.evaluate("document.querySelector('main').textContent.includes('could not be drawn')"):
        yield "a part could not be drawn"


def look(tab, page, shots):
    for width in WIDTHS:
        for dark in (False, True):
            for scripts in (True, False):
                tab.open(page, width, dark, scripts)
                where = f"{page.name}, {width} px, {'dark' if dark else 'light'}, scripts {'on' if scripts else 'off'}"
                found = tab.evaluate(LOOK)
                if scripts and not dark:
                    found += [*hover(tab), *order(tab)]
                    page.with_suffix(".dom").write_text(tab.evaluate("document.documentElement.outerHTML"))
                if shots and scripts:
                    tab.picture(Path(shots) / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")
                tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true); dispatchEvent(new Event('resize'))")
                if scripts and tab.evaluate("[...document.querySelectorAll('figure')].some(f => !f.querySelector('svg'))"):
                    found.append("a picture that is not drawn when it is seen")
                found += [f"all opened: {wrong}" for wrong in tab.evaluate(LOOK) if wrong not in found]
                yield from (f"{where}: {wrong}" for wrong in [*found, *tab.complaints(page)])


def main():
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not binary:
        print("chromium.py: no Chromium here")
        return 77
    for page in sys.argv[1:]:
        Path(page).stat()
    browser = Chromium(binary)
    try:
        tab = Tab(browser)
        wrong = [line for page in sys.argv[1:] for line in look(tab, Path(page), os.environ.get("SHOTS"))]
    finally:
        browser.close()
    print("\n".join(line[:200] for line in wrong[:30]) or f"{len(sys.argv) - 1} pages looked at")
    return 1 if wrong else 0


sys.exit(main())
