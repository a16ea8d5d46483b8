// The order of rows that change every second. Rows that jump cannot be read: the order is made anew every three seconds, and not
// while the pointer or the focus is among them.

const CALM = 3000; // milliseconds

// ordering keeps the order of a table of that id. sort is by which column, and choose changes it.
export function ordering(id, by, columns, redraw) {
  let order = new Map(), made = 0;
  const busy = () => document.querySelector(`#${id} tbody:hover, #${id} tbody:focus-within`) !== null;
  const me = {
    by,
    down: true,
    choose(next) {
      me.down = me.by === next ? !me.down : columns[next].down !== false;
      me.by = next;
      made = 0;
      redraw();
    },
    // sorted are the items in their order, each known by its name.
    sorted(items, name) {
      const now = Date.now();
      if (made === 0 || (now - made > CALM && !busy())) {
        made = now;
        const value = columns[me.by].value;
        const compare = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (me.down ? -1 : 1) || (name(a) < name(b) ? -1 : 1);
        order = new Map([...items].sort(compare).map((item, i) => [name(item), i]));
      }
      const place = (item) => order.get(name(item)) ?? Infinity;
      return [...items].sort((a, b) => { const x = place(a), y = place(b); return x === y ? 0 : x - y; });
    },
  };
  return me;
}
