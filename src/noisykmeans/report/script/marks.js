// What all pictures share: colours, numbers, ticks and marks.
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
