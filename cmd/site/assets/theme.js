// Light or dark, as the reader has chosen, before anything is drawn. Without a choice the system's counts.
"use strict";
(() => {
  const page = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  try {
    const chosen = localStorage.getItem("jeton-theme");
    if (chosen === "light" || chosen === "dark") page.dataset.theme = chosen;
  } catch {
    // a browser that keeps nothing for the page: the system's choice counts
  }
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme");
    const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
      page.dataset.theme = dark() ? "light" : "dark";
      label();
      try {
        localStorage.setItem("jeton-theme", page.dataset.theme);
      } catch {
        // it counts for this page
      }
    });
    system.addEventListener("change", label);
    label();
    button.hidden = false;
  });
})();
