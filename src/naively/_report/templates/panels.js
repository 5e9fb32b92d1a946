// ---- head --------------------------------------------------------------------------------------------------------------------
function head() {
  const q = D.quality, share = LP.map(Math.exp), most = 12;
  const by = CLASSES.slice().sort((a, b) => K > most ? share[b] - share[a] : a - b).slice(0, most);
  const mark = (name, v, than) => h("div", { class: "mark" }, h("div", { class: "label" }, name), h("div", { class: "v num" }, v), h("div", { class: "than" }, than));
  const how = q.how === "leave-one-out" ? "leave-one-out" : "on the given rows";
  const links = [["try", "Try a row"], (LIVE || D.row) && ["why", "Why"], ["columns", "Columns"], ["ranking", "Ranking"], ["quality", "How good"], ["dependence", "Dependence"], ["checks", "Data check"]].filter(Boolean);
  return h("header", {},
    h("p", { class: "kicker" }, "Report of a naive Bayes model"), h("h1", {}, D.title),
    h("p", { class: "facts" }, [[whole(D.rows), D.rows === 1 ? " row" : " rows"], [whole(D.n_columns), D.n_columns === 1 ? " column" : " columns"], [String(K), K === 1 ? " class" : " classes"]].map(([n, t]) => h("span", {}, h("b", {}, n), t)), h("span", {}, "recipe ", h("b", {}, D.recipe))),
    h("div", { class: K > 4 ? "glance loose" : "glance" },
      h("div", { class: "card pad" }, h("div", { class: "label" }, "Classes, before anything is known"), h("div", { class: K > 6 ? "prior many" : "prior" },
        by.map(k => [h("span", { class: "who" }, swatch(k), h("span", { class: "cut" }, D.classes[k].label)), h("span", { class: "track", style: { "--k": hue(k) } }, h("i", { style: { width: 100 * share[k] + "%" } })), h("b", { class: "num" }, percent(share[k]) + "%"), h("span", { class: "num soft rowsn" }, plural(D.classes[k].rows, "row"))])),
        K > most && h("p", { class: "small soft" }, `and ${plural(K - most, "rarer class", "rarer classes")}`)),
      h("div", { class: "card pad" }, q.reason ? [h("div", { class: "label" }, "How good it is"), h("p", {}, q.reason)] : h("div", { class: "marks" },
        mark("Accuracy", percent(q.accuracy) + "%", `${how}; ${percent(q.guess.accuracy)}% by always saying the commonest class`),
        mark("Log-loss", q.log_loss === null ? "\u221e" : q.log_loss.toFixed(3), `nats per row; ${q.guess.log_loss.toFixed(3)} when only the prior speaks`),
        mark("Calibration error", (100 * q.ece).toFixed(1) + "%", "mean gap between what it promises and what comes true (ECE)")))),
    h("nav", { "aria-label": "Sections" }, links.map(([id, t]) => h("a", { href: "#" + id }, t))));
}
// ---- columns -----------------------------------------------------------------------------------------------------------------
const MANY = K > 6;                                             // then: the chosen class against all others
const groups = () => MANY ? [[state.c], others(state.c)] : CLASSES.map(k => [k]);
const groupHue = i => MANY ? (i ? "var(--rest)" : hue(state.c)) : hue(i);
const groupName = i => MANY ? (i ? "the rest" : D.classes[state.c].label) : D.classes[i].label;
function together(lines, group) { return lines[0].map((_, i) => sumOf(group.map(k => lines[k][i]))); }

