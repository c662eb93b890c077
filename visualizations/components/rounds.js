// Speculative decoding: the counters, a row of chips a round, the text by who wrote it, and the field's history.
// Joined to viewer.js, whose names they use.
function counters(list) {
  part("counters")?.replaceChildren(...list.map(({ value, label }) => el("div", {}, el("dt", {}, label), el("dd", {}, value))));
}

// Rows that are there already stay, and keep the focus; the newest is the current one, and in view.
function rounds(card, { rows, chosen, label }) {
  const place = card.querySelector(".lab-board");
  let list = place.querySelector(".lab-rounds");
  if (!list) place.replaceChildren((list = el("ol", { class: "lab-rounds" })));
  list.setAttribute("aria-label", label);
  rows.forEach((row, index) => {
    const signature = JSON.stringify(row);
    let item = list.children[index];
    if (item?.labSignature !== signature) {
      const made = round(row, index);
      made.labSignature = signature;
      item ? item.replaceWith(made) : list.append(made);
      item = made;
    }
    if (index === rows.length - 1) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
    item.querySelectorAll("button").forEach((chip, at) => chip.setAttribute("aria-pressed", String(index === chosen[0] && at === chosen[1])));
  });
  while (list.children.length > rows.length) list.lastChild.remove();
  const shown = state.run + "/" + rows.length;
  if (list.dataset.shown !== shown) list.scrollTop = list.scrollHeight;
  list.dataset.shown = shown;
}

function round({ label, chips, note }, index) {
  return el(
    "li",
    { class: "lab-round" },
    el("span", { class: "lab-small" }, label),
    el("div", { class: "lab-fates" }, ...chips.map((chip, at) => fate(chip, index, at))),
    el("span", { class: "lab-small lab-note" }, note),
  );
}

function fate({ text: said, fate, mark, word, label }, index, at) {
  return el(
    "button",
    { type: "button", class: "lab-fate", "data-fate": fate, "aria-label": label, onclick: () => choose(index, at) },
    el("span", { class: "lab-fate-text" }, said),
    el("span", { class: "lab-fate-word" }, mark + " " + word),
  );
}

// The verdict on another chip of what is shown; on a narrow screen its card stands below and comes into view.
async function choose(index, at) {
  stopPlaying();
  state.details.chip = [index, at];
  state.details.chip_at = state.run + "/" + state.step;
  await render();
  const card = element.querySelector('.lab-panel[data-panel="verdict"]');
  if (card && !onScreen(card.querySelector(".lab-text"))) card.scrollIntoView({ block: "nearest" });
}

// The text in pieces, each marked by who wrote it, and the key under it.
function written(card, { before, pieces, key }) {
  const piece = ({ before: room, text: said, by, mark }) =>
    el("span", { class: "lab-written-piece", "data-fate": by }, room, by === "accepted" ? null : el("span", { class: "lab-written-mark" }, mark), said);
  card.querySelector(".lab-board").replaceChildren(
    el("p", { class: "lab-written" }, el("span", { class: "lab-prompt-token" }, before), ...pieces.map(piece)),
    el("ul", { class: "lab-key" }, ...key.map(({ by, mark, words: said }) => el("li", { "data-fate": by }, mark + " " + said))),
  );
}

// Papers along a line of time, each with a mark for who drafts.
function road(card, papers) {
  const place = card.querySelector(".lab-board");
  if (place.firstChild) return; // they never change
  place.replaceChildren(
    el(
      "ol",
      { class: "lab-road" },
      ...papers.map(({ year, name, who, link, said, lane, drafts }) =>
        el(
          "li",
          { "data-lane": lane },
          el("span", { class: "lab-year" }, year),
          el("a", { class: "lab-quiet", href: link, target: "_blank", rel: "noopener" }, name),
          el("span", { class: "lab-small" }, who),
          el("span", { class: "lab-lane" }, drafts),
          el("p", {}, ...unbroken(said)),
        ),
      ),
    ),
  );
}
