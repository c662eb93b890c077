// Shared by every component: loads Plotly, draws figures, knows the theme. It draws; it does not decide.
window.Lab = (() => {
  "use strict";
  let loading = null;

  // Plotly comes from this server, once, when the first figure needs it.
  function plotly() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("assets/plotly.js?v=" + window.LabConfig.plotly, document.baseURI).href;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => reject(new Error("plotly.js did not load"));
      document.head.append(script);
    });
    return loading;
  }

  const theme = () => (document.body.classList.contains("dark") ? "dark" : "light");

  function onTheme(callback) {
    let last = theme();
    new MutationObserver(() => {
      if (theme() !== last) callback((last = theme()));
    }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  }

  // An element with attributes and children; strings become text, never HTML.
  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  // Replace {name} in a phrase of ours.
  const fill = (phrase, values) => phrase.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  const config = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false };

  // Draw in place. Where only the shapes differ (a moved cursor), the data are left alone.
  async function draw(div, figure, onPick) {
    const Plotly = await plotly();
    div.classList.toggle("lab-wide", Boolean(figure.layout.meta?.scroll)); // its box scrolls sideways
    const key = figure.layout.meta?.key && [figure.layout.meta.key, figure.layout.width, div.clientWidth].join("/");
    if (key && div.labKey === key) {
      await Plotly.relayout(div, { shapes: figure.layout.shapes || [] });
    } else {
      await Plotly.react(div, figure.data, figure.layout, config);
    }
    div.labKey = key;
    const { scroll, focus } = figure.layout.meta || {};
    if (scroll && focus !== div.labFocus) div.parentElement.scrollLeft = focus - div.clientWidth / 2;
    div.labFocus = focus;
    if (onPick && !div.labPick) {
      div.on("plotly_click", (event) => {
        const id = event.points?.map((point) => point.customdata).find((data) => data !== undefined && data !== null);
        if (id !== undefined) div.labPick(Array.isArray(id) ? id[0] : id);
      });
    }
    if (onPick) div.labPick = onPick;
    div.dataset.drawn = String(Number(div.dataset.drawn || 0) + 1);
  }

  const typing = (target) =>
    target.closest("input:not([type=range]), textarea, select, [contenteditable=true], [role=listbox], [role=combobox], pre") ||
    (target.matches("input[type=range]") && !target.closest(".lab-player"));

  // What the controls said when the model last ran; a quiet line says where they differ from it.
  let ran = null;
  const hint = (on) => document.querySelectorAll(".lab-hint").forEach((node) => (node.textContent = on ? node.dataset.words : ""));

  function settled(...given) {
    ran = given;
    hint(false);
  }

  // Controls beyond those given may differ: they act without a run.
  const changed = (...given) => hint(ran !== null && JSON.stringify(given) !== JSON.stringify(ran.slice(0, given.length)));

  return { plotly, theme, onTheme, el, fill, draw, typing, settled, changed };
})();
