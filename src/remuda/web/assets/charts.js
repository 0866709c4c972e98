// What every page does, of the dashboard or in a file: times as who looks has them, and charts.
"use strict";
const remuda = (() => {
  const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
  // The clock of who made the page is the one that counts.
  let ahead = Number(meta("now")) - Date.now();
  const setNow = (at) => { ahead = at - Date.now(); };
  const now = () => Date.now() + ahead;

  const two = (number) => String(number).padStart(2, "0");

  // Times ---------------------------------------------------------------------------------------------------------
  const age = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    const both = (big, unit, small, part) => `${Math.floor(s / big)}${unit}` + (Math.floor((s % big) / small) ? `${Math.floor((s % big) / small)}${part}` : "");
    if (s < 60) return `${s}s`;
    if (s < 3600) return both(60, "m", 1, "s");
    if (s < 86400) return both(3600, "h", 60, "m");
    return both(86400, "d", 3600, "h");
  };
  // The day is left out where it is today; a file is read on other days.
  const isFile = !document.getElementById("pulse");
  const clock = (at) => {
    const time = new Date(at);
    const isToday = !isFile && Math.abs(now() - at) < 86400000;
    const day = isToday ? "" : `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} `;
    return day + time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  };
  const mark = (at, step) => {
    const time = new Date(at * 1000);
    if (step >= 86400 || (time.getHours() === 0 && time.getMinutes() === 0 && time.getSeconds() === 0)) return time.toLocaleDateString([], { day: "numeric", month: "short" });
    return `${two(time.getHours())}:${two(time.getMinutes())}` + (step < 60 ? `:${two(time.getSeconds())}` : "");
  };
  const elapsed = (at) => `${Math.floor(at / 3600)}:${two(Math.floor((at % 3600) / 60))}`;
  const tick = () => {
    for (const each of document.querySelectorAll("time[data-since]")) {
      const text = age(now() - Number(each.dataset.since));
      if (each.textContent !== text) each.textContent = text;
      each.title ||= clock(Number(each.dataset.since));
    }
    for (const each of document.querySelectorAll("time[data-at]")) {
      const text = clock(Number(each.dataset.at));
      if (each.textContent !== text) each.textContent = text;
    }
  };

  // Amounts -------------------------------------------------------------------------------------------------------
  const shown = (value, digits = value && Math.abs(value) < 1 ? 2 - Math.floor(Math.log10(Math.abs(value))) : 2) =>
    value.toLocaleString("en", { maximumFractionDigits: digits });
  // as Kubernetes writes them
  const bytes = (value) => {
    const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let power = 0;
    while (power < 5 && value >= 1024 ** (power + 1)) power += 1;
    return shown(value / 1024 ** power) + units[power];
  };
  const cores = (value) => (value % 1000 ? (value < 10000 ? `${shown(value, 0)}m` : shown(value / 1000)) : shown(value / 1000));
  const writers = { bytes, millicores: cores, $: (value) => `$${shown(value)}`, "%": (value) => `${shown(value)} %` };
  // on an axis, where there is no room for the words of a unit; these are beside each value of the legend
  const write = (unit) => writers[unit] ?? ((value) => shown(value));
  const writeWhole = (unit, value) => (value === null || value === undefined ? "—" : writers[unit] ? writers[unit](value) : `${shown(value)} ${unit}`.trim());
  const decimal = (least) => Array.from({ length: 18 - least }, (_, n) => n + least).flatMap((n) => [1, 2, 5].map((each) => Number(`${each}e${n}`)));
  const binary = Array.from({ length: 60 }, (_, n) => 2 ** n);
  const steps = (chart) => (chart.unit === "bytes" ? binary : decimal(isWhole(chart) ? 0 : -6));
  const isWhole = (chart) => (chart.scale ?? 1) >= 1 && chart.series.every((line) => line.values.every((value) => value === null || Number.isInteger(value)));

  // Charts --------------------------------------------------------------------------------------------------------
  const drawn = new WeakMap();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const moments = (times) => (Array.isArray(times) ? times : Array.from({ length: times.count }, (_, n) => times.begin + n * times.step));
  const amounts = (chart) => chart.series.map((line) => line.values.map((value) => (value === null ? null : value * (chart.scale ?? 1))));
  const columns = (chart) => {
    const times = moments(chart.times);
    const lines = amounts(chart);
    const tops = chart.is_stacked ? lines.map((_, n) => times.map((__, at) => lines.slice(0, n + 1).reduce((sum, line) => sum + (line[at] ?? 0), 0))) : lines;
    const levels = (chart.levels ?? []).map((level) => times.map(() => level.value));
    return [times.map((at) => at / 1000), ...tops, ...levels];
  };
  const shape = (chart) => JSON.stringify([chart.series.map((line) => [line.name, line.colour]), chart.levels, chart.is_small]);
  const height = (chart) => (chart.is_small ? 132 : 300);
  const options = (chart, box) => {
    const raw = amounts(chart);
    return {
      width: Math.max(200, box.clientWidth),
      height: height(chart),
      legend: { show: !chart.is_small, live: !chart.is_small },
      cursor: { show: !chart.is_small, y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { ...(chart.span ? { x: { range: chart.span.map((at) => at / 1000) } } : {}), y: { range: (_, __, most) => [0, isWhole(chart) ? Math.max(1, most * 1.08) : most * 1.08 || 1] } },
      axes: [
        { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, size: 28, space: 76,
          ...(chart.is_elapsed ? { incrs: [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800] } : {}),
          values: (_, places, __, ___, step) => places.map((at) => (chart.is_elapsed ? elapsed(at) : mark(at, step))) },
        { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false },
          size: (_, values) => Math.max(44, 14 + 7 * Math.max(0, ...(values ?? []).map((text) => text.length))), incrs: steps(chart),
          values: (_, places) => places.map(write(chart.unit)) },
      ],
      series: [
        { label: "Time", value: (plot, at) => {
          const when = at ?? plot.data?.[0]?.at(-1);
          return when === undefined ? "—" : chart.is_elapsed ? elapsed(when) : clock(when * 1000);
        } },
        ...chart.series.map((line, n) => ({
          label: line.name,
          stroke: colour(line.colour),
          fill: chart.is_stacked ? colour(line.colour) : line.is_area ? colour(line.colour) + "55" : undefined,
          width: line.is_area ? 1 : 2,
          dash: line.is_dashed ? [6, 5] : undefined,
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: false },
          // where nobody points, the last
          value: (plot, value, __, at) => writeWhole(chart.unit, chart.is_stacked || at === null ? (drawn.get(box)?.raw ?? raw)[n].at(at ?? -1) : value),
        })),
        ...(chart.levels ?? []).map((level) => ({
          label: level.name,
          stroke: colour(level.colour),
          width: 2,
          dash: level.is_dashed ? [8, 6] : undefined,
          points: { show: false },
          value: () => writeWhole(chart.unit, level.value),
        })),
      ],
      // What lies on top of another fills only what is between both.
      ...(chart.is_stacked ? { bands: chart.series.slice(1).map((_, n) => ({ series: [n + 2, n + 1] })) } : {}),
      hooks: {
        ...(chart.notes?.length ? { setCursor: [(plot) => explain(plot, box)] } : {}),
        ...(chart.marks?.length ? { draw: [(plot) => strike(plot, chart)] } : {}),
      },
    };
  };
  // Moments at which something happened, as lines from top to bottom with a cross.
  const strike = (plot, chart) => {
    const { ctx, bbox } = plot;
    const unit = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = colour("danger");
    ctx.lineWidth = 1.5 * unit;
    for (const at of chart.marks) {
      const x = Math.round(plot.valToPos(at / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.moveTo(x - 4 * unit, bbox.top);
      ctx.lineTo(x + 4 * unit, bbox.top + 8 * unit);
      ctx.moveTo(x + 4 * unit, bbox.top);
      ctx.lineTo(x - 4 * unit, bbox.top + 8 * unit);
      ctx.stroke();
    }
    ctx.restore();
  };
  const explain = (plot, box) => {
    const note = box.parentElement.querySelector(".note");
    const { chart } = drawn.get(box) ?? {};
    if (!chart) return;
    const times = moments(chart.times);
    const at = plot.cursor.idx ?? times.length - 1;
    note.textContent = `${clock(times[at])}  ${chart.notes[at] || "Nothing is recorded."}`;
  };
  const draw = (box) => {
    const text = box.dataset.chart;
    const before = drawn.get(box);
    if (before?.text === text) return;
    const chart = JSON.parse(text);
    if (before && shape(before.chart) === shape(chart)) {
      before.text = text;
      before.chart = chart;
      before.raw = amounts(chart);
      before.plot.setData(columns(chart));
      return;
    }
    before?.plot.destroy();
    box.replaceChildren();
    drawn.set(box, { text, chart, raw: amounts(chart), plot: new uPlot(options(chart, box), columns(chart), box) });
  };
  // A page may have thousands of charts: one is drawn when it is nearly in sight.
  const near = new IntersectionObserver((seen) => {
    for (const each of seen) {
      if (!each.isIntersecting) continue;
      near.unobserve(each.target);
      draw(each.target);
    }
  }, { rootMargin: "600px" });
  const drawAll = () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      if (drawn.has(box)) {
        draw(box);
        continue;
      }
      box.replaceChildren(); // what is said where no script runs
      near.observe(box);
    }
  };
  const redraw = () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      const before = drawn.get(box);
      if (!before) continue;
      before.plot.destroy();
      drawn.delete(box);
      draw(box);
    }
  };
  addEventListener("resize", () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      const known = drawn.get(box);
      known?.plot.setSize({ width: Math.max(200, box.clientWidth), height: height(known.chart) });
    }
  });
  addEventListener("beforeprint", () => document.querySelectorAll("[data-chart]").forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const isPointedAt = (box) => drawn.get(box)?.plot.cursor.idx >= 0;

  drawAll();
  tick();
  return { clock, drawAll, isPointedAt, meta, setNow, tick };
})();
