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
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-lang]");
    if (link) store("lab-lang", link.dataset.lang);
  });
  const home = /\/$/.test(location.pathname) && !location.search;
  if (home && !stored("lab-lang") && navigator.language?.startsWith("zh")) location.replace("zh");
  return {
    toggle() {
      const dark = !document.body.classList.contains("dark");
      store("lab-theme", dark ? "dark" : "light");
      apply(dark);
    },
  };
})();
