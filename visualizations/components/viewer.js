// The run on the screen: its tokens, where we are in it, and a panel per picture of the current step.
// value: JSON text from Python. Every redraw asks the server's `render` for the figures of one step.
const { el, fill, draw, theme, onTheme, typing } = window.Lab;
const root = element.querySelector(".lab-viewer");
document.documentElement.lang = root.lang;
const words = JSON.parse(root.dataset.words);
const part = (name) => element.querySelector(".lab-" + name);
const state = { run: null, count: 0, tokens: [], prompt: [], step: 0, follow: true, running: false, playing: null, sliders: {}, details: {}, seen: new Set() };
let wanted = 0, busy = false;

function read() {
  if (!props.value) return;
  const value = JSON.parse(props.value);
  if (outdatedTurn(value)) return;
  message(value.message, value.turn && state.stopped ? null : value.progress);
  if (value.running !== undefined) running(value.running && !state.stopped);
  if (value.run === undefined) {
    if (value.details) Object.assign(state.details, value.details) && render();
    return;
  }
  show(value);
  if (value.done) root.dataset.done = value.run;
}

function show(value) {
  const copied = Boolean(state.run) && value.copy_of === state.run; // the same text, from now on this visitor's own
  const other = value.run !== state.run && !copied;
  if (copied && state.details.chip_at) state.details.chip_at = state.details.chip_at.replace(state.run, value.run);
  const { run, prompt = [], tokens = [], branches: list = [], count = tokens.length } = value;
  Object.assign(state, { run, prompt, tokens, branches: list, count, kept: Boolean(value.kept) });
  if (value.kept) state.seen.add(run);
  Object.assign(state.details, value.details || {});
  if (other) {
    state.follow = value.step === undefined;
    state.step = 0;
    state.details.folded = [];
  }
  if (other && value.step !== undefined) state.step = value.step;
  state.toEnd = value.step === -1; // how many steps there are is known with the first picture
  if (state.follow) state.step = Math.max(0, state.count - 1);
  state.step = Math.max(0, Math.min(state.step, state.count - 1));
  strip();
  branches();
  text(part("joined"), value.text ?? "");
  text(part("about"), value.about ?? "");
  text(part("before"), value.before ?? "");
  if (part("back")) part("back").hidden = !value.back;
  player();
  render();
  if ((other && !value.running) || value.done) quiz();
}

function text(node, string) {
  if (node) node.replaceChildren(...unbroken(string));
}

function message(string, progress) {
  const box = part("message");
  box.hidden = !string && !progress;
  text(part("message-text"), string || progress?.text || "");
  const bar = part("progress");
  bar.hidden = !progress;
  if (progress) {
    if (progress.fraction === null) bar.removeAttribute("value");
    else bar.value = progress.fraction;
  }
  box.classList.toggle("lab-trouble", Boolean(string));
}

function running(on) {
  if (on && !state.running && element.getBoundingClientRect().bottom < 0) element.scrollIntoView();
  state.running = on;
  for (const button of root.querySelectorAll(".lab-measure")) button.setAttribute("aria-disabled", String(on));
  root.dataset.running = String(on);
}

// The prompt in soft ink, then one button per new token.
function strip() {
  const box = part("strip");
  if (!box) return;
  const signature = state.run + ":" + state.prompt.length;
  if (box.dataset.signature !== signature) {
    box.replaceChildren(...state.prompt.map((token) => el("span", { class: "lab-prompt-token" }, token)));
    box.dataset.signature = signature;
  }
  const first = state.prompt.length;
  state.tokens.forEach((token, index) => {
    let chip = box.children[first + index];
    if (!chip) {
      chip = el("button", { type: "button", class: "lab-token", onclick: () => select(index) });
      box.append(chip);
    }
    if (chip.textContent !== token.text) chip.textContent = token.text;
    chip.style.setProperty("--p", token.prob);
    chip.title = token.label;
    chip.setAttribute("aria-label", token.label);
    if (index === state.step) chip.setAttribute("aria-current", "step");
    else chip.removeAttribute("aria-current");
  });
  while (box.children.length > first + state.tokens.length) box.lastChild.remove();
}

