// Maps of very many things on a canvas: groups and areas as large as their numbers, filled with squares.
"use strict";
(() => {
  const HEAD = 17, NAME = 14, GAP = 4, LEAST = 3;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
  const shown = (number) => number.toLocaleString("en");

  // Rectangles as square as they can be, each as large as its weight, in the order of the items.
  const lay = (items, x, y, w, h) => {
    const placed = [];
    let rest = items.filter((item) => item.weight > 0);
    let weight = sum(rest.map((item) => item.weight));
    while (rest.length && w > 0 && h > 0) {
      const side = Math.min(w, h), scale = (w * h) / weight;
      let count = 0, strip = 0, worst = Infinity;
      for (const item of rest) {
        const more = strip + item.weight;
        const thick = (more * scale) / side;
        const lengths = rest.slice(0, count + 1).map((each) => (each.weight * scale) / thick);
        const ratio = Math.max(...lengths.map((length) => Math.max(length / thick, thick / length)));
        if (ratio > worst) break;
        [count, strip, worst] = [count + 1, more, ratio];
      }
      const thick = (strip * scale) / side;
      let along = 0;
      for (const item of rest.slice(0, count)) {
        const length = (item.weight * scale) / thick;
        placed.push(w >= h ? { item, x, y: y + along, w: thick, h: length } : { item, x: x + along, y, w: length, h: thick });
        along += length;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      rest = rest.slice(count);
      weight -= strip;
    }
    return placed;
  };

  // How many squares each look gets: in proportion, and each that occurs at least one.
  const share = (counts, squares) => {
    const total = sum(counts), given = counts.map((count) => (count ? Math.max(1, Math.floor((count * squares) / total)) : 0));
    const most = counts.indexOf(Math.max(...counts));
    given[most] = Math.max(1, given[most] + squares - sum(given));
    return given;
  };
  const round = (number) => {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
    return [1, 2, 5, 10].find((each) => each * power >= number) * power;
  };

  const layout = (map, width, height) => {
    const groups = new Map();
    for (const area of map.areas) groups.set(area.group, [...(groups.get(area.group) ?? []), area]);
    const weigh = (area) => ({ area, weight: sum(area.counts) });
    const items = [...groups].map(([name, areas]) => ({ name, areas, weight: sum(areas.map((area) => sum(area.counts))) }));
    const leaves = [], heads = [];
    for (const { item, x, y, w, h } of lay(items, 0, 0, width, height)) {
      const head = item.name && h > 3 * HEAD && w > 40 ? HEAD : 0;
      if (head) heads.push({ text: item.name, x: x + GAP, y, w: w - 2 * GAP });
      for (const { item: { area }, ...at } of lay(item.areas.map(weigh), x, y + head, w, h - head)) {
        const name = area.name && at.h > 3 * NAME && at.w > 34 ? NAME : 0;
        leaves.push({ area, name, ...at });
      }
    }
    return { leaves, heads };
  };

  // Squares from left to right in rows; the largest with which all of them have room.
  const fit = (w, h, squares) => {
    let side = Math.sqrt((w * h) / squares);
    while (side > 0.5 && Math.floor(w / side) * Math.floor(h / side) < squares) side *= 0.97;
    return side;
  };

  const known = new WeakMap();
  const draw = (box) => {
    const map = JSON.parse(box.dataset.areas);
    const width = Math.max(200, box.clientWidth), height = box.parentElement.classList.contains("few") ? 180 : width < 640 ? 420 : 380;
    if (!box.querySelector("canvas")) box.replaceChildren(...["canvas", "p", "p"].map((tag) => document.createElement(tag)));
    const [canvas, scale] = box.children;
    canvas.setAttribute("role", "img");
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const paint = canvas.getContext("2d");
    paint.scale(dense, dense);
    paint.clearRect(0, 0, width, height);
    const { leaves, heads } = layout(map, width, height);
    const total = sum(map.areas.map((area) => sum(area.counts)));
    const per = round((total * LEAST * LEAST * 1.5) / (width * height));
    const looks = map.looks.map((look) => colour(look.colour));
    for (const { area, name, x, y, w, h } of leaves) {
      const left = x + GAP / 2, top = y + GAP / 2 + name, across = w - GAP, down = h - GAP - name;
      if (across < 1 || down < 1) continue;
      const squares = Math.max(area.counts.filter(Boolean).length, Math.ceil(sum(area.counts) / per));
      const side = Math.min(fit(across, down, squares), 28);
      const columns = Math.max(1, Math.floor(across / side)), inner = side >= 4 ? side - 1 : side;
      let place = 0;
      share(area.counts, squares).forEach((count, look) => {
        paint.fillStyle = looks[look];
        for (let each = 0; each < count; each += 1, place += 1) {
          paint.fillRect(left + (place % columns) * side, top + Math.floor(place / columns) * side, inner, inner);
        }
      });
      paint.strokeStyle = colour("line");
      paint.lineWidth = 1;
      paint.strokeRect(x + 0.5, y + 0.5, Math.max(0, w - 1), Math.max(0, h - 1));
    }
    paint.textBaseline = "middle";
    const write = (text, x, y, w) => {
      let written = text;
      while (written.length > 1 && paint.measureText(written).width > w) written = `${written.slice(0, -2)}…`;
      paint.fillText(written, x, y);
    };
    paint.fillStyle = colour("ink");
    paint.font = "600 12px system-ui, sans-serif";
    for (const { text, x, y, w } of heads) write(text, x, y + HEAD / 2 + 1, w);
    paint.fillStyle = colour("soft");
    paint.font = "11px system-ui, sans-serif";
    for (const { area, name, x, y, w } of leaves) if (name) write(area.name, x + GAP / 2, y + NAME / 2 + 2, w - GAP);
    canvas.setAttribute("aria-label", `${map.title}: ${shown(total)} ${total === 1 ? map.unit : map.units}. The table below says the same.`);
    scale.textContent = per === 1 ? `A square is one ${map.unit}.` : `A square is ${shown(per)} ${map.units}, or the few that there are.`;
    known.set(box, { map, leaves, text: box.dataset.areas, width });
  };

  const at = (box, event) => {
    const { left, top } = box.querySelector("canvas").getBoundingClientRect();
    const x = event.clientX - left, y = event.clientY - top;
    return known.get(box)?.leaves.find((leaf) => x >= leaf.x && x < leaf.x + leaf.w && y >= leaf.y && y < leaf.y + leaf.h)?.area;
  };
  const explain = (box, area) => {
    const note = box.children[2];
    const { map } = known.get(box);
    const parts = area?.counts.map((count, look) => (count ? `${shown(count)} ${map.looks[look].name}` : "")).filter(Boolean) ?? [];
    note.textContent = area ? `${[area.group, area.name].filter(Boolean).join(" · ")}: ${shown(sum(area.counts))} ${sum(area.counts) === 1 ? map.unit : map.units}: ${parts.join(", ")}` : "";
  };
  const begin = (box) => {
    if (!known.has(box)) {
      box.addEventListener("pointermove", (event) => explain(box, at(box, event)));
      box.addEventListener("pointerleave", () => explain(box, undefined));
      box.addEventListener("click", (event) => { const link = at(box, event)?.link; if (link) location.assign(link); });
    }
    draw(box);
  };
  const drawAll = (anew = false) => {
    for (const box of document.querySelectorAll("[data-areas]")) {
      const before = known.get(box);
      if (anew || before?.text !== box.dataset.areas || before.width !== Math.max(200, box.clientWidth)) begin(box);
    }
  };
  new MutationObserver(() => drawAll()).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-areas"] });
  addEventListener("resize", () => drawAll());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
  drawAll();
})();
