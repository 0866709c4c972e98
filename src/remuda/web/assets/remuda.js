// What a page does by itself: it follows what changes, counts ages, draws charts, and asks before it acts.
"use strict";
(() => {
  const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
  // The server's clock is the one that counts.
  let ahead = Number(meta("now")) - Date.now();
  const now = () => Date.now() + ahead;
  const pulse = document.getElementById("pulse");
  const notice = document.getElementById("notice");

  const say = (text) => {
    notice.textContent = text;
    notice.hidden = !text;
  };
  const beat = (word, look) => {
    if (pulse.textContent !== word) pulse.textContent = word;
    pulse.className = `pulse ${look}`;
  };

  // Times ---------------------------------------------------------------------------------------------------------
  const age = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    const two = (big, unit, small, part) => `${Math.floor(s / big)}${unit}` + (Math.floor((s % big) / small) ? `${Math.floor((s % big) / small)}${part}` : "");
    if (s < 60) return `${s}s`;
    if (s < 3600) return two(60, "m", 1, "s");
    if (s < 86400) return two(3600, "h", 60, "m");
    return two(86400, "d", 3600, "h");
  };
  const clock = (at) => {
    const time = new Date(at);
    const day = Math.abs(now() - at) < 86400000 ? "" : `${time.toLocaleDateString()} `;
    return day + time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  };
  const mark = (at, step) => {
    const time = new Date(at * 1000);
    const two = (number) => String(number).padStart(2, "0");
    if (step >= 86400 || (time.getHours() === 0 && time.getMinutes() === 0 && time.getSeconds() === 0)) return time.toLocaleDateString([], { day: "numeric", month: "short" });
    return `${two(time.getHours())}:${two(time.getMinutes())}` + (step < 60 ? `:${two(time.getSeconds())}` : "");
  };
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

  // Charts --------------------------------------------------------------------------------------------------------
  const drawn = new WeakMap();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const columns = (chart) => [chart.times.map((at) => at / 1000), ...chart.series.map((line) => line.values)];
  const shape = (chart) => JSON.stringify([chart.series.map((line) => [line.name, line.colour]), chart.is_small]);
  const options = (chart, box) => ({
    width: Math.max(200, box.clientWidth),
    height: chart.is_small ? 132 : 300,
    legend: { show: !chart.is_small, live: !chart.is_small },
    cursor: { show: !chart.is_small, y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
    axes: [
      { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, size: 28, space: 76,
        values: (_, places, __, ___, step) => places.map((at) => mark(at, step)) },
      { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, size: 44,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 1000000] },
    ],
    series: [
      { value: (_, at) => (at === null ? "—" : clock(at * 1000)) },
      ...chart.series.map((line) => ({
        label: line.name,
        stroke: colour(line.colour),
        fill: line.is_area ? colour(line.colour) + "55" : undefined,
        width: line.is_area ? 1 : 2,
        dash: line.is_dashed ? [6, 5] : undefined,
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false },
        value: (_, value) => (value === null ? "—" : `${value} ${chart.unit}`),
      })),
    ],
    hooks: chart.notes?.length ? { setCursor: [(plot) => explain(plot, box)] } : {},
  });
  const explain = (plot, box) => {
    const note = box.parentElement.querySelector(".note");
    const { chart } = drawn.get(box) ?? {};
    if (!chart) return;
    const at = plot.cursor.idx ?? chart.times.length - 1;
    note.textContent = `${clock(chart.times[at])}  ${chart.notes[at] || "Nothing is recorded."}`;
  };
  const draw = (box) => {
    const text = box.dataset.chart;
    const before = drawn.get(box);
    if (before?.text === text) return;
    const chart = JSON.parse(text);
    if (before && shape(before.chart) === shape(chart)) {
      before.text = text;
      before.chart = chart;
      before.plot.setData(columns(chart));
      return;
    }
    before?.plot.destroy();
    box.replaceChildren();
    drawn.set(box, { text, chart, plot: new uPlot(options(chart, box), columns(chart), box) });
  };
  const redraw = () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      const before = drawn.get(box);
      before?.plot.destroy();
      drawn.delete(box);
      draw(box);
    }
  };
  const drawAll = () => document.querySelectorAll("[data-chart]").forEach(draw);
  addEventListener("resize", () => {
    for (const box of document.querySelectorAll("[data-chart]")) {
      const known = drawn.get(box);
      known?.plot.setSize({ width: Math.max(200, box.clientWidth), height: known.chart.is_small ? 132 : 300 });
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // What changes --------------------------------------------------------------------------------------------------
  const morph = (html) => {
    const found = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
    const here = document.getElementById(found.id);
    if (!here) return;
    Idiomorph.morph(here, found, {
      morphStyle: "outerHTML",
      ignoreActiveValue: true,
      callbacks: {
        beforeNodeMorphed: (old, fresh) => {
          if (old.nodeType !== 1) return true;
          // What is drawn here is not in the HTML, and what somebody chose stays chosen.
          if (old.matches("[data-chart]")) {
            old.dataset.chart = fresh.dataset.chart;
            const label = fresh.getAttribute("aria-label");
            if (label) old.setAttribute("aria-label", label);
            return false;
          }
          if (old.matches(".note") && drawn.get(old.parentElement.querySelector("[data-chart]"))?.plot.cursor.idx >= 0) return false;
          if (old.matches("input[type=checkbox]")) fresh.checked = old.checked;
          return true;
        },
      },
    });
  };
  const apply = (change) => {
    ahead = change.now - Date.now();
    Object.values(change.regions).forEach(morph);
    say(change.problem);
    drawAll();
    tick();
  };
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const lines = async function* (response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      yield* parts.filter((part) => part.startsWith("data: ")).map((part) => part.slice(6));
    }
  };
  const follow = async () => {
    let wait = 500;
    for (;;) {
      try {
        const response = await fetch(location.href.split("#")[0], { headers: { Accept: "text/event-stream" } });
        if (response.status === 401) {
          beat("signed out", "lost");
          say("You are signed out: this page no longer moves. Open the link that `remuda web` prints, or reload to sign in.");
          wait = 5000;
        } else if (!response.ok) {
          const problem = await response.json().catch(() => ({ error: `Remuda answered ${response.status}` }));
          say(problem.error);
          beat("not live", "lost");
          wait = Math.min(wait * 2, 10000);
        } else {
          beat("live", "live");
          say("");
          wait = 500;
          for await (const data of lines(response)) apply(JSON.parse(data));
          beat("connecting", "");
        }
      } catch {
        beat("not live", "lost");
        say("Remuda no longer answers; this page goes on by itself when it does.");
        wait = Math.min(wait * 2, 10000);
      }
      await pause(wait);
    }
  };

  // Acting --------------------------------------------------------------------------------------------------------
  const ask = (question, fields) => {
    const dialog = document.getElementById("confirm");
    document.getElementById("confirm-text").textContent = question;
    const place = document.getElementById("confirm-fields");
    place.replaceChildren();
    for (const field of fields) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "number", min: "0", name: field.name, value: field.value ?? "" });
      label.append(`${field.label} `, input);
      place.append(label);
    }
    dialog.returnValue = "no";
    dialog.showModal();
    (place.querySelector("input") ?? document.getElementById("confirm-yes")).focus();
    return new Promise((done) => {
      dialog.addEventListener("close", () => {
        if (dialog.returnValue !== "yes") return done(null);
        const given = [...place.querySelectorAll("input")].map((input) => [input.name, input.value === "" ? null : Number(input.value)]);
        done(Object.fromEntries(given));
      }, { once: true });
    });
  };
  const post = async (path, body) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Remuda-Proof": meta("proof") },
      body: JSON.stringify(body),
    });
    if (response.ok) return "";
    const problem = await response.json().catch(() => ({}));
    return problem.error ?? `Remuda answered ${response.status}`;
  };
  const act = async (button) => {
    const given = await ask(button.dataset.question, JSON.parse(button.dataset.fields ?? "[]"));
    if (given === null) return;
    button.disabled = true;
    try {
      if (button.dataset.manyPost) {
        const chosen = [...document.querySelectorAll(`input[name="${button.closest("[data-many]").dataset.many}"]:checked`)];
        if (!chosen.length) return say("Nothing is chosen.");
        const problems = [];
        for (const box of chosen) {
          const problem = await post(button.dataset.manyPost.replace("{id}", encodeURIComponent(box.value)), {});
          if (problem) problems.push(problem);
          box.checked = false;
        }
        say(problems.length ? `${problems.length} of ${chosen.length} not done: ${problems[0]}` : "");
      } else {
        say(await post(button.dataset.post, { ...JSON.parse(button.dataset.body), ...given }));
      }
    } catch {
      say("Remuda does not answer: nothing was changed, or it is not known whether it was.");
    } finally {
      button.disabled = false;
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.act");
    if (button) act(button);
  });

  // Output of a job, as it comes ------------------------------------------------------------------------------------
  const mostShown = 400000;
  const output = async (box) => {
    try {
      const response = await fetch(box.dataset.follow);
      if (!response.ok) {
        const problem = await response.json().catch(() => ({}));
        box.textContent = problem.error ?? `Remuda answered ${response.status}`;
        return;
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 20;
        box.append(value);
        if (box.textContent.length > mostShown) box.textContent = box.textContent.slice(-mostShown / 2);
        if (isAtEnd) box.scrollTop = box.scrollHeight;
      }
      if (!box.textContent) box.textContent = "(it wrote nothing)";
    } catch {
      box.append("\n(the connection was lost; reload to read on)");
    }
  };

  // The slider of Why ------------------------------------------------------------------------------------------------
  for (const form of document.querySelectorAll("[data-slider]")) {
    const input = form.querySelector("input[type=range]");
    input.addEventListener("input", () => { form.querySelector("output").textContent = clock(Number(input.value)); });
    input.addEventListener("change", () => {
      const where = new URL(location.href);
      where.searchParams.set("at", input.value);
      location.assign(where);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  for (const form of document.querySelectorAll("[data-replay]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const box = document.getElementById("replayed");
      const button = form.querySelector("button");
      const changed = form.querySelector("details").open ? form.querySelector("textarea").value : "";
      button.disabled = true;
      box.hidden = false;
      box.textContent = "…";
      try {
        const response = await fetch("/v1/replay", {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-Remuda-Proof": meta("proof") },
          body: JSON.stringify({ since: Number(form.dataset.since), until: Number(form.dataset.until), objects: changed }),
        });
        const found = await response.json();
        if (!response.ok) box.textContent = found.error;
        else {
          const parts = found.differences.map((each) => each.lines.join("\n"));
          const head = `${found.steps} recorded steps (${found.cycles} cycles), ${found.differences.length} decided differently`;
          box.textContent = [head, found.strangers, ...parts].filter(Boolean).join("\n\n");
        }
      } catch {
        box.textContent = "Remuda does not answer.";
      }
      button.disabled = false;
    });
  }

  drawAll();
  tick();
  setInterval(tick, 1000);
  document.querySelectorAll("[data-follow]").forEach(output);
  if (document.querySelector("[data-live]")) follow();
  else beat("as opened", "");
})();
