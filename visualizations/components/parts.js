// Parts of the viewer that only some pages have. Joined to viewer.js, whose names they use.
function branches() {
  const box = part("branches");
  if (!box) return;
  box.hidden = (state.branches || []).length < 2;
  box.replaceChildren(
    el("span", { class: "lab-branches-label" }, words.branches),
    ...state.branches.map((branch) =>
      el(
        "button",
        { type: "button", class: "lab-branch", "aria-current": branch.run === state.run ? "true" : null, onclick: () => reopen(branch.run) },
        branch.label,
      ),
    ),
  );
}

// The prompt's tokens with id and bytes; the word under the pointer shows how it was merged.
function chips(list) {
  const box = part("chips");
  if (!box) return;
  box.replaceChildren(
    ...list.map((chip, index) =>
      el(
        "button",
        {
          type: "button", class: "lab-chip" + (chip.word_start ? " lab-word-start" : ""), "aria-label": chip.label, title: chip.label,
          "aria-expanded": chip.open ? "true" : "false",
          onclick: () => { state.details.token = state.details.token === index ? null : index; render(); },
        },
        el("span", { class: "lab-chip-text" }, chip.text),
        el("span", { class: "lab-chip-id" }, chip.id),
        el("span", { class: "lab-chip-bytes" }, chip.bytes),
      ),
    ),
  );
}

// A word, from bytes to tokens: one line per merge, the new piece marked.
function merges(word) {
  const box = part("merges");
  if (!box) return;
  box.hidden = !word;
  if (!word) return;
  box.replaceChildren(
    el("h2", { class: "lab-title" }, word.title),
    el("p", { class: "lab-text" }, word.text),
    el(
      "ol",
      { tabindex: "0" }, // a long list scrolls
      ...word.lines.map((line) =>
        el(
          "li",
          {},
          ...line.pieces.map((piece, index) => el("span", { class: "lab-piece" + (index === line.made ? " lab-made" : "") }, piece)),
          el("span", { class: "lab-small" }, line.note),
        ),
      ),
    ),
  );
}

function sliders() {
  element.querySelectorAll(".lab-slider input").forEach((input) => {
    const read = () => {
      fillTrack(input);
      state.sliders[input.name] = Number(input.value);
      const out = input.closest(".lab-slider").querySelector("output");
      if (out) out.textContent = Number(input.value).toFixed(Number(input.dataset.digits));
    };
    read();
    input.addEventListener("input", () => { read(); render(); });
  });
}

// A slider's upper end follows what it moves through.
function limit(name, most) {
  const input = element.querySelector(`.lab-slider input[name="${name}"]`);
  if (!input || Number(input.max) === most) return;
  input.max = most;
  input.dispatchEvent(new Event("input"));
}

// Groups of buttons of which one is pressed; what is pressed goes along with every request.
function choices() {
  element.querySelectorAll(".lab-choice").forEach((group) => {
    const buttons = [...group.querySelectorAll("button")];
    const press = (button) => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      state.details[group.dataset.name] = button.value;
    };
    press(buttons.find((button) => button.getAttribute("aria-pressed") === "true"));
    buttons.forEach((button) =>
      button.addEventListener("click", () => {
        press(button);
        state.details.presses = (state.details.presses || 0) + 1;
        render();
      }),
    );
  });
}

// Predict, then see: the server asks and answers; nothing is known here before a choice is made.
async function quiz() {
  const box = part("quiz-cards");
  if (!box) return;
  const { run } = state;
  const reply = JSON.parse(await server.quiz(JSON.stringify({ run })));
  if (run !== state.run) return;
  if (reply.message) return text(box, reply.message);
  box.replaceChildren(...reply.cards.map((card, index) => quizCard(run, card, index)));
}

function quizCard(run, card, index) {
  const answer = el("p", { class: "lab-answer", role: "status" });
  const buttons = card.choices.map((choice, number) => el("button", { type: "button", class: "lab-plain", onclick: () => guess(number) }, choice));
  async function guess(number) {
    const reply = JSON.parse(await server.quiz(JSON.stringify({ run, panel: String(index), step: number })));
    if (reply.message) return text(answer, reply.message);
    buttons.forEach((button, i) => {
      button.disabled = true;
      button.dataset.verdict = i === reply.answer ? "right" : i === number ? "wrong" : "";
    });
    answer.replaceChildren(el("strong", {}, reply.verdict), " ", ...unbroken(reply.because));
    answer.dataset.right = String(reply.answer === number);
  }
  return el("article", { class: "lab-card" }, el("p", { class: "lab-question" }, ...unbroken(card.question)), el("div", { class: "lab-guesses" }, ...buttons), answer);
}

// Draw again, with other random numbers; or go back from what was drawn to the exact law.
function drawn(on) {
  if (on) state.rounds = (state.rounds || 0) + 1;
  state.details.draws = on ? state.rounds : 0;
  if (part("exact")) part("exact").hidden = !on;
}

// A sentence as nodes: never broken inside top-p, top-k or min-p (prose.py does so for what the page brings along).
function unbroken(string) {
  const parts = String(string).split(/\b((?:top|min|typical)-[pk])\b/i);
  return parts.map((part, index) => (index % 2 ? el("span", { class: "lab-whole" }, part) : part));
}
