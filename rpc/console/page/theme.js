// Light or dark, as the visitor has chosen, before anything is drawn. Without a choice the system's counts.
(() => {
  try {
    const chosen = localStorage.getItem("jeton-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // a browser that keeps nothing for the page: the system's choice counts
  }
})();
