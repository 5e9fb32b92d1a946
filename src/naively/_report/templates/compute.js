// ---- compute: the model as tables; nothing here touches the page -----------------------------------------------------
const D = JSON.parse(document.getElementById("data").textContent);
const K = D.classes.length, LN2 = Math.LN2, MINUS = "\u2212", OTHER = "other", TEXT = "text";
const num = x => x === null ? -Infinity : x;                    // null in the data: impossible
const LP = D.classes.map(c => num(c.log_prior));
const CLASSES = [...LP.keys()];
for (const c of D.columns) {
  for (const field of ["evidence", "single"]) if (c[field]) c[field] = c[field].map(line => line.map(num));
  for (const field of ["unknown", "other", "given"]) if (c[field]) c[field] = c[field].map(num);
  if (c.text) c.text.evidence = c.text.evidence.map(num);
  if (c.pairs) c.pairOf = new Map(c.pairs.map(([a, b, line]) => [a + " " + b, line.map(num)]));
}
for (const f of D.fixed) f.evidence = f.evidence.map(num);
const sumOf = xs => xs.reduce((a, b) => a + b, 0);
const lse = xs => {
  const m = Math.max(...xs);
  return m === -Infinity ? m : m + Math.log(sumOf(xs.map(x => Math.exp(x - m))));
};
const others = c => CLASSES.filter(k => k !== c);

// What a column says of class k. A cell is null (unknown), a place in the table, OTHER (a label that was never learnt),
// TEXT (the text of the given row), or the places of some words.
function said(col, k, cell) {
  if (cell === null) return col.unknown[k];
  if (cell === OTHER) return col.other[k];
  if (cell === TEXT) return col.text.evidence[k];
  if (!Array.isArray(cell)) return col.evidence[k][cell];
  let sum = 0;
  cell.forEach((w, i) => {
    sum += col.single[k][w];
    const pair = i && col.pairOf.get(cell[i - 1] + " " + w);
    if (pair) sum += pair[k];
  });
  return col.given[k] + (cell.length ? col.stretch[cell.length] * sum : 0);
}
const BASE = CLASSES.map(k => LP[k] + sumOf(D.fixed.map(f => f.evidence[k])));   // prior and what never changes
function scores(cells) {
  const s = BASE.slice();
  D.columns.forEach((col, j) => { for (const k of CLASSES) s[k] += said(col, k, cells[j]); });
  return s;
}
function posterior(s) {
  const t = s.some(Number.isFinite) ? s : LP;                   // no class could have made this row: the prior
  const z = lse(t);
  return t.map(x => Math.exp(x - z));
}
// By which weights the other classes are one opponent: logarithmic means of their shares before and after.
function opponent(s, c, base) {
  const w = new Array(K).fill(0);
  if (base >= 0) { w[base] = 1; return w; }
  const rest = others(c), zp = lse(rest.map(k => LP[k])), zq = lse(rest.map(k => s[k]));
  let sum = 0;
  for (const k of rest) {
    const p = Math.exp(LP[k] - zp), d = (s[k] - zq) - (LP[k] - zp);
    w[k] = d === -Infinity || !(p > 0) ? 0 : Math.abs(d) < 1e-12 ? p : p * Math.expm1(d) / d;
    sum += w[k];
  }
  return w.map((x, k) => sum > 0 ? x / sum : k === c ? 0 : Math.exp(LP[k] - zp));
}
const odds = (s, c, base) => (s[c] - (base >= 0 ? s[base] : lse(others(c).map(k => s[k])))) / LN2;
function against(of, c, w) {                                    // bits of a term: what it says of c less of its opponent
  let rest = 0;
  for (const k of CLASSES) if (w[k] > 0) rest += w[k] * of(k);
  return (of(c) - rest) / LN2;
}
const bits = (col, cell, c, w) => against(k => said(col, k, cell), c, w);
const entries = col => col.kind === "text" ? col.words.map((_, i) => [i]) : [...col.evidence[0].keys()];
function rowsNear(col) {                                        // how much of the data stands at each entry
  if (col.kind === "text") return col.words.map(() => 1);
  if (col.counts) return col.values.map((_, i) => sumOf(col.counts.map(l => l[i])));
  if (!col.histogram) {                                         // densities: what the classes together expect
    const all = entries(col).map(i => lse(CLASSES.map(k => LP[k] + col.evidence[k][i]))), top = Math.max(...all);
    return all.map(x => Number.isFinite(top) ? Math.exp(x - top) : 1);
  }
  const { edges, counts } = col.histogram, out = entries(col).map(() => 0);
  for (let b = 0; b + 1 < edges.length; b++) out[nearest(col.at, (edges[b] + edges[b + 1]) / 2)] += sumOf(counts.map(l => l[b]));
  return out;
}
function nearest(at, x) {
  let lo = 0, hi = at.length - 1;
  while (hi - lo > 1) { const mid = (lo + hi) >> 1; if (at[mid] <= x) lo = mid; else hi = mid; }
  return x - at[lo] <= at[hi] - x ? lo : hi;
}
function matters(col, c, base) {                                // the mean size of its evidence over the data, at the prior
  const w = opponent(LP, c, base), rows = rowsNear(col), n = sumOf(rows), at = entries(col);
  return n ? sumOf(rows.map((x, i) => x ? x * Math.min(Math.abs(bits(col, at[i], c, w)), 20) : 0)) / n : 0;
}
function widest(c, base) {                                      // bits at the ends of the evidence axis
  let most = Math.max(Math.abs(odds(LP, c, base)), .5);
  for (const col of D.columns) {
    const rows = rowsNear(col), least = Math.max(...rows) * 1e-3, at = entries(col);
    for (const b of base >= 0 ? [base] : others(c).slice(0, 12)) {
      const w = CLASSES.map(k => k === b ? 1 : 0);
      at.forEach((cell, i) => { if (rows[i] >= least) { const x = Math.abs(bits(col, cell, c, w)); if (Number.isFinite(x)) most = Math.max(most, x); } });
    }
  }
  return Math.min(most, 12) * 1.04;
}