function player() {
  links();
  const slider = part("position");
  if (!slider) return;
  const { count } = state;
  slider.max = Math.max(1, count);
  slider.value = state.step + 1;
  slider.disabled = count === 0;
  fillTrack(slider);
  const zero = Number(root.dataset.zero); // 1 where the first picture is the one before anything happened
  if (!state.named) where(count ? fill(words.step, { step: state.step + 1 - zero, count: count - zero }) : words.no_step);
  part("previous").disabled = state.step <= 0;
  part("next").disabled = state.step >= count - 1;
  part("play").disabled = count < 2;
}

// The moment in words; a page may have better ones than its number.
function where(said) {
  part("position").setAttribute("aria-valuetext", said);
  text(part("where"), said);
}

function select(index, byPlayer = false) {
  if (!byPlayer) stopPlaying();
  state.follow = state.running && index >= state.count - 1;
  state.step = Math.max(0, Math.min(index, state.count - 1));
  strip();
  player();
  render();
}

function stopPlaying() {
  clearTimeout(state.playing);
  state.playing = null;
  const button = part("play");
  if (!button) return;
  button.setAttribute("aria-label", words.play);
  button.title = words.play;
  button.dataset.playing = "false";
}

function play() {
  if (state.playing) return stopPlaying();
  const button = part("play");
  button.setAttribute("aria-label", words.pause);
  button.title = words.pause;
  button.dataset.playing = "true";
  const from = state.step >= state.count - 1 ? 0 : state.step + 1;
  const tick = (index) => {
    select(index, true);
    if (index >= state.count - 1) return void (state.playing = setTimeout(stopPlaying, 600));
    const wait = state.pace?.[index + 1] ?? 900; // ms until the next moment, where Python told how long each took
    root.dataset.wait = wait;
    state.playing = setTimeout(() => tick(index + 1), wait);
  };
  tick(from);
}

// How much of a slider's track is coloured.
const fillTrack = (input) => input.style.setProperty("--fill", (100 * (input.value - input.min)) / (input.max - input.min || 1) + "%");

// Ask for the current step's pictures; while one request is out, only the newest wish is kept.
async function render() {
  wanted += 1;
  if (busy || !state.run) return;
  busy = true;
  root.dataset.busy = "true";
  try {
    while (element.isConnected) {
      const serial = wanted;
      const asked = wish();
      const reply = JSON.parse(await server.render(JSON.stringify(asked)));
      if (asked.run !== state.run) continue;
      if (reply.message) message(reply.message);
      else await paint(reply, () => serial !== wanted);
      if (serial === wanted && (reply.message || !moved(asked.widths))) break;
    }
  } catch (error) {
    message(words.lost);
  } finally {
    busy = false;
    root.dataset.busy = "false";
    root.dataset.painted = String(wanted);
  }
}

const figures = () => [...element.querySelectorAll(".lab-figure")];

// Whether a figure's room changed while it was being drawn, as it does while the page settles.
const moved = (widths) => figures().some((div) => div.clientWidth && Math.abs(div.clientWidth - widths[div.dataset.panel]) > 8);

function wish() {
  const widths = {};
  figures().forEach((div) => (widths[div.dataset.panel] = Math.round(div.clientWidth)));
  return { run: state.run, step: state.step, theme: theme(), widths, sliders: state.sliders, details: state.details };
}

// Words first, then the pictures on the screen, then the others; a newer wish makes the others moot.
async function paint(reply, outdated) {
  const cards = Object.entries(reply.panels).flatMap(([name, panel]) => {
    const card = element.querySelector(`.lab-panel[data-panel="${name}"]`);
    if (!card) return [];
    card.hidden = panel === null;
    if (panel === null) return [];
    text(card.querySelector(".lab-title"), panel.title);
    text(card.querySelector(".lab-text"), panel.text);
    card.querySelector(".lab-figure").setAttribute("aria-label", panel.title + ". " + panel.text);
    return [{ name, panel, card }];
  });
  details(reply, outdated());
  const [seen, rest] = [cards.filter(({ card }) => onScreen(card)), cards.filter(({ card }) => !onScreen(card))];
  for (const each of seen) await picture(each);
  await frame();
  root.dataset.shown = String(wanted); // what can be seen stands
  for (const each of rest) {
    if (outdated()) return;
    await picture(each);
    await frame();
  }
}

// Let the browser show what was drawn, and hear what the visitor does meanwhile.
const frame = () => document.hidden || new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

