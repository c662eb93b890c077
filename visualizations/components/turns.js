// Run and Stop, what the visitor is told while waiting, and the address of what is shown. Joined to viewer.js, whose names they use.
async function ask(name, details) {
  return JSON.parse(await server[name](JSON.stringify({ details })));
}

// One after the other, so that each press ends the one before it; what fails does not hold up the next.
function inTurn(work) {
  state.turns = (state.turns || Promise.resolve()).catch(() => null).then(work);
  return state.turns;
}

// A press of Run: the server names a turn and ends the page's last one. What an older turn still says is not shown.
async function press() {
  state.stopped = false;
  state.turn = null; // until it has a name, no turn counts
  message("", { text: words.waiting, fraction: null });
  try {
    return await inTurn(async () => {
      const reply = await ask("turn", { before: state.latest });
      state.latest = state.turn = reply.turn;
      if (!state.stopped) wait(reply);
      return reply.turn;
    });
  } catch (error) {
    message(words.lost);
    throw error;
  }
}

// Until the turn says something itself, tell how many are before it.
async function wait({ turn, words: said }) {
  state.waiting = turn;
  while (state.waiting === turn && element.isConnected) {
    message("", { text: said, fraction: null });
    await new Promise((resolve) => setTimeout(resolve, 2000));
    if (state.waiting === turn) said = (await ask("turn", { turn })).words;
  }
}

// A token that was under way when Stop was pressed starts nothing anew; the run's last word is still shown.
function stop() {
  state.stopped = true;
  state.waiting = null;
  running(false);
  message("");
  inTurn(() => ask("halt", { turn: state.latest }));
}

// Whether this value is of an older turn than the one that counts.
function outdatedTurn(value) {
  if (!value.turn) return false;
  if (value.turn !== state.turn) return true;
  state.waiting = null;
  return false;
}

// Choosing a row runs the model on some pages; while it runs already, it is not to be asked again.
async function pick(panel, id) {
  if (element.querySelector(`.lab-panel[data-panel="${panel}"]`).dataset.folds) return fold(id);
  if (state.running) return;
  const chosen = { run: state.run, step: state.step, panel, id, known: [...state.seen] };
  const turn = root.dataset.picks === "run" ? await press() : "";
  trigger("pick", { ...chosen, turn });
}

async function reopen(run, step) {
  stopPlaying();
  const value = JSON.parse(await server.reopen(JSON.stringify({ run, step, details: { known: [...state.seen] } })));
  if (value.message) return message(value.message);
  message("");
  show(value);
}

// At first: the run that the address names, or the recorded one.
async function begin() {
  const asked = new URLSearchParams(location.search);
  const step = Number(asked.get("step"));
  if (root.dataset.address === "reopen" && asked.get("run")) {
    await reopen(asked.get("run"), Number.isInteger(step) ? step : 0).catch(() => message(words.lost));
  }
  if (state.run) return;
  const said = part("message-text").textContent;
  read();
  if (said) message(said);
}

// Links to this step on other pages; the address itself, so that a reload or the other language shows the same.
function links() {
  const query = `?run=${encodeURIComponent(state.run)}&step=${Math.max(0, state.step)}`;
  element.querySelectorAll("a[data-href]").forEach((link) => (link.href = link.dataset.href + query));
  clearTimeout(state.addressing);
  if (!root.dataset.address || state.running || !(state.kept || state.addressed)) return;
  state.addressing = setTimeout(() => {
    const search = new URLSearchParams(location.search);
    ["run", "step"].forEach((name) => search.delete(name));
    if (state.kept) new URLSearchParams(query).forEach((value, name) => search.set(name, value));
    const before = location.href.split("#")[0];
    history.replaceState(history.state, "", location.pathname + (String(search) && "?" + search));
    figures().forEach((div) => rebase(div, before, location.href.split("#")[0]));
    state.addressed = true;
    document.querySelectorAll("a[data-lang]").forEach((link) => (link.search = location.search));
  }, 200);
}

// Where a page has a base, as here, Plotly writes the page's whole address into what hatches and clips refer to.
function rebase(div, before, after) {
  if (div._context) div._context._baseUrl = after;
  div.querySelectorAll('[style*="url("], [clip-path]').forEach((node) => {
    for (const name of ["style", "clip-path"]) {
      const said = node.getAttribute(name);
      if (said?.includes(before + "#")) node.setAttribute(name, said.replaceAll(before + "#", after + "#"));
    }
  });
}
