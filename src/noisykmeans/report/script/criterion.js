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