function onScreen(card) {
  const { top, bottom } = card.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

async function picture({ name, panel, card }) {
  const div = card.querySelector(".lab-figure");
  code(card.querySelector(".lab-code"));
  if (board(card, panel)) return;
  const signature = theme() + JSON.stringify(panel.figure);
  const same = div.labSignature === signature && div.labWidth === div.clientWidth;
  div.labSignature = signature;
  div.labWidth = div.clientWidth;
  if (!same) await draw(div, panel.figure, (id) => pick(name, id));
  rows(card, panel, name);
}

// What a reply says beside its pictures; how many steps there were at an older wish no longer counts.
function details(reply, outdated) {
  if (!outdated && reply.count !== undefined && reply.count !== state.count) {
    state.count = reply.count;
    state.step = Math.min(state.step, state.count - 1);
    player();
    if (state.toEnd) select(state.count - 1);
    state.toEnd = false;
  }
  if (reply.where) where((state.named = reply.where));
  state.pace = reply.pace;
  for (const [name, most] of Object.entries(reply.limits || {})) limit(name, most);
  if (reply.chips) chips(reply.chips);
  if (reply.counters) counters(reply.counters);
  if (reply.merges !== undefined) merges(reply.merges);
  if (reply.readouts) for (const [name, value] of Object.entries(reply.readouts)) text(element.querySelector(`[data-readout="${name}"]`), value);
}

// One button per row for the keyboard; the mouse clicks the picture itself.
function rows(card, panel, name) {
  const box = card.querySelector(".lab-rows");
  if (!box) return;
  const list = panel.rows || [];
  box.replaceChildren(
    ...list.map((row) => {
      const button = el(
        "button",
        { type: "button", class: "lab-row", "aria-label": row.label, onclick: () => pick(name, row.id) },
      );
      button.style.top = row.top + "px";
      button.style.height = row.height + "px";
      return button;
    }),
  );
}

// The source of the functions that computed a panel's numbers.
async function code(details) {
  if (!details?.open) return;
  const reply = JSON.parse(await server.code(JSON.stringify({ run: state.run, step: state.step, panel: details.dataset.panel })));
  text(details.querySelector("pre"), reply.message || reply.code);
}

// The whole run as a JSON file, named by Python.
async function save() {
  const reply = JSON.parse(await server.save(JSON.stringify(wish())));
  if (reply.message) return message(reply.message);
  const url = URL.createObjectURL(new Blob([reply.json], { type: "application/json" }));
  el("a", { href: url, download: reply.name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function keys(event) {
  if (!element.isConnected) return document.removeEventListener("keydown", keys);
  if (!part("position") || event.altKey || event.ctrlKey || event.metaKey || typing(event.target)) return;
  const moves = { ArrowLeft: state.step - 1, ArrowRight: state.step + 1, Home: 0, End: state.count - 1 };
  if (!(event.key in moves) || !state.count) return;
  event.preventDefault();
  select(moves[event.key]);
}

window.Lab.press = async (...given) => {
  window.Lab.settled(...given.slice(0, -1));
  return [...given.slice(0, -1), await press()];
};
window.Lab.stop = stop;
part("previous")?.addEventListener("click", () => select(state.step - 1));
part("next")?.addEventListener("click", () => select(state.step + 1));
part("play")?.addEventListener("click", play);
part("position")?.addEventListener("input", (event) => select(Number(event.target.value) - 1));
part("draw")?.addEventListener("click", () => {
  drawn(true);
  if (part("play")) {
    select(0);
    play();
  } else render();
});
part("exact")?.addEventListener("click", () => {
  drawn(false);
  part("draw").focus(); // the button that was pressed is gone
  render();
});
part("save")?.addEventListener("click", save);
element.querySelectorAll(".lab-code").forEach((details) => details.addEventListener("toggle", () => code(details)));
for (const button of root.querySelectorAll(".lab-measure")) {
  button.addEventListener("click", async () => {
    if (state.running) return;
    const panel = button.closest(".lab-panel")?.dataset.panel || "";
    const turn = button.dataset.turn ? await press() : "";
    trigger("measure", { run: state.run, panel, turn });
  });
}
document.addEventListener("keydown", keys);
sliders();
choices();
onTheme(() => element.isConnected && render());
let width = element.clientWidth;
new ResizeObserver(() => {
  if (element.isConnected && Math.abs(element.clientWidth - width) > 8) {
    width = element.clientWidth;
    render();
  }
}).observe(element);
watch("value", read);
begin();
