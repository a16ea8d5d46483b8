// What a page does by itself: above all the search, which needs no server. Its index is a script that is loaded when somebody is about to search; see search.go for what is in it.
"use strict";
(() => {
  const root = document.currentScript.src.replace(/search\.js$/, "");
  const form = document.querySelector(".search");
  const input = form.querySelector("input");
  const found = form.querySelector(".found");
  const status = found.querySelector("p");
  const list = found.querySelector("ol");
  const most = 12; // results
  const mostOfPage = 3;
  let index = null;
  let loading = false;

  // words are those of a query, each with its parts, as search.go has them.
  function words(text) {
    return [...text.toLowerCase().matchAll(/-\d+|[\p{L}\p{N}]+(?:[-_./:'][\p{L}\p{N}]+)*/gu)].map(([word]) => {
      const parts = word.match(/[\p{L}\p{N}]+/gu);
      return { word, parts: parts.length > 1 ? parts : [] };
    });
  }

  // weigh adds to the sections that have a word, or one that begins with it, which counts half. What has two letters begins too many words.
  function weigh(word, scores) {
    index.words.forEach((known, at) => {
      if (known !== word && (word.length < 3 || !known.startsWith(word))) return;
      let section = 0;
      for (let i = 0; i < index.found[at].length; i += 2) {
        section += index.found[at][i];
        const weight = index.found[at][i + 1] * (known === word ? 1 : 0.5);
        if (weight > (scores.get(section) ?? 0)) scores.set(section, weight);
      }
    });
  }

  // find is the sections that fit best. One that has more of the words comes before one that has them more often.
  function find(query) {
    const total = new Map();
    const asked = words(query);
    for (const { word, parts } of asked) {
      const scores = new Map();
      weigh(word, scores);
      const rest = parts.map((part) => {
        const one = new Map();
        weigh(part, one);
        return one;
      });
      for (const section of rest.length ? rest[0].keys() : []) {
        if (!rest.every((one) => one.has(section))) continue;
        const weight = rest.reduce((sum, one) => sum + one.get(section), 0) / rest.length / 2;
        scores.set(section, (scores.get(section) ?? 0) + weight);
      }
      for (const [section, weight] of scores) {
        const sum = total.get(section) ?? { weight: 0, words: 0 };
        total.set(section, { weight: sum.weight + weight, words: sum.words + 1 });
      }
    }
    const ranked = [...total].map(([section, { weight, words: n }]) => [section, weight * (n / asked.length) ** 3]);
    ranked.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const ofPage = new Map();
    return ranked.map(([section]) => index.sections[section]).filter(([address]) => {
      const page = address.split("#")[0];
      ofPage.set(page, (ofPage.get(page) ?? 0) + 1);
      return ofPage.get(page) <= mostOfPage;
    }).slice(0, most);
  }

  // item is a result. All of it is text.
  function item([address, title, heading, begins]) {
    const link = document.createElement("a");
    link.href = root + address;
    const head = document.createElement("b");
    head.textContent = heading || title;
    const page = document.createElement("span");
    page.textContent = heading ? title : "";
    const text = document.createElement("small");
    text.textContent = begins;
    link.append(head, " ", page, text);
    const li = document.createElement("li");
    li.append(link);
    return li;
  }

  function show() {
    const query = input.value.trim();
    found.hidden = query === "";
    if (found.hidden) return;
    if (index === null) {
      status.textContent = "Loading the index …";
      load();
      return;
    }
    const results = find(query);
    status.textContent = results.length === 0 ? `Nothing was found for “${query}”.` : results.length === 1 ? "1 result" : `${results.length} results`;
    list.replaceChildren(...results.map(item));
  }

  function load() {
    if (loading) return;
    loading = true;
    const address = root + "search-index.js";
    const script = document.createElement("script");
    script.src = window.trustedTypes ? trustedTypes.createPolicy("jeton", { createScriptURL: () => address }).createScriptURL("") : address;
    script.addEventListener("error", () => { status.textContent = "The index of the search could not be loaded."; });
    document.head.append(script);
  }

  window.jetonSearch = (loaded) => {
    index = loaded;
    show();
  };

  function close() {
    found.hidden = true;
    input.focus();
  }

  // move goes from the field into the results and between them.
  function move(event, step) {
    const stops = [input, ...list.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    if (found.hidden || at < 0) return;
    event.preventDefault();
    stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "ArrowDown") move(event, 1);
    if (event.key === "ArrowUp") move(event, -1);
  });
  form.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !form.contains(event.relatedTarget)) found.hidden = true;
  });
  list.addEventListener("click", () => { found.hidden = true; });
  document.addEventListener("click", (event) => { if (!form.contains(event.target)) found.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  form.hidden = false;

  // The list of pages shows where the reader is.
  const pages = document.querySelector(".pages");
  const here = pages.querySelector("[aria-current]");
  if (here) pages.scrollTop = here.offsetTop - pages.clientHeight / 2;

  // What moves sideways by itself can be moved by the keyboard too.
  const wide = new ResizeObserver((boxes) => {
    for (const { target } of boxes) {
      if (target.scrollWidth > target.clientWidth) {
        target.tabIndex = 0;
        target.setAttribute("role", "group");
        target.setAttribute("aria-label", target.matches("pre") ? "Code" : "Table");
      } else {
        target.removeAttribute("tabindex");
        target.removeAttribute("role");
        target.removeAttribute("aria-label");
      }
    }
  });
  for (const box of document.querySelectorAll(".wide, .code pre")) wide.observe(box);
})();
