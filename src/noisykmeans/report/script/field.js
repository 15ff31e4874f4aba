// Values on a grid of one or two axes, as sent: 16 bits each, of the largest.
class Field {
  constructor(sent) {
    const raw = new Uint16Array(bytes(sent.values));
    this.top = sent.top;
    this.f = Float32Array.from(raw, (v) => (v / 65535) * sent.top);
    Object.assign(this, { lower: sent.lower, spacing: sent.spacing, shape: sent.shape });
  }
  transposed() {
    const [n, m] = this.shape, other = Object.assign(Object.create(Field.prototype), this);
    other.f = Float32Array.from(this.f, (_, k) => this.f[(k % n) * m + Math.floor(k / n)]);
    for (const name of ["lower", "spacing", "shape"]) other[name] = [...this[name]].reverse();
    return other;
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
// The field over some axes; fields are sent once for each pair, in ascending order.
function field(fields, axes) {
  if (!fields) return null;
  const sent = fields[axes.join(",")], turned = fields[[...axes].reverse().join(",")];
  if (sent) return new Field(sent);
  return turned ? new Field(turned).transposed() : null;
}
