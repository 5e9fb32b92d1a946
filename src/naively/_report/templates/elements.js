// ---- words and numbers -------------------------------------------------------------------------------------------------
const fix = (x, d) => !Number.isFinite(x) ? (x < 0 ? MINUS : "+") + "\u221e" : x.toFixed(d).replace("-", MINUS);
const signed = (x, d = 2) => {
  const t = fix(x, d);
  return /^\u2212?0[.0]*$/.test(t) ? (0).toFixed(d) : x > 0 ? "+" + t.replace("+", "") : t;
};
const whole = x => x.toLocaleString("en", { maximumFractionDigits: x >= 20 || Math.abs(x - Math.round(x)) < .005 ? 0 : 1 });
const plural = (n, one, many) => `${whole(n)} ${n === 1 ? one : many || one + "s"}`;
function percent(p) {                                           // never says 0 or 100 of what is neither
  const q = Math.min(p, 1 - p), d = q >= .001 || q <= 0 ? 1 : q >= .0001 ? 2 : 3;
  return q > 0 && q < 5e-6 ? (p < .5 ? "<0.001" : ">99.999") : (100 * p).toFixed(d);
}
function ratio(b) {
  if (!Number.isFinite(b)) return b > 0 ? "certain" : "impossible";
  const r = 2 ** Math.abs(b), t = r >= 1e6 ? "more than a million" : r < 10 ? r.toFixed(1) : whole(Math.round(r));
  return b >= 0 ? `${t} : 1` : `1 : ${t}`;
}
const number = (x, digits) => (Math.abs(x) >= 1e9 || (x && Math.abs(x) < 1e-6) ? x.toPrecision(6) : x.toFixed(digits)).replace("-", MINUS);
function shown(col, cell) {
  if (cell === null) return "unknown";
  if (cell === OTHER) return "another value";
  if (cell === TEXT) return col.text.value;
  if (col.kind === "text") return cell.length ? cell.map(i => col.words[i]).join(" ") : "(no known word)";
  return col.kind === "label" ? col.values[cell] : number(col.at[cell], Math.min(col.digits, 10));
}
function ticks(lo, hi, n) {
  const raw = (hi - lo) / n || 1, p = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(x => x * p).find(x => x >= raw * .999), out = [];
  for (let t = Math.ceil(lo / step - 1e-9) * step; t <= hi + step * 1e-9; t += step) out.push(+t.toPrecision(12));
  return out;
}
const short = x => (Math.abs(x) >= 10000 ? x.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 }) : String(+x.toPrecision(6))).replace("-", MINUS);

// ---- elements: every text goes through textContent ------------------------------------------------------------------------
function put(el, attrs, kids) {
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v === undefined || v === false || v === null) continue;
    if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
    else if (k === "style") for (const [p, x] of Object.entries(v)) el.style.setProperty(p, x);
    else el.setAttribute(k, v === true ? "" : v);
  }
  el.append(...kids.flat(9).filter(x => x !== null && x !== undefined && x !== false));
  return el;
}
const h = (tag, attrs, ...kids) => put(document.createElement(tag), attrs, kids);
const g = (tag, attrs, ...kids) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attrs, kids);
const named = text => text.split(/(?<=[_./-])/).flatMap((part, i) => i ? [document.createElement("wbr"), part] : [part]);
const hue = k => k < 0 ? "var(--rest)" : `var(--c${k % 10})`;
const swatch = k => h("span", { class: "swatch", style: { "--k": hue(k) }, "aria-hidden": "true" });
const page = document.getElementById("page"), main = h("main", {});
const section = (id, title, lead, ...kids) => h("section", { id, "aria-labelledby": id + "-title" }, h("h2", { id: id + "-title" }, title), lead && (lead.nodeType ? lead : h("p", { class: "lead" }, lead)), ...kids);
const card = (title, lead, ...kids) => h("div", { class: "card pad" }, h("h3", {}, title), lead && h("p", { class: "small soft" }, lead), ...kids);
