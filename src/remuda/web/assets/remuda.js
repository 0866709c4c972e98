// What a page of the dashboard does by itself: it follows what changes, and asks before it acts.
"use strict";
(() => {
  const { clock, drawAll, isPointedAt, meta, setNow, tick } = remuda;
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
          if (old.matches("[data-chart], [data-areas]")) {
            Object.assign(old.dataset, fresh.dataset);
            const label = fresh.getAttribute("aria-label");
            if (label) old.setAttribute("aria-label", label);
            return false;
          }
          if (old.matches(".note") && isPointedAt(old.parentElement.querySelector("[data-chart]"))) return false;
          if (old.matches("details")) fresh.open = old.open;
          if (old.matches("input[type=checkbox]")) fresh.checked = old.checked;
          else if (old.matches("input:not([type=hidden])")) fresh.setAttribute("value", old.value);
          else if (old.matches("textarea")) fresh.textContent = old.value;
          else if (old.matches("select")) for (const each of fresh.options) each.toggleAttribute("selected", each.value === old.value);
          return true;
        },
      },
    });
  };
  const apply = (change) => {
    // Whoever signed in again in another tab has another proof.
    for (const each of document.querySelectorAll('meta[name="proof"]')) each.content = change.proof;
    for (const each of document.querySelectorAll('input[name="proof"]')) each.value = change.proof;
    setNow(change.now);
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

  // A page that could not be drawn just now: it is opened again as soon as it can be.
  const retry = async () => {
    beat("trying again", "");
    for (let wait = 1000; ; wait = Math.min(wait * 2, 8000)) {
      await pause(wait);
      try {
        const response = await fetch(location.href.split("#")[0], { headers: { Accept: "text/html" } });
        if (response.status !== 503) return location.reload();
      } catch {
        // not yet
      }
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
    const lost = "\n(the connection was lost; it is read again as soon as Remuda answers)";
    for (let wait = 1000; ; wait = Math.min(wait * 2, 8000)) {
      try {
        const response = await fetch(box.dataset.follow);
        if (response.ok) {
          const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
          let isFirst = true;
          for (;;) {
            const { done, value } = await reader.read();
            if (isFirst) box.textContent = "";
            isFirst = false;
            if (done) break;
            wait = 1000;
            const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 20;
            box.append(value);
            if (box.textContent.length > mostShown) box.textContent = box.textContent.slice(-mostShown / 2);
            if (isAtEnd) box.scrollTop = box.scrollHeight;
          }
          if (!box.textContent) box.textContent = "(it wrote nothing)";
          return;
        }
        const problem = await response.json().catch(() => ({}));
        if (response.status === 400 || response.status === 404) {
          box.textContent = problem.error ?? `Remuda answered ${response.status}`;
          return;
        }
      } catch {
        // said below
      }
      if (!box.textContent.endsWith(lost)) box.append(lost);
      await pause(wait);
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

  setInterval(tick, 1000);
  document.querySelectorAll("[data-follow]").forEach(output);
  if (document.querySelector("[data-live]")) follow();
  else if (document.querySelector("[data-retry]")) retry();
  else beat("as opened", "");
})();
