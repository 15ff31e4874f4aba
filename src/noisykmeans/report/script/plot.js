// A canvas with axes that can be zoomed, moved and read by mouse, touch and keyboard. A scene
// says what is drawn (draw), within which bounds (bounds), and what lies at a place (read).
class Plot {
  constructor(id) {
    this.holder = document.getElementById(id);
    this.canvas = this.holder.querySelector("canvas");
    this.tip = this.holder.querySelector(".tip");
    this.live = this.holder.querySelector("[aria-live]");
    this.pointers = new Map();
    this.cursor = null;
    this.measure();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  set(scene) { this.scene = scene; this.reset(); }
  reset() { this.box = this.scene.bounds(); this.hide(); this.draw(); }
  measure() {
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    let left = 58;
    if (this.box) {
      const c = this.canvas.getContext("2d");
      c.font = "12px system-ui, sans-serif";
      const log = this.scene.log && this.scene.log[1];
      const widths = ticks(...this.box.y, h / 60, log).map(([, text]) => c.measureText(text).width);
      left = Math.min(Math.max(left, 30 + Math.max(...widths, 0)), w / 3);
    }
    this.frame = { left, right: w - 12, top: 12, bottom: h - 44, w, h };
    return w > 0;
  }
  px(x) { const f = this.frame; return f.left + ((x - this.box.x[0]) / span(this.box.x)) * (f.right - f.left); }
  py(y) { const f = this.frame; return f.bottom - ((y - this.box.y[0]) / span(this.box.y)) * (f.bottom - f.top); }
  at(px, py) {
    const f = this.frame;
    return [
      this.box.x[0] + ((px - f.left) / (f.right - f.left)) * span(this.box.x),
      this.box.y[0] + ((f.bottom - py) / (f.bottom - f.top)) * span(this.box.y),
    ];
  }
  zoom(factor, place) {
    const [x, y] = place || [(this.box.x[0] + this.box.x[1]) / 2, (this.box.y[0] + this.box.y[1]) / 2];
    const whole = this.scene.bounds(), fixed = this.scene.fixed;
    const ratio = span(this.box.x) / span(whole.x) / factor;
    if (ratio > 4 || ratio < 1e-6) return;
    const about = (range, v) => range.map((end) => v + (end - v) / factor);
    this.box = { x: about(this.box.x, x), y: fixed ? this.box.y : about(this.box.y, y) };
    this.changed();
  }
  pan(u, v) {
    const dx = u * span(this.box.x), dy = this.scene.fixed ? 0 : v * span(this.box.y);
    this.box = { x: this.box.x.map((e) => e + dx), y: this.box.y.map((e) => e + dy) };
    this.changed();
  }
  changed() {
    const whole = this.scene.bounds();
    // One finger scrolls the page until there is something to move.
    this.canvas.style.touchAction = span(this.box.x) < 0.99 * span(whole.x) ? "none" : "auto";
    this.draw();
    if (this.cursor) this.read(...this.cursor);
  }
  draw() {
    if (!this.scene || !this.measure()) return;
    const scale = window.devicePixelRatio || 1, f = this.frame;
    this.canvas.width = Math.round(f.w * scale);
    this.canvas.height = Math.round(f.h * scale);
    const c = this.canvas.getContext("2d");
    c.scale(scale, scale);
    c.fillStyle = css("--back");
    c.fillRect(0, 0, f.w, f.h);
    c.save();
    c.beginPath(); c.rect(f.left, f.top, f.right - f.left, f.bottom - f.top); c.clip();
    this.scene.draw(c, this, scale);
    if (this.keyed && this.cursor) {
      const [x, y] = this.cursor;
      c.strokeStyle = ink(0.9); c.lineWidth = 1; c.setLineDash([4, 3]);
      c.beginPath(); c.moveTo(x, f.top); c.lineTo(x, f.bottom); c.moveTo(f.left, y); c.lineTo(f.right, y); c.stroke();
      c.setLineDash([]);
    }
    c.restore();
    this.axes(c, f);
    this.canvas.dataset.box = [...this.box.x, ...this.box.y].map((v) => v.toPrecision(6)).join(" ");
  }
  axes(c, f) {
    const s = this.scene;
    c.strokeStyle = css("--line"); c.lineWidth = 1;
    c.strokeRect(f.left, f.top, f.right - f.left, f.bottom - f.top);
    c.fillStyle = css("--soft"); c.font = "12px system-ui, sans-serif";
    c.textAlign = "center"; c.textBaseline = "top";
    let free = -Infinity; // labels do not touch
    for (const [v, text] of ticks(...this.box.x, (f.right - f.left) / 80, s.log && s.log[0])) {
      c.beginPath(); c.moveTo(this.px(v), f.bottom); c.lineTo(this.px(v), f.bottom + 4); c.stroke();
      const half = c.measureText(text).width / 2;
      if (this.px(v) - half < free) continue;
      c.fillText(text, this.px(v), f.bottom + 7);
      free = this.px(v) + half + 8;
    }
    c.textAlign = "right"; c.textBaseline = "middle";
    for (const [v, text] of ticks(...this.box.y, (f.bottom - f.top) / 60, s.log && s.log[1])) {
      c.beginPath(); c.moveTo(f.left - 4, this.py(v)); c.lineTo(f.left, this.py(v)); c.stroke();
      c.fillText(text, f.left - 7, this.py(v));
    }
    c.fillStyle = css("--text"); c.font = "13px system-ui, sans-serif";
    c.textAlign = "center"; c.textBaseline = "bottom";
    c.fillText(s.names[0], (f.left + f.right) / 2, f.h - 4, f.right - f.left);
    c.save(); c.translate(4, (f.top + f.bottom) / 2); c.rotate(-Math.PI / 2); c.textBaseline = "top";
    c.fillText(s.names[1], 0, 0, f.bottom - f.top); c.restore();
  }
  read(px, py) {
    const f = this.frame;
    if (px < f.left || px > f.right || py < f.top || py > f.bottom) return this.hide();
    const text = this.scene.read(px, py, this);
    if (!text) return this.hide();
    this.cursor = [px, py];
    this.tip.textContent = text;
    this.tip.hidden = false;
    const w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    this.tip.style.left = `${Math.max(Math.min(px + 14, f.w - w - 4), 2)}px`;
    this.tip.style.top = `${py + 18 + h > f.h ? Math.max(py - h - 10, 0) : py + 18}px`;
    if (this.keyed) { this.live.textContent = text; this.draw(); }
    return undefined;
  }
  hide() { this.cursor = null; this.tip.hidden = true; if (this.keyed) { this.keyed = false; this.draw(); } }
  listen() {
    const c = this.canvas;
    const place = (e) => { const r = c.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
    c.addEventListener("pointerdown", (e) => { this.pointers.set(e.pointerId, place(e)); if (e.pointerType === "mouse") c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", (e) => this.moved(e, place(e)));
    for (const name of ["pointerup", "pointercancel"])
      c.addEventListener(name, (e) => { this.pointers.delete(e.pointerId); if (e.pointerType !== "mouse") this.read(...place(e)); });
    c.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") this.hide(); });
    c.addEventListener("dblclick", (e) => this.zoom(2, this.at(...place(e))));
    c.addEventListener("wheel", (e) => {
      if (document.activeElement !== c && !e.ctrlKey) return; // the page scrolls
      e.preventDefault();
      this.zoom(Math.exp(-e.deltaY / 400), this.at(...place(e)));
    }, { passive: false });
    c.addEventListener("keydown", (e) => this.typed(e));
    c.addEventListener("blur", () => this.hide());
    for (const button of this.holder.parentElement.querySelectorAll("[data-zoom]"))
      button.addEventListener("click", () => {
        if (button.dataset.zoom === "0") this.reset(); else this.zoom(+button.dataset.zoom);
      });
  }
  moved(e, [px, py]) {
    const before = this.pointers.get(e.pointerId);
    if (!before) { this.keyed = false; this.read(px, py); return; }
    const f = this.frame;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
      const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      this.zoom(far([px, py]) / Math.max(far(before), 1), this.at((px + other[0]) / 2, (py + other[1]) / 2));
    } else if (e.pointerType === "mouse" || this.canvas.style.touchAction === "none") {
      this.tip.hidden = true;
      this.pan((before[0] - px) / (f.right - f.left), (py - before[1]) / (f.bottom - f.top));
    }
    this.pointers.set(e.pointerId, [px, py]);
  }
  typed(e) {
    const f = this.frame, ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const way = ways[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (way && e.shiftKey) this.pan(way[0] / 10, -way[1] / 10);
    else if (way) {
      const [x, y] = this.cursor || [(f.left + f.right) / 2, (f.top + f.bottom) / 2];
      const to = (v, low, high) => Math.min(Math.max(v, low + 1), high - 1);
      this.keyed = true;
      this.read(to(x + 12 * way[0], f.left, f.right), to(y + 12 * way[1], f.top, f.bottom));
    } else if (e.key === "+" || e.key === "=") this.zoom(1.5, this.cursor && this.at(...this.cursor));
    else if (e.key === "-" || e.key === "_") this.zoom(1 / 1.5, this.cursor && this.at(...this.cursor));
    else if (e.key === "0" || e.key === "Home") this.reset();
    else if (e.key === "Escape") this.hide();
    else return;
    e.preventDefault();
  }
}
