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
function renew() {
  boxes.forEach((box) => { layers[box.dataset.layer] = box.checked; });
  main.set(new Partition(chosen(), layers));
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
