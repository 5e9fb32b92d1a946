// ---- the nomogram -------------------------------------------------------------------------------------------------------------
const EXAMPLE = D.columns.map(c => c.example), LIVE = !D.not_live, FEW = 12;
const best = p => p.indexOf(Math.max(...p));
const state = { cells: EXAMPLE.slice(), c: LIVE ? best(posterior(scores(EXAMPLE))) : 0, base: -1, order: [] };
const rows = [], out = {}, watchers = [];
let limit = 1;
const rival = () => state.base >= 0 ? D.classes[state.base].label : K === 2 ? D.classes[1 - state.c].label : "the rest";
const pos = b => 50 + 50 * Math.max(-1, Math.min(1, b / limit));
const axisTicks = () => ticks(-limit, limit, 4).filter(t => Math.abs(t) > 1e-9 && Math.abs(t) <= limit);
let due = 0;
function schedule() { if (!due) due = requestAnimationFrame(() => { due = 0; refresh(); }); }
function set(j, cell) { state.cells[j] = cell; schedule(); }

function numberRow(col, j) {
  const at = col.at, few = at.length <= 16, edges = col.histogram ? col.histogram.edges : [at[0], at.at(-1)];
  const lo = Math.min(at[0], edges[0]), hi = Math.max(at.at(-1), edges.at(-1)), X = x => 100 * (x - lo) / (hi - lo || 1);
  const pos1 = g("path", { class: "for" }), neg1 = g("path", { class: "against" }), line1 = g("path", { class: "line" });
  const hair = h("div", { class: "hair" }), knob = h("div", { class: "knob" });
  const dots = few ? at.map(x => h("div", { class: "dot", style: { left: X(x) + "%" } })) : [];
  const inner = h("div", { class: "in" },
    g("svg", { class: "curve", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, pos1, neg1, g("line", { class: "zero", x1: 0, x2: 100, y1: 50, y2: 50 }), line1),
    col.histogram && g("svg", { class: "data", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, bars(col.histogram, X)),
    (few ? at : ticks(lo, hi, 5)).map(t => h("span", { class: "tick", style: { left: X(t) + "%" } }, short(t))), dots, hair, knob);
  const strip = h("div", { class: "strip", role: "slider", tabindex: "0", "aria-label": col.name, "aria-valuemin": at[0], "aria-valuemax": at.at(-1) }, inner);
  const middle = () => typeof EXAMPLE[j] === "number" ? EXAMPLE[j] : nearest(at, (at[0] + at.at(-1)) / 2);
  const follow = e => { const r = inner.getBoundingClientRect(); set(j, nearest(at, lo + (hi - lo) * Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)))); };
  strip.addEventListener("pointerdown", e => { if (e.button) return; strip.setPointerCapture(e.pointerId); strip.focus({ preventScroll: true }); follow(e); });
  strip.addEventListener("pointermove", e => { if (strip.hasPointerCapture(e.pointerId)) follow(e); });
  strip.addEventListener("keydown", e => {
    const n = at.length - 1, i = state.cells[j], big = Math.max(1, Math.round(n / 10));
    const go = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: big, PageDown: -big }[e.key];
    if (go) set(j, i === null ? middle() : Math.max(0, Math.min(n, i + go * (e.shiftKey ? big : 1))));
    else if (e.key === "Home") set(j, 0);
    else if (e.key === "End") set(j, n);
    else if (e.key === "Delete" || e.key === "Backspace") set(j, null);
    else return;
    e.preventDefault();
  });
  const size = Math.max(shown(col, 0).length, shown(col, at.length - 1).length);
  const box = h("input", { class: "box", type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "unknown", "aria-label": col.name + ", value", style: { width: Math.max(78, 20 + 8.4 * size) + "px" } });
  box.addEventListener("change", () => {
    const t = box.value.trim().replace(MINUS, "-").replace(",", "."), x = Number(t);
    set(j, t === "" || Number.isNaN(x) ? null : nearest(at, x));
  });
  const unknown = h("button", { class: "unknown", type: "button", "aria-label": col.name + " unknown", onclick: () => set(j, state.cells[j] === null ? middle() : null) }, "unknown");
  let key = "";
  return { name: h("div", { class: "name" }, h("b", {}, named(col.name)), h("div", { class: "entry" }, box, unknown)), control: strip,
    draw(i, b, w) {
      const all = at.map((_, n) => bits(col, n, state.c, w)), Y = v => 100 - pos(v), now = w.map(x => x.toFixed(4)) + "|" + state.c + "|" + limit;
      if (now !== key) {                                        // the curve moves only with the class and its opponent
        key = now;
        const xs = at.map(X), path = f => xs.map((x, n) => `${x.toFixed(2)} ${Y(f(all[n])).toFixed(2)}`).join("L");
        const back = `L${xs.at(-1).toFixed(2)} 50L${xs[0].toFixed(2)} 50Z`;
        line1.setAttribute("d", "M" + path(v => v));
        pos1.setAttribute("d", "M" + path(v => Math.max(v, 0)) + back);
        neg1.setAttribute("d", "M" + path(v => Math.min(v, 0)) + back);
        dots.forEach((p, n) => { p.style.top = 3 + .46 * Y(all[n]) + "px"; });
      }
      strip.classList.toggle("off", i === null);
      unknown.setAttribute("aria-pressed", i === null);
      box.value = i === null ? "" : shown(col, i);
      strip.setAttribute("aria-valuenow", at[i ?? 0]);
      strip.setAttribute("aria-valuetext", `${shown(col, i)}, ${signed(b)} bits`);
      if (i !== null) {
        hair.style.left = knob.style.left = X(at[i]) + "%";
        knob.style.top = 3 + .46 * Y(b) + "px";
        knob.classList.toggle("neg", b < 0);
      }
      return [Math.min(...all), Math.max(...all)];
    } };
}
function bars({ edges, counts }, X) {                           // the data beneath a curve, all classes together
  const total = edges.slice(1).map((_, b) => sumOf(counts.map(l => l[b])) / (edges[b + 1] - edges[b])), top = Math.max(...total);
  return total.map((t, b) => { const a = X(edges[b]), e = X(edges[b + 1]), m = Math.min(.25, (e - a) * .12); return g("rect", { x: a + m, width: Math.max(e - a - 2 * m, .1), y: 100 - 100 * t / top, height: 100 * t / top }); });
}
function chip(type, name, text, onchange, extra) {
  const input = h("input", { type, name, onchange }), n = h("i", {});
  return { el: h("label", { class: "chip " + (extra || "") }, input, h("span", {}, text), n), input, n };
}
function paint(one, b, checked) {
  one.n.textContent = signed(b);
  one.el.style.setProperty("--hue", b >= 0 ? "var(--for)" : "var(--against)");
  one.el.style.setProperty("--a", Math.min(1, Math.abs(b) / limit) * 34);
  one.input.checked = checked;
}
function labelRow(col, j) {
  const many = col.values.length > 16, name = "column" + j, group = h("fieldset", { class: "chips" }, h("legend", { class: "hide" }, col.name));
  const chips = col.values.map((v, i) => chip("radio", name, v === "" ? "(empty)" : v, () => set(j, i)));
  const other = col.other && chip("radio", name, "another value", () => set(j, OTHER), "none"), none = chip("radio", name, "unknown", () => set(j, null), "none");
  group.addEventListener("keydown", e => { if (e.key === "Delete" || e.key === "Backspace") { set(j, null); none.input.focus(); e.preventDefault(); } });
  const pick = h("select", { "aria-label": col.name, onchange: () => set(j, pick.value === "" ? null : pick.value === OTHER ? OTHER : +pick.value) });
  let order = "";
  return { name: h("div", { class: "name" }, h("b", {}, named(col.name))), control: many ? pick : group,
    draw(i, b, w) {
      const all = col.values.map((_, n) => bits(col, n, state.c, w)), now = state.c + "|" + state.base;
      if (now !== order) {                                      // in the order of evidence; it stays while values are chosen
        order = now;
        const by = [...all.keys()].sort((x, y) => all[x] - all[y]);
        if (many) pick.replaceChildren(h("option", { value: "" }, "unknown"), ...by.map(n => h("option", { value: n }, `${col.values[n]}  (${signed(all[n])})`)), ...(other ? [h("option", { value: OTHER }, "another value")] : []));
        else group.replaceChildren(group.firstChild, ...by.map(n => chips[n].el), ...(other ? [other.el] : []), none.el);
      }
      pick.value = i === null ? "" : i;
      if (!many) chips.forEach((x, n) => paint(x, all[n], n === i));
      if (other) paint(other, bits(col, OTHER, state.c, w), i === OTHER);
      paint(none, bits(col, null, state.c, w), i === null);
      for (const x of [other, none]) if (x && /^0\.0+$/.test(x.n.textContent)) x.n.textContent = "";
      return all;
    } };
}
function textRow(col, j) {
  const words = col.words.map((word, i) => chip("checkbox", "column" + j, word, () => {
    const now = new Set(Array.isArray(state.cells[j]) ? state.cells[j] : []);
    if (!now.delete(i)) now.add(i);
    set(j, [...now].sort((a, b) => a - b));
  }));
  const given = col.text && chip("checkbox", "column" + j, "the given text", () => set(j, state.cells[j] === TEXT ? null : TEXT), "none");
  const none = chip("checkbox", "column" + j, "unknown", () => set(j, state.cells[j] === null ? [] : null), "none");
  const group = h("fieldset", { class: "chips" }, h("legend", { class: "hide" }, col.name + ", words of the text"), words.map(x => x.el), given && given.el, none.el);
  return { name: h("div", { class: "name" }, h("b", {}, named(col.name)), h("span", { class: "small soft" }, "switch words on")), control: group,
    draw(i, b, w) {
      words.forEach((x, n) => paint(x, bits(col, [n], state.c, w), Array.isArray(i) && i.includes(n)));
      if (given) paint(given, bits(col, TEXT, state.c, w), i === TEXT);
      paint(none, bits(col, null, state.c, w), i === null);
      return [0, ...col.words.map((_, n) => bits(col, [n], state.c, w))];
    } };
}
const ROWS = { number: numberRow, label: labelRow, text: textRow };
function evidenceAxis() {
  const el = h("div", { class: "axis" }), bar = h("div", { class: "bar" }), back = h("span", {});
  el.append(back, h("div", { class: "middle" }), bar);
  return { el, draw(b, reach, dots) {
    const a = pos(Math.min(0, b)), e = pos(Math.max(0, b)), key = [limit, ...(reach || []).map(x => x.toFixed(4))].join();
    bar.style.left = a + "%"; bar.style.width = Math.max(e - a, 0) + "%"; bar.classList.toggle("neg", b < 0);
    if (back.dataset.key === key) return;
    back.dataset.key = key;
    back.replaceChildren(...axisTicks().map(t => h("div", { class: "rule", style: { left: pos(t) + "%" } })));
    if (reach && reach.length) back.append(h("div", { class: "reach", style: { left: pos(Math.min(...reach)) + "%", right: 100 - pos(Math.max(...reach)) + "%" } }), ...(dots ? reach.map(x => h("div", { class: "pip", style: { left: pos(x) + "%" } })) : []));
  } };
}
function rowOf(kind, name, control) {
  const axis = evidenceAxis(), n = h("div", { class: "n num" }), run = h("div", { class: "run num" });
  return { axis, n, run, control, el: h("div", { class: "r " + kind }, name, h("div", { class: "control" }, control), axis.el, n, run) };
}
const plainRow = (name, kind) => rowOf("plain " + (kind || ""), h("div", { class: "name" }, h("b", {}, name)), h("span", { class: "small soft" }));
const list = h("div", { class: "rows" }), prior = plainRow("Prior"), total = plainRow("Sum", "end");
const fixedRows = D.fixed.map(f => plainRow(f.name));
const fold = h("button", { type: "button", class: "fold", onclick: () => { list.classList.toggle("all"); folded(); } });
function folded() { fold.textContent = list.classList.contains("all") ? "Show fewer columns" : `Show ${plural(D.columns.length - FEW, "more column")}`; fold.setAttribute("aria-expanded", list.classList.contains("all")); }

