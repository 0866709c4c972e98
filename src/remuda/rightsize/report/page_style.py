"""How the page of a review looks, and what is convenient where scripts run: filter and sort workloads."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b2530; --soft: #5d6a77; --line: #dde3e9; --paper: #fff; --card: #f5f7f9;
  --use: #9ec1e8; --edge: #3f7fc4; --now: #3a4653; --adv: #1f8a55; --bad: #c0392f; --warn: #94610a; --good: #1f7a4c;
  --badbg: #fbe9e7; --warnbg: #fbf1dc; --goodbg: #e3f4ea; --link: #1f62b0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5eaef; --soft: #9aa7b4; --line: #313c47; --paper: #14191f;
  --card: #1c232b; --use: #2c4f78; --edge: #6ba5e7; --now: #c3ced9; --adv: #5cc48d; --bad: #f0857b; --warn: #e6b459;
  --good: #6fd09b; --badbg: #42211f; --warnbg: #3b3017; --goodbg: #173526; --link: #82b4ee; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1.6rem 1.2rem 4rem; font: 15px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; } h3 { font-size: 1.05rem; margin: 0; } h4 { font-size: .95rem; margin: 0; }
p { margin: .3rem 0; } a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
.soft { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .7rem; margin: 1.2rem 0 0; padding: 0; }
.cards div { background: var(--card); border-radius: .5rem; padding: .7rem .9rem; }
.cards dt { color: var(--soft); font-size: .85rem; } .cards dd { margin: 0; font-size: 1.35rem; font-weight: 600; }
.cards dd small { display: block; font-size: .85rem; font-weight: 400; color: var(--soft); }
.wide { overflow-x: auto; } .wide + .wide { margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: .2rem 0 .4rem; }
th, td { padding: .28rem .9rem .28rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; white-space: nowrap; } tbody th { font-weight: 500; }
td.r, th.r { text-align: right; } td.r, th.r, td.s { white-space: nowrap; }
td.w { min-width: 13rem; } h1, h3, h4, p, td, code, small, header span { overflow-wrap: break-word; } code { word-break: break-word; }
.tag { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .8rem; font-weight: 600; white-space: nowrap;
  background: var(--card); color: var(--soft); }
.bad { background: var(--badbg); color: var(--bad); } .warn { background: var(--warnbg); color: var(--warn); }
.good { background: var(--goodbg); color: var(--good); }
section { margin-top: 1.6rem; padding-top: 1rem; border-top: 2px solid var(--line); content-visibility: auto;
  contain-intrinsic-size: auto 34rem; }
section > header, article > header { display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: baseline; }
article { margin: .9rem 0 1.4rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: .4rem 1.6rem; margin: .6rem 0; }
svg { display: block; width: 100%; height: auto; } svg.defs { position: absolute; width: 0; height: 0; }
text { font: 22px system-ui, sans-serif; fill: var(--soft); }
text.h { font-weight: 600; fill: var(--ink); } .m text, text.c { text-anchor: middle; } .e text { text-anchor: end; }
svg path { fill: none; } .g { stroke: var(--line); stroke-width: 2; }
path.u { fill: var(--use); stroke: var(--edge); stroke-width: 2; stroke-linejoin: round; } text.u { fill: var(--edge); }
path.n { stroke: var(--now); stroke-width: 3; } path.q { stroke: var(--now); stroke-width: 3; stroke-dasharray: 12 8; }
path.a { stroke: var(--adv); stroke-width: 4; } path.b { stroke: var(--adv); stroke-width: 4; stroke-dasharray: 12 8; }
text.n, text.q { fill: var(--now); } text.a, text.b { fill: var(--adv); font-weight: 600; }
path.k { stroke: var(--bad); stroke-width: 3; } text.k { fill: var(--bad); font-weight: 600; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--link); }
details table { margin-top: .4rem; } code { font: .85em ui-monospace, monospace; }
input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .35rem .7rem; width: min(100%, 26rem); margin-bottom: .6rem; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort="descending"] button::after { content: " ↓"; } th[aria-sort="ascending"] button::after { content: " ↑"; }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } text { font-size: 24px; } }
@media print { section { content-visibility: visible; break-inside: avoid; } input { display: none; } }
""".strip()

#: a box that hides the workloads that do not have what is written there, and headings that sort; without scripts there are none
SCRIPT = """
(() => {
  const table = document.getElementById("workloads");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase(),
    document.getElementById(row.querySelector("a").hash.slice(1))]);
  const box = document.createElement("input");
  box.type = "search";
  box.placeholder = "Filter workloads: a name, a risk, a verdict";
  box.setAttribute("aria-label", box.placeholder);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\\s+/);
    for (const [row, text, section] of rows)
      row.hidden = section.hidden = !words.every((word) => text.includes(word));
  });
  table.parentElement.before(box);
  const number = (text) => {
    const read = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
    return Number.isNaN(read) ? -Infinity : read;
  };
  [...table.tHead.rows[0].cells].forEach((head, n) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const of = ([row]) => row.cells[n].textContent.trim();
      const compare = head.classList.contains("r") ? (a, b) => number(of(a)) - number(of(b))
        : (a, b) => of(a).localeCompare(of(b), "en", { numeric: true });
      rows.sort((a, b) => (down ? -compare(a, b) : compare(a, b)));
      table.tBodies[0].append(...rows.map(([row]) => row));
    });
  });
})();
""".strip()