function columnsSection() {
  const legend = h("p", { class: "legend" }), panels = D.columns.map(panel), most = FEW;
  const grid = h("div", { class: "panels" }, panels.map((p, i) => { p.el.classList.toggle("late", i >= most); return p.el; }));
  const draw = () => { legend.replaceChildren(...groups().map((_, i) => h("span", {}, h("span", { class: "swatch", style: { "--k": groupHue(i) }, "aria-hidden": "true" }), groupName(i)))); panels.forEach(p => p.draw()); };
  draw();
  if (MANY) watchers.push(draw);
  const more = h("button", { type: "button", class: "fold", "aria-expanded": "false", onclick: () => { const all = grid.classList.toggle("all"); more.setAttribute("aria-expanded", all); more.textContent = all ? "Show fewer columns" : `Show ${plural(panels.length - most, "more column")}`; } }, `Show ${plural(panels.length - most, "more column")}`);
  const lead = "How each column is distributed within each class, so that classes of different size compare: bars are shares of the rows that were counted, lines are the densities of the model. The most informative come first." + (MANY ? " Choose the class above." : "");
  return section("columns", "Columns", lead, legend, grid, panels.length > most && more);
}
function panel(col) {
  const known = col.known ? sumOf(col.known) : null, score = D.ranking.find(r => r.name === col.name);
  const meta = [col.kind === "label" ? plural(col.distinct, "value") : col.kind === "text" ? "text" : "number", known !== null && plural(known, "row"), known !== null && (col.missing ? percent(col.missing / (known + col.missing)) + "% missing" : "none missing"), score && score.bits !== null && (score.bits < .001 ? "<0.001" : score.bits.toFixed(3)) + " bits"].filter(Boolean).join(" \u00b7 ");
  const body = h("div", {}), draw = { label: labelPanel, number: numberPanel, text: textPanel }[col.kind];
  return { el: h("article", { class: "card panel" }, h("h3", {}, named(col.name)), h("p", { class: "meta" }, meta), body), draw: () => body.replaceChildren(...[draw(col)].flat().filter(Boolean)) };
}
function labelPanel(col) {
  if (!col.counts) return h("p", { class: "small soft" }, "The values were not counted one by one.");
  const by = groups(), counts = by.map(group => together(col.counts, group)), rowsOf = by.map(group => sumOf(group.map(k => col.known ? col.known[k] : sumOf(col.counts[k]))) || 1);
  const share = counts.map((l, i) => l.map(x => x / rowsOf[i])), top = Math.max(...share.flat()) || 1, all = col.values.map((_, v) => sumOf(counts.map(l => l[v])));
  const order = [...all.keys()].sort((a, b) => all[b] - all[a]), most = 12, rest = col.distinct - Math.min(most, order.length);
  return [h("table", { class: "ct" }, h("tbody", {}, order.slice(0, most).map(v => h("tr", {}, h("th", { scope: "row" }, col.values[v] === "" ? "(empty)" : col.values[v]), h("td", { title: by.map((_, i) => `${groupName(i)}: ${percent(share[i][v])}%`).join(", ") }, share.map((l, i) => h("span", { class: "b", style: { "--k": groupHue(i), width: 100 * l[v] / top + "%" } })), h("span", { class: "hide" }, by.map((_, i) => `${groupName(i)} ${percent(share[i][v])}%`).join(", "))), h("td", { class: "num" }, whole(all[v])))))), rest > 0 && h("p", { class: "small soft" }, `and ${plural(rest, "rarer value")}`)];
}
function numberPanel(col) {
  const hist = col.histogram, curve = col.density, lo = hist ? hist.edges[0] : col.at[0], hi = hist ? hist.edges.at(-1) : col.at.at(-1), X = x => 100 * (x - lo) / (hi - lo || 1), by = groups();
  const bars1 = hist ? by.map(group => { const l = together(hist.counts, group), n = sumOf(l) || 1; return l.map((x, b) => x / n / (hist.edges[b + 1] - hist.edges[b])); }) : [];
  const mean = group => { const w = group.map(k => Math.exp(LP[k])), n = sumOf(w) || 1; return curve.at.map((_, i) => sumOf(group.map((k, g2) => w[g2] * curve.by_class[k][i])) / n); };
  const lines = curve ? by.map(mean) : [];
  if (!hist && !lines.length) return h("p", { class: "small soft" }, "How it is distributed is not known here; rows given to the report would show it.");
  const top = Math.min(Math.max(...lines.flat(), ...bars1.flat()), hist ? 1.6 * Math.max(...bars1.flat()) : Infinity) || 1, Y = y => (100 - 96 * Math.min(y / top, 1)).toFixed(2);
  const steps = l => "M0 100" + l.map((y, b) => `L${X(hist.edges[b]).toFixed(2)} ${Y(y)}L${X(hist.edges[b + 1]).toFixed(2)} ${Y(y)}`).join("") + "L100 100Z";
  const path = l => "M" + l.map((y, i) => `${X(curve.at[i]).toFixed(2)} ${Y(y)}`).join("L");
  return [g("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": `Distribution of ${col.name} by class` },
    bars1.map((l, i) => g("path", { d: steps(l), style: { fill: groupHue(i), "fill-opacity": .17, stroke: groupHue(i), "stroke-opacity": lines.length ? .35 : .9, "stroke-width": lines.length ? .8 : 1.5, "vector-effect": "non-scaling-stroke", "stroke-linejoin": "round" } })),
    lines.map((l, i) => g("path", { d: path(l), style: { fill: hist ? "none" : groupHue(i), "fill-opacity": .12, stroke: groupHue(i), "stroke-width": 1.8, "vector-effect": "non-scaling-stroke" } })),
    g("line", { class: "zero", x1: 0, x2: 100, y1: 100, y2: 100 })),
    h("div", { class: "hx", "aria-hidden": "true" }, (col.at.length <= 12 ? col.at : ticks(lo, hi, 4)).filter(t => t >= lo && t <= hi).map(t => h("span", { style: { left: X(t) + "%", transform: X(t) < 4 ? "none" : X(t) > 96 ? "translateX(-100%)" : "translateX(-50%)" } }, short(t))))];
}
function textPanel(col) {
  if (!col.single) return h("p", { class: "small soft" }, `Its strongest words: ${col.words.slice(0, 20).join(", ")}.`);
  return [h("p", { class: "small soft" }, "The strongest words, for each class"), h("table", { class: "ct words" }, h("tbody", {}, groups().slice(0, 12).map((group, i) => {
    const c = group[0], of = n => col.single[c][n] - sumOf(others(c).map(k => col.single[k][n])) / Math.max(1, K - 1), by = [...col.words.keys()].filter(n => of(n) > 0).sort((a, b) => of(b) - of(a)).slice(0, 8);
    return h("tr", {}, h("th", { scope: "row" }, h("span", { class: "who" }, h("span", { class: "swatch", style: { "--k": groupHue(i) } }), groupName(i))), h("td", {}, by.map(n => col.words[n]).join(", ") || "\u2013"));
  })))];
}
// ---- ranking -----------------------------------------------------------------------------------------------------------------
function rankingSection() {
  const R = D.ranking, top = Math.max(...R.map(r => r.bits || 0)) || 1, most = 20;
  const line = (r, i) => h("tr", { class: i >= most ? "late" : "" }, h("td", { class: "num soft" }, String(i + 1)), h("th", { scope: "row" }, named(r.name)), h("td", {}, h("span", { class: "rb", style: { width: Math.max(0, 100 * (r.bits || 0) / top) + "%" } })), h("td", { class: "num" }, r.bits === null ? "\u2013" : r.bits < .001 ? "<0.001" : r.bits.toFixed(3)));
  const body = h("tbody", {}, R.map(line));
  const more = h("button", { type: "button", class: "fold", "aria-expanded": "false", onclick: () => { const all = body.classList.toggle("all"); more.setAttribute("aria-expanded", all); more.textContent = all ? "Show fewer" : `Show ${plural(R.length - most, "more column")}`; } }, `Show ${plural(R.length - most, "more column")}`);
  return section("ranking", "Which columns tell most", "Bits of information on the class that each column has alone, less what chance would show. Two columns that say the same both rank high.", h("div", { class: "card pad" }, h("table", { class: "rank" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "#"), h("th", { scope: "col" }, "column"), h("th", { scope: "col" }, "information"), h("th", { scope: "col", class: "num" }, "bits"))), body), R.length > most && more, D.n_columns > R.length && h("p", { class: "small soft" }, `${plural(D.n_columns - R.length, "column tells", "columns tell")} less.`)));
}
// ---- quality -----------------------------------------------------------------------------------------------------------------
function wilson(k, n) { const z = 1.96, m = (k + z * z / 2) / (n + z * z), r = z / (n + z * z) * Math.sqrt(Math.max(k * (n - k), 0) / n + z * z / 4); return [m - r, m + r]; }
function reliabilityPlot(q) {
  const R = q.reliability, least = Math.min(...R.map(r => Math.min(r[1], r[2], wilson(r[2] * r[0], r[0])[0]))), lo = Math.max(0, Math.floor(10 * least) / 10);
  const W = 452, L = 56, T = 10, S = 380, H = 60, B = T + S + H + 20, X = v => L + S * (v - lo) / (1 - lo), Y = v => T + S - S * (v - lo) / (1 - lo), most = Math.max(...R.map(r => r[0]));
  const t = (x, y, text, a) => g("text", { x, y, "text-anchor": a || "middle" }, text);
  return g("svg", { viewBox: `0 0 ${W} ${B + 40}`, role: "img", "aria-label": "Reliability: " + R.map(r => `promised ${percent(r[1])}%, came true ${percent(r[2])}% of ${whole(r[0])}`).join("; ") },
    ticks(lo, 1, 5).map(v => [g("line", { x1: L, x2: L + S, y1: Y(v), y2: Y(v), style: { stroke: "var(--line)" } }), t(L - 8, Y(v) + 4, Math.round(100 * v) + "%", "end"), t(X(v), B + 16, Math.round(100 * v) + "%")]),
    g("line", { x1: X(lo), y1: Y(lo), x2: X(1), y2: Y(1), style: { stroke: "var(--faint)", "stroke-dasharray": "4 4" } }),
    R.map(r => { const [a, b] = wilson(r[2] * r[0], r[0]); return g("line", { x1: X(r[1]), x2: X(r[1]), y1: Y(Math.max(a, lo)), y2: Y(Math.min(b, 1)), style: { opacity: r[0] < 10 ? .45 : 1, stroke: "var(--soft)", "stroke-width": 1.4 } }); }),
    R.map(r => g("circle", { cx: X(r[1]), cy: Y(r[2]), r: 3 + 5 * Math.sqrt(r[0] / most), style: { fill: r[0] < 10 ? "var(--faint)" : "var(--ink)", stroke: "var(--card)", "stroke-width": 1.5 } }, g("title", {}, `promised ${percent(r[1])}%, came true ${percent(r[2])}%, ${whole(r[0])} rows`))),
    R.map(r => [g("rect", { x: X(r[1]) - 7, width: 14, y: B - H * .72 * r[0] / most, height: H * .72 * r[0] / most, rx: 1.5, style: { fill: "var(--faint)", opacity: .6 } }), R.length < 12 && t(X(r[1]), B - H * .72 * r[0] / most - 4, whole(r[0]))]),
    g("line", { x1: L, x2: L + S, y1: B, y2: B, style: { stroke: "var(--faint)" } }), t(L + S / 2, B + 34, "probability of the predicted class; rows"), g("text", { transform: `translate(11 ${T + S / 2}) rotate(-90)`, "text-anchor": "middle" }, "share that came true"));
}
function confusionTable(q) {
  const C = q.confusion, rowsum = C.map(sumOf), share = x => x === null ? "\u2013" : (K > 8 ? Math.round(100 * x) : percent(x)) + "%";
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, h("table", { class: K > 6 ? "cm dense" : "cm" },
    h("thead", {}, h("tr", {}, h("td", {}), h("th", { colspan: K, scope: "colgroup" }, "predicted"), h("td", {})), h("tr", {}, h("th", { class: "s", scope: "col" }, "true"), D.classes.map((c, k) => h("th", { scope: "col" }, swatch(k), " ", c.label)), h("th", { scope: "col" }, "found"))),
    h("tbody", {}, C.map((l, i) => h("tr", {}, h("th", { scope: "row", class: "s" }, swatch(i), " ", D.classes[i].label), l.map((n, k) => h("td", { class: i === k ? "right" : n ? "" : "nil", style: { "--k": hue(i), "--a": 46 * n / (rowsum[i] || 1) } }, h("b", { class: "num" }, n || K <= 6 ? whole(n) : "\u00b7"), K <= 6 && h("span", { class: "small num" }, percent(n / (rowsum[i] || 1)) + "%"))), h("td", { class: "m num" }, share(q.found[i])))),
      h("tr", {}, h("th", { class: "s", scope: "row" }, "right when said"), q.right.map(x => h("td", { class: "m num" }, share(x))), h("td", { class: "m" })))));
}
function confusedTable(q) {
  return h("table", { class: "hold" }, h("thead", {}, h("tr", {}, ["true", "predicted", "rows"].map(t => h("th", { scope: "col" }, t)))), h("tbody", {}, q.confused.map(([i, k, n]) => h("tr", {}, h("td", {}, D.classes[i].label), h("td", {}, D.classes[k].label), h("td", { class: "num" }, whole(n))))));
}
function sureTable(q) {
  const R = q.reliability, sure = R.map((r, i) => { const up = R.slice(i), n = sumOf(up.map(x => x[0])); return [Math.floor(r[1] * q.bins + 1e-9) / q.bins, n / q.rows, sumOf(up.map(x => x[0] * x[2])) / n]; });
  return h("table", { class: "hold" }, h("thead", {}, h("tr", {}, ["at least so sure", "rows answered", "of these right"].map(t => h("th", { scope: "col" }, t)))), h("tbody", {}, sure.map(([at, n, hit]) => h("tr", {}, h("td", { class: "num" }, n > 1 - 1e-9 ? "any" : Math.round(100 * at) + "%"), [n, hit].map((v, k) => h("td", {}, h("span", { class: "hb" }, h("i", { class: k ? "hit" : "", style: { width: 100 * v + "%" } })), h("span", { class: "num" }, percent(v) + "%")))))));
}
function qualitySection() {
  const q = D.quality;
  if (q.reason) return section("quality", "How good is it?", q.reason);
  const lead = q.how === "leave-one-out" ? `Leave-one-out: each of ${whole(q.rows)} rows as seen by a model that did not learn from it.` : `On the ${whole(q.rows)} rows that were given. If the model has learnt them, it looks better here than it is.`;
  const confusion = q.confusion ? [h("h3", {}, "Confusion"), h("p", { class: "small soft" }, "Rows by true and predicted class; shares are of the true class."), confusionTable(q)] : [h("h3", {}, "Most confused"), h("p", { class: "small soft" }, "The mistakes that are made most."), confusedTable(q)];
  const sure = [h("h3", {}, "If it answers only when it is sure"), h("p", { class: "small soft" }, "The surer it has to be, the fewer rows it answers, and the more of these are right."), sureTable(q)];
  const large = q.confusion && K > 8;                           // a large matrix has a card of its own
  return section("quality", "How good is it?", lead, h("div", { class: "two" },
    card("Reliability", "Where it says 80%, is it right 8 times in 10? On the dashed line it is. Lines are 95% intervals; bars count the rows.", reliabilityPlot(q)),
    h("div", { class: "card pad" }, large ? sure : [...confusion, h("div", { class: "next" }), ...sure])), large && h("div", { class: "card pad below" }, confusion));
}
// ---- dependence --------------------------------------------------------------------------------------------------------------
function dependenceSection() {
  const d = D.dependence, title = "Columns that depend on each other";
  if (d.reason) return section("dependence", title, d.reason);
  const top = Math.max(...d.pairs.map(p => p[2]), 1e-9), more = d.recipe;
  const lead = `Naive Bayes takes columns for independent within a class. ${d.hurt ? `${plural(d.hurt, "pair")} of ${whole(d.tested)} would be better read together` : `Of ${plural(d.tested, "pair")}, none would be better read together`}; the pairs that cost most come first.`;
  return section("dependence", title, lead, h("div", { class: "card pad" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pairs of columns" }, h("table", { class: "rank pairs" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "columns"), h("th", { scope: "col" }, "shared, given the class"), h("th", { scope: "col", class: "num" }, "bits"), h("th", { scope: "col", class: "num" }, "gain if joined"))),
    h("tbody", {}, d.pairs.map(([a, b, info, gain, hurts]) => h("tr", { class: hurts ? "hurts" : "" }, h("th", { scope: "row" }, named(a), " & ", named(b), hurts && h("span", { class: "tag" }, "costs")), h("td", {}, h("span", { class: "rb", style: { width: Math.max(0, 100 * info / top) + "%" } })), h("td", { class: "num" }, info < .0005 ? "0.000" : info.toFixed(3)), h("td", { class: "num" }, signed(gain, 3)))))))));
}
// ---- the data check ----------------------------------------------------------------------------------------------------------
function checksSection() {
  const d = D.checks;
  if (d.reason) return section("checks", "Data check", d.reason);
  const item = (sign, kind, ...kids) => h("li", { class: kind }, h("span", { class: "ic", role: "img", "aria-label": kind === "warn" ? "To look at" : "Fine" }, sign), h("span", {}, ...kids));
  const lead = `What a careful colleague would say of ${plural(d.rows, "row")}.`;
  return section("checks", "Data check", lead, h("ul", { class: "card checks" }, d.findings.length ? d.findings.map(([column, said2, detail, advice]) => item("!", "warn", h("b", {}, column), ` ${said2}${detail ? ` (${detail})` : ""}. `, h("span", { class: "soft" }, advice))) : item("\u2713", "ok", "Nothing to remark: no identifier, no column that gives the class away, no constant, no duplicate, no class of few rows.")));
}