function nomogram() {
  if (!LIVE) return section("try", "Try a row", D.not_live);
  const choose = k => { state.c = k; if (state.base === k) state.base = -1; contrast(); };
  out.pick = K > 6 ? h("select", { "aria-label": "Class", onchange: e => choose(+e.target.value) }, D.classes.map((c, k) => h("option", { value: k, selected: k === state.c }, c.label)))
    : h("div", { class: "seg", role: "radiogroup", "aria-label": "Class" }, D.classes.map((c, k) => h("label", {}, h("input", { type: "radio", name: "class", value: k, checked: k === state.c, onchange: () => choose(k) }), swatch(k), h("span", { class: "cut" }, c.label))));
  out.against = h("select", { "aria-label": "Against", onchange: e => { state.base = +e.target.value; contrast(); } });
  out.who = h("span", {}, "against ", K === 2 ? h("span", {}) : out.against);
  out.big = h("span", { id: "probability" }); out.live = h("output", { class: "hide", "aria-live": "polite" });
  out.stack = h("div", { class: "stack", role: "img" }, D.classes.map((_, k) => h("i", { style: { "--k": hue(k) } })));
  out.shares = h("div", { class: "shares" }, D.classes.map((c, k) => h("span", {}, swatch(k), h("span", { class: "cut" }, c.label), h("b", { class: "num" }))));
  out.how = h("div", { class: "how num" }); out.tot = h("div", { class: "tot num" });
  const restore = cells => () => { state.cells = cells(); schedule(); };
  D.columns.forEach((col, j) => { const r = ROWS[col.kind](col, j); rows.push({ ...rowOf("", r.name, r.control), draw: r.draw, dots: col.kind === "label" }); });
  const tells = D.columns.some(col => new Set(col.unknown.map(x => x.toFixed(9))).size > 1);
  folded();
  return section("try", "Try a row", "Every column adds evidence, in bits; one bit doubles the odds. Move a marker or choose a value, and the probability follows. What is unknown adds nothing" + (tells ? ", unless its absence was telling in the data." : "."),
    h("div", { class: "answer" }, h("div", { class: "big num" }, out.big, h("small", {}, "%")),
      h("div", { class: "mid" }, h("div", { class: "ask" }, h("span", {}, "Probability of"), out.pick, out.who), h("div", { class: "stackbox" }, out.stack, out.shares)),
      h("div", { class: "sum" }, h("div", {}, out.how, out.tot), h("div", { class: "acts" },
        h("button", { type: "button", onclick: restore(() => D.columns.map(() => null)) }, "All unknown"),
        h("button", { type: "button", onclick: restore(() => EXAMPLE.slice()) }, D.has_row ? "Given row" : "Middle row"))), out.live),
    list, D.columns.length > FEW && fold,
    h("p", { class: "hint" }, "Keys: ", h("kbd", {}, "Tab"), " goes from column to column, ", h("kbd", {}, "\u2190"), " ", h("kbd", {}, "\u2192"), " change a value (with ", h("kbd", {}, "Shift"), " in larger steps), ", h("kbd", {}, "Home"), " ", h("kbd", {}, "End"), " go to its ends, ", h("kbd", {}, "Delete"), " makes it unknown. Numbers stop at points where the model was asked: there the answer is the model\u2019s own.", K > 2 ? " Against the rest, the other classes are one opponent, weighed by how probable they are, so curves move a little as the row changes." : ""));
}
function contrast() {                                           // another class or opponent: scale, order and colours anew
  const { c, base } = state;
  page.style.setProperty("--for", hue(c));
  page.style.setProperty("--against", base >= 0 ? hue(base) : K === 2 ? hue(1 - c) : "var(--rest)");
  limit = widest(c, base);
  if (K === 2) out.who.lastChild.textContent = rival();
  else { out.against.replaceChildren(h("option", { value: -1 }, "the rest"), ...others(c).map(k => h("option", { value: k }, D.classes[k].label))); out.against.value = base; }
  state.order = D.columns.map((col, j) => [matters(col, c, base), j]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(x => x[1]);
  const held = document.activeElement;
  const head = h("div", { class: "r head", "aria-hidden": "true" }, h("span", {}, "Column"), h("span", {}, "Value; the most telling column first"),
    h("div", { class: "axis" }, h("span", { class: "side l" }, "\u2190 " + rival()), h("span", { class: "side rt" }, D.classes[c].label + " \u2192"), [...axisTicks(), 0].map(t => h("span", { class: "t num", style: { left: pos(t) + "%" } }, t ? signed(t, t % 1 ? 1 : 0) : "0"))),
    h("span", { class: "n" }, "bits"), h("span", { class: "run" }, "sum"));
  list.replaceChildren(head, prior.el, ...fixedRows.map(r => r.el), ...state.order.map(j => rows[j].el), total.el);
  rows.forEach((r, j) => r.el.classList.toggle("late", state.order.indexOf(j) >= FEW));
  if (held && held.isConnected) held.focus({ preventScroll: true });
  refresh();
  watchers.forEach(f => f());
}
function refresh() {
  const { cells, c, base } = state, s = scores(cells), p = posterior(s), w = opponent(s, c, base), start = odds(LP, c, base), end = odds(s, c, base);
  out.big.textContent = percent(p[c]); out.big.dataset.p = JSON.stringify(p); out.big.dataset.bits = end;
  [...out.stack.children].forEach((el, k) => { el.style.flexGrow = p[k]; });
  out.stack.setAttribute("aria-label", CLASSES.slice().sort((a, b) => p[b] - p[a]).slice(0, 6).map(k => `${D.classes[k].label} ${percent(p[k])}%`).join(", "));
  const top = K > 6 ? CLASSES.slice().sort((a, b) => p[b] - p[a]).slice(0, 4) : null;   // of many classes, the four most probable
  [...out.shares.children].forEach((el, k) => { el.lastChild.textContent = percent(p[k]) + "%"; el.hidden = !!top && !top.includes(k); el.style.order = top ? top.indexOf(k) : 0; });
  out.how.textContent = `prior ${signed(start)}, evidence ${signed(end - start)}`;
  out.tot.replaceChildren(`${signed(end)} bits \u00b7 `, h("span", { class: "wide" }, "odds "), ratio(end));
  clearTimeout(refresh.say);
  refresh.say = setTimeout(() => { out.live.textContent = `${D.classes[c].label}: ${percent(p[c])} percent`; }, 500);
  const steps = [{ name: "Prior", b: start }];
  let sum = start;
  const fill = (r, b, silent, reach) => { r.axis.draw(b, reach, r.dots); r.n.textContent = silent ? "\u2013" : signed(b); r.run.textContent = silent ? "" : signed(sum); r.el.classList.toggle("off", silent); };
  fill(prior, start, false);
  prior.control.textContent = `${percent(Math.exp(LP[c]))}% before anything is known`;
  D.fixed.forEach((f, i) => { const b = against(k => f.evidence[k], c, w); sum += b; fixedRows[i].control.textContent = f.reason; fill(fixedRows[i], b, Math.abs(b) < 1e-12); steps.push({ name: f.name, b }); });
  for (const j of state.order) {
    const b = bits(D.columns[j], cells[j], c, w), silent = cells[j] === null && Math.abs(b) < 1e-12;
    sum += b;
    fill(rows[j], b, silent, rows[j].draw(cells[j], b, w));
    if (!silent) steps.push({ name: D.columns[j].name, value: shown(D.columns[j], cells[j]), b });
  }
  sum = end;
  fill(total, end, false);
  total.control.textContent = `${D.classes[c].label}: ${percent(p[c])}%`;
  waterfall(steps, end, D.classes[c].label, rival(), p[c], D.columns.length + D.fixed.length + 1 - steps.length);
}
// ---- the row, step by step ------------------------------------------------------------------------------------------------
const falls = h("div", { class: "card fall" }), fallLead = h("p", { class: "lead" });
const copy = h("button", { type: "button", onclick: async () => {
  try { await navigator.clipboard.writeText(asPython()); copy.textContent = "Copied"; } catch { prompt("The row as Python", asPython()); }
  setTimeout(() => { copy.textContent = "Copy this row as Python"; }, 1200);
} }, "Copy this row as Python");
function asPython() {
  const quote = t => JSON.stringify(t).replace(/[\u007f-\uffff]/g, x => "\\u" + x.charCodeAt(0).toString(16).padStart(4, "0"));
  const literal = (col, cell) => cell === null || cell === OTHER ? "None" : col.kind === "label" ? col.literals[cell] : col.kind === "text" ? quote(shown(col, cell)) : String(col.at[cell]);
  return "{" + D.columns.map((col, j) => `${quote(col.name)}: ${literal(col, state.cells[j])}`).join(", ") + "}";
}
function waterfall(steps, end, label, opposed, p, unknown) {
  const most = 12, strong = steps.slice(1).sort((a, b) => Math.abs(b.b) - Math.abs(a.b)), shownSteps = [steps[0], ...strong.slice(0, most)];
  if (strong.length > most) shownSteps.push({ name: "", value: plural(strong.length - most, "weaker term"), b: sumOf(strong.slice(most).map(x => x.b)) });
  let at = 0;
  for (const x of shownSteps) { x.from = at; at += x.b; x.to = at; }
  const ends = [0, end, ...shownSteps.flatMap(x => [x.from, x.to])].filter(Number.isFinite), lo = Math.min(...ends), hi = Math.max(...ends);
  const X = v => 2 + 96 * (Math.max(lo, Math.min(hi, v)) - lo) / (hi - lo || 1);
  const line = (x, i, end2) => h("div", { class: "w " + (end2 || "") }, h("div", { class: "t" }, x.name, x.value !== undefined && h("em", {}, " " + x.value)),
    h("div", { class: "k" }, h("s", { style: { left: X(0) + "%" } }), i > 0 && h("u", { style: { left: X(x.from) + "%" } }), h("i", { class: end2 ? "whole" : x.to < x.from ? "neg" : "", style: { left: X(Math.min(x.from, x.to)) + "%", width: `max(2px, ${Math.abs(X(x.to) - X(x.from))}%)` } })), h("div", { class: "n num" }, signed(x.b)));
  fallLead.textContent = `From the prior to ${percent(p)}% for ${label}, against ${opposed}. The strongest evidence comes first` + (unknown > 0 ? `; ${plural(unknown, "unknown column adds", "unknown columns add")} nothing.` : ".");
  falls.replaceChildren(...shownSteps.map((x, i) => line(x, i)), line({ name: `${label}: ${percent(p)}%`, from: 0, to: end, b: end }, 0, "end"));
}
function whySection() {
  if (!LIVE && !D.row) return null;
  return section("why", LIVE ? "Why: the row above, step by step" : "Why: one row, step by step", h("div", { class: "between" }, fallLead, LIVE && copy), falls);
}
function staticRow() {                                          // of a model whose columns have no tables
  const steps = D.row.steps.map(([name, value, b]) => ({ name: name === "prior" ? "Prior" : name, value: value === null ? undefined : value, b: num(b) }));
  const c = D.classes.findIndex(x => x.label === D.row.class);
  page.style.setProperty("--for", hue(c));
  page.style.setProperty("--against", K === 2 ? hue(1 - c) : "var(--rest)");
  waterfall(steps, sumOf(steps.map(x => x.b)), D.row.class, K === 2 ? D.classes[1 - c].label : "the rest", D.row.proba[c], 0);
}
