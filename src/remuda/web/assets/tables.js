// What tables and texts do, on the dashboard and in a file: sort where there is no server to, filter, and be copied.
"use strict";
(() => {
  const number = (text) => {
    const read = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
    return Number.isNaN(read) ? -Infinity : read;
  };
  // A heading that sorts is a button, so that a keyboard reaches it; the second press sorts the other way.
  for (const head of document.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const n = head.cellIndex;
    const isNumber = head.classList.contains("n");
    const of = (row) => row.cells[n].textContent.trim();
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0];
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = isNumber ? (a, b) => number(of(a)) - number(of(b)) : (a, b) => of(a).localeCompare(of(b), "en", { numeric: true });
      body.append(...[...body.rows].sort((a, b) => (down ? -compare(a, b) : compare(a, b))));
    });
  }

  // A row is shown when it has what each field of the form says: of its own name, or anywhere in its text. What a row leads to goes with it.
  for (const form of document.querySelectorAll("form[data-filter]")) {
    const rows = [...document.getElementById(form.dataset.filter).tBodies[0].rows].map((row) => [
      row, row.textContent.toLowerCase(), document.getElementById(row.querySelector("a[href^='#']")?.hash.slice(1) ?? ""),
    ]);
    const filter = () => {
      const { find, ...fields } = Object.fromEntries(new FormData(form));
      const words = (find ?? "").toLowerCase().split(/\s+/);
      for (const [row, text, section] of rows) {
        const isShown = words.every((word) => text.includes(word)) && Object.entries(fields).every(([name, value]) => !value || row.dataset[name] === value);
        row.hidden = !isShown;
        if (section) section.hidden = !isShown;
      }
    };
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // A page from another host without TLS has no clipboard of that kind.
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    const isDone = document.execCommand("copy");
    box.remove();
    if (!isDone) throw new Error("not copied");
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await copy(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: copy it with the keyboard";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
})();
