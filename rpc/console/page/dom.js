// Elements of the page. A view describes what it shows as a new tree each time, and `patch` changes the tree on the page
// into it, so that focus, selected text and scrolling stay where they are. All text goes into text nodes: nothing is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

// h makes an element. Attributes that are null, undefined or false are left out; those that begin with "on" are listeners;
// "style" is an object of CSS properties. Children are nodes, texts, numbers, or lists of them.
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// s makes an element of a drawing.
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      node[name] = value;
      (node.listeners ??= []).push(name);
    } else if (name === "style") {
      for (const [property, v] of Object.entries(value)) node.style.setProperty(property, v);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...flat(children));
  return node;
}

function flat(children) {
  return children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== "").map((c) => (c instanceof Node ? c : String(c)));
}

// patch makes the children of node those of a list. Children with the same data-key or id stay the same elements; what is in an element
// with data-keep is left alone once it stands on the page.
export function patch(node, ...children) {
  const next = document.createDocumentFragment();
  next.append(...flat(children));
  sync(node, next);
}

function sync(old, next) {
  const keyed = new Map();
  for (const child of old.childNodes) {
    const key = keyOf(child);
    if (key && !keyed.has(key)) keyed.set(key, child);
  }
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    let have = key ? keyed.get(key) : at;
    if (have && (!alike(have, wanted) || keyOf(have) !== key)) have = null;
    keyed.delete(key); // a key that comes twice is of two elements
    if (!have) {
      old.insertBefore(wanted, at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else old.insertBefore(have, at);
    become(have, wanted);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

const keyOf = (node) => node.dataset?.key || node.dataset?.keep || node.id || "";

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.dataset?.keep === b.dataset?.keep;
}

function become(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !ofVisitor(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && !ofVisitor(old, name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  for (const name of old.listeners ?? []) old[name] = null;
  for (const name of next.listeners ?? []) old[name] = next[name];
  old.listeners = next.listeners;
  if (old.dataset.keep !== undefined || old.nodeName === "TEXTAREA") return;
  const chosen = old.value;
  sync(old, next);
  if (old.nodeName === "SELECT") choose(old, chosen);
}

// choose selects the option that was chosen before, which its element forgets when options come and go.
function choose(select, value) {
  const options = [...select.options];
  const option = options.find((o) => o.value === value) ?? options.find((o) => o.hasAttribute("selected")) ?? options[0];
  if (option && !option.selected) option.selected = true;
}

// ofVisitor says of an attribute that a view does not set it: whether details are open, what a field holds, and whether a table that
// is wider than the page can be reached by keyboard.
function ofVisitor(node, name) {
  switch (node.nodeName) {
    case "DETAILS":
    case "DIALOG":
      return name === "open";
    case "INPUT":
      return name === "value" || name === "checked";
    case "OPTION":
      return name === "selected";
    case "DIV":
      return name === "tabindex" || name === "style";
  }
  return name === "style";
}
