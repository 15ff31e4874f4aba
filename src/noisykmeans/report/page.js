"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const ink = (alpha) => `rgba(${css("--ink")}, ${alpha})`;
  const colour = (j) => css(`--c${j % 7}`);
  const shapeOf = (j) => (j + Math.floor(j / 7)) % 7;
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const span = (a) => a[1] - a[0];

  // Numbers as people read them: four digits, no noise behind them.
  const show = (v) => {
    if (!Number.isFinite(v)) return "–";
    const size = Math.abs(v);
    const text = size !== 0 && (size >= 1e6 || size < 1e-4) ? v.toExponential(3).replace(/\.?0+e/, "e") : String(+v.toPrecision(4));
    return text.replace(/-/g, "−");
  };

  // Numbers on an axis, with the digits in which places on it differ, whatever its offset.
  const along = (v, range) => {
    const digits = 3 - Math.floor(Math.log10(range));
    return digits < 0 || digits > 7 ? show(v) : String(+v.toFixed(digits)).replace("-", "−");
  };

  // Ticks at 1, 2 or 5 times a power of ten; of a logarithmic axis, at such numbers themselves.
  function ticks(low, high, most, log) {
    if (log && high - low > 0.5) {
      const all = [];
      for (let e = Math.floor(low); e <= high; e += 1)
        for (const m of high - low > 2.5 ? [1] : [1, 2, 5]) {
          const at = e + Math.log10(m);
          if (at >= low && at <= high) all.push([at, show(m * 10 ** e)]);
        }
      if (all.length > 1) return all;
    }
    const rough = (high - low) / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i += 1)
      found.push([i * step, log ? show(10 ** (i * step)) : along(i ? i * step : 0, high - low)]);
    return found;
  }

  // Marks that differ in shape as well as in colour.
  function shape(c, kind, x, y, r) {
    c.beginPath();
    if (kind === 0) c.arc(x, y, r, 0, 7);
    else if (kind === 1) c.rect(x - r, y - r, 2 * r, 2 * r);
    else if (kind === 2) { c.moveTo(x, y - 1.3 * r); c.lineTo(x + 1.2 * r, y + r); c.lineTo(x - 1.2 * r, y + r); c.closePath(); }
    else if (kind === 3) { c.moveTo(x, y - 1.4 * r); c.lineTo(x + 1.4 * r, y); c.lineTo(x, y + 1.4 * r); c.lineTo(x - 1.4 * r, y); c.closePath(); }
    else if (kind === 4) { c.moveTo(x, y + 1.3 * r); c.lineTo(x + 1.2 * r, y - r); c.lineTo(x - 1.2 * r, y - r); c.closePath(); }
    else {
      const a = 1.3 * r, b = 0.45 * r, turn = kind === 6 ? Math.PI / 4 : 0;
      const corners = [[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]];
      corners.forEach(([u, v], i) => {
        const p = [x + u * Math.cos(turn) - v * Math.sin(turn), y + u * Math.sin(turn) + v * Math.cos(turn)];
        if (i) c.lineTo(...p); else c.moveTo(...p);
      });
      c.closePath();
    }
  }

  function star(c, x, y, r) {
    c.beginPath();
    for (let i = 0; i < 10; i += 1) {
      const a = (Math.PI * i) / 5 - Math.PI / 2, s = i % 2 ? 0.42 * r : r;
      c.lineTo(x + s * Math.cos(a), y + s * Math.sin(a));
    }
    c.closePath();
    c.fillStyle = ink(1); c.strokeStyle = css("--back"); c.lineWidth = 2; c.stroke(); c.fill();
  }

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

  // Values on a grid of one or two axes, as sent: 16 bits each, of the largest.
  class Field {
    constructor(sent) {
      const raw = new Uint16Array(bytes(sent.values));
      this.top = sent.top;
      this.f = Float32Array.from(raw, (v) => (v / 65535) * sent.top);
      Object.assign(this, { lower: sent.lower, spacing: sent.spacing, shape: sent.shape });
    }
    node(i, v) { return this.lower[i] + v * this.spacing[i]; }
    value(...x) {
      const u = x.map((v, i) => (v - this.lower[i]) / this.spacing[i]);
      if (u.some((v, i) => v < 0 || v > this.shape[i] - 1)) return 0;
      const i = u.map((v, axis) => Math.min(Math.floor(v), this.shape[axis] - 2));
      if (u.length === 1) { const t = u[0] - i[0]; return this.f[i[0]] * (1 - t) + this.f[i[0] + 1] * t; }
      const m = this.shape[1], k = i[0] * m + i[1], s = u[0] - i[0], t = u[1] - i[1];
      return (1 - s) * ((1 - t) * this.f[k] + t * this.f[k + 1]) + s * ((1 - t) * this.f[k + m] + t * this.f[k + m + 1]);
    }
    // One pixel for each node, the darker the denser; drawn large, the browser smooths it.
    image(rgb) {
      const [n, m] = this.shape, canvas = document.createElement("canvas");
      canvas.width = n; canvas.height = m;
      const c = canvas.getContext("2d"), pixels = c.createImageData(n, m), [r, g, b] = rgb.split(",").map(Number);
      for (let i = 0; i < n; i += 1)
        for (let j = 0; j < m; j += 1) {
          const k = 4 * ((m - 1 - j) * n + i);
          pixels.data.set([r, g, b, 150 * Math.sqrt(this.f[i * m + j] / this.top)], k);
        }
      c.putImageData(pixels, 0, 0);
      return canvas;
    }
    // Segments of the line where the field has that height, triangle by triangle.
    contour(level, line) {
      const [n, m] = this.shape, f = this.f;
      const corner = [[0, 0], [1, 0], [1, 1], [0, 1]];
      for (let i = 0; i < n - 1; i += 1)
        for (let j = 0; j < m - 1; j += 1) {
          const v = corner.map(([a, b]) => f[(i + a) * m + j + b] - level);
          if (Math.min(...v) > 0 || Math.max(...v) <= 0) continue;
          for (const t of [[0, 1, 2], [0, 2, 3]]) {
            const cuts = [];
            for (const [a, b] of [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]])
              if ((v[a] > 0) !== (v[b] > 0)) {
                const s = v[a] / (v[a] - v[b]);
                cuts.push([
                  this.node(0, i + corner[a][0] + s * (corner[b][0] - corner[a][0])),
                  this.node(1, j + corner[a][1] + s * (corner[b][1] - corner[a][1])),
                ]);
              }
            if (cuts.length === 2) line(...cuts);
          }
        }
    }
  }
  const field = (fields, axes) => (fields && fields[axes.join(",")] ? new Field(fields[axes.join(",")]) : null);

  const points = data.points && {
    columns: data.points.columns.map((text, i) => Float64Array.from(new Float32Array(bytes(text)), (v) => v + data.points.origin[i])),
    labels: data.points.labels, rows: data.points.rows,
  };
  const cluster = (j) => `cluster ${j}`;

  // Observations, density, cells and centers over two axes, or one.
  class Partition {
    constructor(axes, layers) {
      this.axes = axes; this.layers = layers; this.flat = axes.length === 1; this.fixed = this.flat;
      this.names = [data.axes[axes[0]], this.flat ? "density" : data.axes[axes[1]]];
      this.exact = data.exact.includes(axes.join(","));
      this.density = field(data.density, axes);
      this.observed = points ? null : field(data.observed, axes);
      this.centers = data.centers.map((center) => axes.map((a) => center[a]));
      this.errors = data.errors && data.errors.map((S) => axes.map((a) => axes.map((b) => S[a][b])));
      this.heat = new Map();
    }
    bounds() {
      if (this.whole) return this.whole;
      const range = (i) => {
        let low = Infinity, high = -Infinity;
        const take = (v) => { if (v < low) low = v; if (v > high) high = v; };
        if (points) points.columns[this.axes[i]].forEach((v) => { if (Number.isFinite(v)) take(v); });
        this.centers.forEach((center, j) => {
          const reach = this.errors ? 2.5 * Math.sqrt(this.errors[j][i][i]) : 0;
          take(center[i] - reach); take(center[i] + reach);
        });
        for (const grid of points ? [] : [this.observed, this.density])
          if (grid) { take(grid.node(i, 0)); take(grid.node(i, grid.shape[i] - 1)); }
        const margin = 0.05 * (high - low || 1);
        return [low - margin, high + margin];
      };
      const top = Math.max(this.density ? this.density.top : 0, this.observed ? this.observed.top : 0) || 1;
      this.whole = { x: range(0), y: this.flat ? [-0.16 * top, 1.06 * top] : range(1) };
      return this.whole;
    }
    nearest(...x) {
      let best = 0, least = Infinity;
      this.centers.forEach((center, j) => {
        const d = center.reduce((sum, v, i) => sum + (v - x[i]) ** 2, 0);
        if (d < least) { least = d; best = j; }
      });
      return best;
    }
    draw(c, plot, scale) {
      const on = this.layers;
      if (on.cells && this.exact) this.cells(c, plot, scale);
      if (this.flat) this.curves(c, plot);
      else {
        if (on.observations && this.observed) this.shade(c, plot, this.observed, css("--ink"));
        if (on.density && this.density) this.shade(c, plot, this.density, css("--heat"));
      }
      if (on.observations && points) this.dots(c, plot);
      if (!this.flat && on.density && this.density) this.contours(c, plot);
      if (on.centers) this.stars(c, plot);
    }
    cells(c, plot, scale) {
      const f = plot.frame, k = this.centers.length;
      const w = Math.max(Math.round(f.right - f.left), 1), h = this.flat ? 1 : Math.max(Math.round(f.bottom - f.top), 1);
      const key = [w, h, root.dataset.theme, ...plot.box.x, ...plot.box.y].join(" ");
      if (this.tinted !== key) { this.tint(plot, w, h, k); this.tinted = key; }
      c.imageSmoothingEnabled = scale !== 1 && !this.flat;
      c.drawImage(this.tints, f.left, f.top, f.right - f.left, f.bottom - f.top);
      c.imageSmoothingEnabled = true;
    }
    // One pixel for each place, of the colour of its cell.
    tint(plot, w, h, k) {
      this.tints = document.createElement("canvas");
      this.tints.width = w; this.tints.height = h;
      const d = this.tints.getContext("2d"), pixels = d.createImageData(w, h), which = new Uint16Array(w * h);
      const border = [...css("--ink").split(",").map(Number), 255];
      const tints = Array.from({ length: k }, (_, j) => [...[1, 3, 5].map((i) => parseInt(colour(j).slice(i, i + 2), 16)), 34]);
      const { x, y } = plot.box;
      for (let b = 0; b < h; b += 1)
        for (let a = 0; a < w; a += 1) {
          const u = x[0] + ((a + 0.5) / w) * span(x), v = y[1] - ((b + 0.5) / h) * span(y);
          let j = 0, least = Infinity;
          for (let i = 0; i < k; i += 1) {
            const center = this.centers[i];
            const far = (center[0] - u) ** 2 + (this.flat ? 0 : (center[1] - v) ** 2);
            if (far < least) { least = far; j = i; }
          }
          const at = b * w + a;
          which[at] = j;
          const edge = (a && which[at - 1] !== j) || (b && which[at - w] !== j);
          pixels.data.set(edge ? border : tints[j], 4 * at);
        }
      d.putImageData(pixels, 0, 0);
    }
    shade(c, plot, grid, rgb) {
      if (!this.heat.has(rgb)) this.heat.set(rgb, grid.image(rgb));
      const [n, m] = grid.shape;
      const left = plot.px(grid.node(0, -0.5)), top = plot.py(grid.node(1, m - 0.5));
      c.drawImage(this.heat.get(rgb), left, top, plot.px(grid.node(0, n - 0.5)) - left, plot.py(grid.node(1, -0.5)) - top);
    }
    contours(c, plot) {
      c.strokeStyle = ink(0.75); c.lineWidth = 1;
      for (let i = 1; i <= 7; i += 1) {
        c.beginPath();
        this.density.contour((this.density.top * i) / 8, (a, b) => { c.moveTo(plot.px(a[0]), plot.py(a[1])); c.lineTo(plot.px(b[0]), plot.py(b[1])); });
        c.stroke();
      }
    }
    curves(c, plot) {
      const base = plot.py(0);
      c.strokeStyle = css("--line"); c.lineWidth = 1;
      c.beginPath(); c.moveTo(plot.frame.left, base); c.lineTo(plot.frame.right, base); c.stroke();
      for (const [grid, on, rgb] of [[this.observed, this.layers.observations, css("--ink")], [this.density, this.layers.density, css("--heat")]]) {
        if (!grid || !on) continue;
        const n = grid.shape[0];
        const line = () => { for (let i = 0; i < n; i += 1) c.lineTo(plot.px(grid.node(0, i)), plot.py(grid.f[i])); };
        c.beginPath(); c.moveTo(plot.px(grid.node(0, 0)), base); line(); c.lineTo(plot.px(grid.node(0, n - 1)), base); c.closePath();
        c.fillStyle = `rgba(${rgb}, 0.16)`; c.fill();
        c.beginPath(); line(); c.strokeStyle = `rgb(${rgb})`; c.lineWidth = 1.8; c.stroke();
      }
    }
    place(i, plot) {
      const [xs, ys] = this.axes.map((a) => points.columns[a]);
      // On one axis the rows are spread below the curve, each at a height of its own.
      const y = this.flat ? plot.box.y[0] * (0.2 + 0.6 * ((i * 0.618034) % 1)) : ys[i];
      return [plot.px(xs[i]), plot.py(y)];
    }
    dots(c, plot) {
      const r = points.labels.length > 1500 ? 2.1 : 3;
      c.globalAlpha = points.labels.length > 1500 ? 0.55 : 0.75;
      const fill = this.centers.map((_, j) => colour(j));
      for (let i = 0; i < points.labels.length; i += 1) {
        const [x, y] = this.place(i, plot), j = points.labels[i];
        if (j < 0 || !Number.isFinite(x + y)) continue;
        c.fillStyle = fill[j];
        shape(c, shapeOf(j), x, y, r);
        c.fill();
      }
      c.globalAlpha = 1;
    }
    stars(c, plot) {
      this.centers.forEach((center, j) => {
        const x = plot.px(center[0]), y = this.flat ? plot.py(0) : plot.py(center[1]);
        if (this.errors) this.ellipse(c, plot, center, this.errors[j]);
        star(c, x, y, 10);
        c.font = "600 13px system-ui, sans-serif"; c.textAlign = "left"; c.textBaseline = "bottom";
        c.lineWidth = 3; c.strokeStyle = css("--back"); c.fillStyle = ink(1);
        c.strokeText(String(j), x + 9, y - 6); c.fillText(String(j), x + 9, y - 6);
      });
    }
    // The region that holds 95 % of the errors of a center.
    ellipse(c, plot, center, S) {
      c.beginPath();
      if (this.flat) {
        const reach = 1.95996 * Math.sqrt(S[0][0]), y = plot.py(0);
        const [a, b] = [plot.px(center[0] - reach), plot.px(center[0] + reach)];
        c.moveTo(a, y); c.lineTo(b, y); c.moveTo(a, y - 6); c.lineTo(a, y + 6); c.moveTo(b, y - 6); c.lineTo(b, y + 6);
      } else {
        const a = Math.sqrt(S[0][0]), b = a > 0 ? S[0][1] / a : 0, d = Math.sqrt(Math.max(S[1][1] - b * b, 0));
        for (let i = 0; i <= 72; i += 1) {
          const u = 2.44775 * Math.cos((i * Math.PI) / 36), v = 2.44775 * Math.sin((i * Math.PI) / 36);
          c.lineTo(plot.px(center[0] + a * u), plot.py(center[1] + b * u + d * v));
        }
      }
      c.strokeStyle = css("--back"); c.lineWidth = 4; c.stroke();
      c.strokeStyle = ink(1); c.lineWidth = 1.6; c.stroke();
    }
    read(px, py, plot) {
      let best = -1, least = 64;
      if (points && this.layers.observations)
        for (let i = 0; i < points.labels.length; i += 1) {
          const [x, y] = this.place(i, plot), far = (x - px) ** 2 + (y - py) ** 2;
          if (far < least) { least = far; best = i; }
        }
      this.centers.forEach((center, j) => {
        const y = this.flat ? plot.py(0) : plot.py(center[1]);
        if (this.layers.centers && (plot.px(center[0]) - px) ** 2 + (y - py) ** 2 < 100) best = -2 - j;
      });
      const one = (a, i, v) => `${data.axes[a]} = ${along(v, span(this.bounds()[i ? "y" : "x"]))}`;
      const line = (values) => this.axes.map((a, i) => one(a, i, values[i])).join("\n");
      if (best >= 0) {
        const values = this.axes.map((a) => points.columns[a][best]);
        return `row ${points.rows[best]}, ${cluster(points.labels[best])}\n${line(values)}`;
      }
      if (best < -1) {
        const j = -2 - best, S = this.errors && this.errors[j];
        const text = this.axes.map((a, i) => `${one(a, i, this.centers[j][i])}${S ? ` ± ${show(Math.sqrt(S[i][i]))}` : ""}`);
        return [`center of ${cluster(j)}`, ...text].join("\n");
      }
      const x = plot.at(px, py).slice(0, this.axes.length);
      const rest = [];
      if (this.density) rest.push(`density = ${show(this.density.value(...x))}`);
      if (this.observed) rest.push(`observed density = ${show(this.observed.value(...x))}`);
      if (this.exact) rest.push(cluster(this.nearest(...x)));
      return [line(x), ...rest].join("\n");
    }
  }

  // What a rule tried to choose the smoothing.
  class Criterion {
    constructor(tried) {
      const log = (v) => Math.log10(v);
      this.tried = tried;
      this.plane = tried.names.length === 2;
      this.log = [true, this.plane];
      this.x = tried.candidates.map((row) => log(row[0]));
      this.y = this.plane ? tried.candidates.map((row) => log(row[1])) : tried.criterion;
      this.names = this.plane ? tried.names.map((name) => `${tried.quantity} along ${name}`) : [tried.quantity, "criterion"];
      this.best = tried.criterion.indexOf(Math.min(...tried.criterion));
      const sorted = [...tried.criterion].sort((a, b) => a - b), low = sorted[0];
      // The worst are far off: shades differ up to three times the median's distance.
      this.level = (v) => Math.min((v - low) / (3 * (sorted[Math.floor(sorted.length / 2)] - low) || 1), 1);
    }
    bounds() {
      const range = (values) => {
        const low = Math.min(...values), high = Math.max(...values), margin = 0.07 * (high - low || 1);
        return [low - margin, high + margin];
      };
      return { x: range(this.x), y: range(this.y) };
    }
    draw(c, plot) {
      const order = this.x.map((_, i) => i).sort((a, b) => this.x[a] - this.x[b]);
      c.strokeStyle = colour(0); c.lineWidth = 1.5;
      if (!this.plane) { c.beginPath(); order.forEach((i) => c.lineTo(plot.px(this.x[i]), plot.py(this.y[i]))); c.stroke(); }
      order.forEach((i) => {
        const [x, y] = [plot.px(this.x[i]), plot.py(this.y[i])];
        c.beginPath(); c.arc(x, y, this.plane ? 7 : 4, 0, 7);
        c.fillStyle = this.plane ? `rgba(${css("--heat")}, ${this.level(this.tried.criterion[i])})` : colour(0);
        c.fill(); c.strokeStyle = ink(0.5); c.lineWidth = 1; c.stroke();
      });
      star(c, plot.px(this.x[this.best]), plot.py(this.y[this.best]), 10);
    }
    read(px, py, plot) {
      let best = -1, least = 400;
      this.x.forEach((_, i) => {
        const far = (plot.px(this.x[i]) - px) ** 2 + (plot.py(this.y[i]) - py) ** 2;
        if (far < least) { least = far; best = i; }
      });
      if (best < 0) return plot.keyed ? "no candidate here" : "";
      const rows = this.tried.names.map((name, i) => `${this.plane ? `${this.tried.quantity} along ${name}` : this.tried.quantity} = ${show(this.tried.candidates[best][i])}`);
      return [...rows, `criterion = ${show(this.tried.criterion[best])}${best === this.best ? " (chosen)" : ""}`].join("\n");
    }
  }

  // Wiring.
  const plots = [];
  const main = new Plot("partition");
  plots.push(main);
  const layers = {}, boxes = [...document.querySelectorAll("[data-layer]")];
  const menus = ["x", "y"].map((name) => document.getElementById(`axis-${name}`));
  const chosen = () => {
    if (!menus[0]) return data.shown;
    const [x, y] = menus.map((menu) => +menu.value);
    return y < 0 || x === y ? [x] : [x, y];
  };
  function swap(axes) {
    // Fields are sent once for each pair, in ascending order.
    return axes.length === 2 && axes[0] > axes[1] ? [axes[1], axes[0]] : axes;
  }
  function renew() {
    boxes.forEach((box) => { layers[box.dataset.layer] = box.checked; });
    main.set(new Partition(swap(chosen()), layers));
  }
  boxes.forEach((box) => box.addEventListener("change", () => { layers[box.dataset.layer] = box.checked; main.draw(); }));
  menus.forEach((menu) => menu && menu.addEventListener("change", renew));
  renew();
  if (data.criterion) {
    const second = new Plot("criterion");
    second.set(new Criterion(data.criterion));
    plots.push(second);
  }

  // The marks of the table are those of the picture.
  function marks() {
    document.querySelectorAll("canvas.mark").forEach((canvas) => {
      const j = +canvas.dataset.cluster, c = canvas.getContext("2d");
      canvas.width = canvas.height = 28;
      c.fillStyle = colour(j); shape(c, shapeOf(j), 14, 14, 9); c.fill();
    });
  }
  const toggle = document.getElementById("theme");
  function paint() {
    const dark = root.dataset.theme === "dark";
    toggle.textContent = dark ? "Light" : "Dark";
    toggle.setAttribute("aria-pressed", String(dark));
    plots.forEach((plot) => plot.draw());
    marks();
  }
  toggle.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("noisykmeans-theme", root.dataset.theme); } catch (error) { /* it lasts for this visit */ }
    paint();
  });
  window.addEventListener("beforeprint", paint);
  paint();

  // Tables are copied as spreadsheets take them: cells apart by tabulators.
  const rows = (table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.dataset.value || cell.textContent.trim()).join("\t")).join("\n");
  async function copy(text) {
    try { await navigator.clipboard.writeText(text); return true; } catch (error) {
      const area = document.createElement("textarea");
      area.value = text; area.style.position = "fixed"; area.style.opacity = "0";
      document.body.append(area); area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  document.querySelectorAll("[data-copy]").forEach((button) => {
    const words = button.textContent;
    button.addEventListener("click", async () => {
      const done = await copy(rows(document.getElementById(button.dataset.copy)));
      button.textContent = done ? "Copied" : "Select and copy by hand";
      setTimeout(() => { button.textContent = words; }, 1500);
    });
  });
})();
