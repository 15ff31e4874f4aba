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
    this.exact = data.exact.includes([...axes].sort((a, b) => a - b).join(","));
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
