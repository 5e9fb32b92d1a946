// ---- the page, from top to bottom ---------------------------------------------------------------------------------------------
const parts = [nomogram(), whySection(), D.columns.length ? columnsSection() : null, rankingSection(), qualitySection(), dependenceSection(), checksSection()];
main.append(...parts.filter(Boolean));
page.replaceChildren(head(), main, h("footer", {}, `Made by naively ${D.naively}. This file is complete in itself and loads nothing. It holds tables of counts and of evidence, and no rows of the data${D.has_row ? " but the one that was given to be explained" : ""}.`));
if (LIVE) contrast();
else if (D.row) staticRow();
window.naivelyReport = {
  data: D,
  answer: cells => posterior(scores(cells)),
  explain: (cells, c, base = -1) => { const s = scores(cells), w = opponent(s, c, base); return { prior: odds(LP, c, base), columns: D.columns.map((col, j) => bits(col, cells[j], c, w)), sum: odds(s, c, base) }; },
  row: asPython,
};
