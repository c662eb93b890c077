// Light or dark: what the visitor chose last, else what the system asks for. Language likewise.
window.LabTheme = (() => {
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const asked = new URLSearchParams(location.search).get("__theme");
  const choice = () => asked || stored("lab-theme");
  const apply = (dark) => document.body.classList.toggle("dark", dark);
  const start = () => {
    if (choice()) apply(choice() === "dark");
    if (!choice()) apply(matchMedia("(prefers-color-scheme: dark)").matches);
  };
  if (document.body) start();
  document.addEventListener("DOMContentLoaded", start);
  addEventListener("load", () => setTimeout(start, 0));
  const remember = (event) => {
    const link = event.target.closest?.("a[data-lang]");
    if (link) store("lab-lang", link.dataset.lang);
  };
  ["click", "auxclick"].forEach((kind) => document.addEventListener(kind, remember));
  // The first page in English leads to the one in Chinese where that was chosen last, or is the browser's and none was.
  const language = stored("lab-lang") || (navigator.language?.toLowerCase().startsWith("zh") ? "zh" : "en");
  if (/\/$/.test(location.pathname) && !location.search && language === "zh") location.replace("zh");
  return {
    toggle() {
      const dark = !document.body.classList.contains("dark");
      store("lab-theme", dark ? "dark" : "light");
      apply(dark);
    },
  };
})();
