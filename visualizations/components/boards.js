// Panels without a figure: a table, a listing of code. Folding of a tree's nodes. Joined to viewer.js, whose names they use.
function table(card, { head, rows }) {
  const header = el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", { scope: "col" }, cell))));
  const line = ([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", {}, cell)));
  card.querySelector(".lab-board").replaceChildren(
    el("table", { class: "lab-table" }, header, el("tbody", {}, ...rows.map(line))),
  );
}

// Lines of code, those that run now lit, each with what was added or put right.
function listing(card, { lines, lit }) {
  card.querySelector(".lab-board").replaceChildren(
    el(
      "ol",
      { class: "lab-listing" },
      ...lines.map(({ code, note, missing }, index) =>
        el(
          "li",
          lit.includes(index + 1) ? { "aria-current": "step" } : {},
          el("code", {}, code),
          note ? el("span", { class: missing ? "lab-missing" : "lab-small" }, (missing ? "+ " : "") + note) : null,
        ),
      ),
    ),
  );
}

// A panel of this kind needs no Plotly; true where the panel is one.
function board(card, panel) {
  const [figure, place, button, tune] = ["figure", "board", "measure", "sliders"].map((name) => card.querySelector(".lab-" + name));
  if (button) button.hidden = Boolean(panel.idle); // there is nothing to measure
  if (tune) tune.hidden = Boolean(panel.idle || panel.bare); // nor anything that it could change
  figure.hidden = !panel.figure;
  if (panel.figure) return false;
  if (panel.table) table(card, panel.table);
  else if (panel.listing) listing(card, panel.listing);
  else if (panel.rounds) rounds(card, panel.rounds);
  else if (panel.written) written(card, panel.written);
  else if (panel.road) road(card, panel.road);
  else place.replaceChildren();
  return true;
}

// Hide what follows a node, or show it again.
function fold(id) {
  const folded = new Set(state.details.folded || []);
  if (!folded.delete(id)) folded.add(id);
  state.details.folded = [...folded];
  render();
}

// Controls of the column that need no run: what they say goes along with every request about the run shown now.
window.Lab.tune = (values) => {
  state.details.tuned = values;
  state.details.tuned_run = state.run;
  if (!state.running) render();
};
