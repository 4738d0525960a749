
// ------------------------------------------------------------------ filters
const grids = [...document.querySelectorAll("[data-grid]")].map((holder) => new Grid(holder));

function changed() {
  kept = null;
  view.shown = PAGE;
  controls();
}

function applyFilters() {
  changed();
  writeAddress();
  drawRows();
  if (grids.some((grid) => grid.group !== null)) grids.filter((grid) => grid.group !== null).forEach((grid) => grid.draw());
  return redraw();
}

const clockText = (ms) => (ms === null ? "" : new Date(wall(ms)).toISOString().slice(0, 19));
function controls() {
  for (const [id, value] of [["find", view.find], ["by-group", view.group], ["by-cause", view.cause], ["by-client", view.client], ["from", clockText(view.from)], ["to", clockText(view.to)]]) {
    if ($(id).value !== value && document.activeElement !== $(id)) $(id).value = value;
  }
  $("unplanned").checked = view.unplanned;
  $("reset").hidden = !isFiltered();
  $("incident-chosen").hidden = !view.incident;
  $("incident-chosen").textContent = view.incident ? `incident ${view.incident} only` : "";
  showSums();
  showMoment();
  $("passing").textContent = isFiltered() ? `${counted(selected().length)} of ${counted(rows.length)} rebalances` : "";
}

// Headline numbers and incidents are of what passes the filters; those without a rebalance go by their times alone.
const cards = [...document.querySelectorAll("[data-incidents]")];
const tiles = new Map([...document.querySelectorAll("[data-tile]")].map((tile) => [tile.dataset.tile, tile]));
const asWritten = new Map([...tiles].map(([name, tile]) => [name, ["value", "of"].map((part) => tile.querySelector(`.${part}`).textContent)]));
function showSums() {
  const found = selected();
  const places = new Set(found.map((row) => row.place));
  const passes = (number) => (data.incidents[number] || []).some((place) => places.has(place));
  for (const card of cards) card.hidden = isFiltered() && !hasNoRows(incidentsOf(card)) && !incidentsOf(card).some(passes);
  if (!isFiltered()) {
    for (const [name, tile] of tiles) [tile.querySelector(".value").textContent, tile.querySelector(".of").textContent] = asWritten.get(name);
    return;
  }
  const sure = found.filter((row) => row.confidence >= data.sure).length;
  const grave = Object.keys(data.incidents).filter((number) => passes(number));
  const sums = {
    attention: [counted(grave.filter((number) => data.attention.includes(Number(number))).length), `of ${counted(grave.length)} incidents with rebalances`],
    rebalances: [counted(found.length), `of ${counted(rows.length)}`],
    stopped: [duration(found.reduce((sum, row) => sum + (row.stopped || 0), 0)), "summed over groups"],
    unplanned: [counted(found.filter((row) => !row.expected).length), "not by deploys or scaling"],
    sure: [found.length ? share(sure / found.length) : "–", `${counted(sure)} of ${counted(found.length)}`],
  };
  for (const [name, tile] of tiles) if (sums[name]) [tile.querySelector(".value").textContent, tile.querySelector(".of").textContent] = sums[name];
}

function fill(select, pairs) {
  select.append(...pairs.map(([value, textContent]) => make("option", { value, textContent })));
}

let waiting = 0;
function soon(change) {
  change();
  clearTimeout(waiting);
  waiting = setTimeout(applyFilters, 150);
}

function readTimeFields() {
  const at = (id) => ($(id).value ? unwall(Date.parse(`${$(id).value}Z`)) : NaN);
  const [from, to] = [at("from"), at("to")];
  const known = rows.filter((row) => row.at !== null);
  const first = known.length ? known[0].at / 1000 : 0;
  const last = known.reduce((latest, row) => Math.max(latest, row.at / 1000 + (row.seconds || 0) * 1000), first);
  const none = Number.isNaN(from) && Number.isNaN(to);
  Object.assign(view, none ? { from: null, to: null } : { from: Number.isNaN(from) ? Math.floor(first) : from, to: Number.isNaN(to) ? Math.ceil(last) : to });
  applyFilters();
}

// ------------------------------------------------------------------ colours and time zone
const THEMES = ["system", "light", "dark"];
function theme(name) {
  if (name === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  $("theme").textContent = `Colours: ${name}`;
  $("theme").dataset.now = name;
}

function remember(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch { /* pages opened from disk may have no storage */ }
  return null;
}

function zoneChoices() {
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const near = [...new Set([data.zone, "UTC", local])];
  const all = Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone").filter((name) => !near.includes(name)) : [];
  const option = (name) => make("option", { value: name, textContent: name === local && name !== "UTC" ? `${name} (this computer)` : name });
  $("zone").append(...near.map(option));
  if (all.length) $("zone").append(make("optgroup", { label: "All zones" }, ...all.map(option)));
}

// All times in the page are written again; those in sentences are marked in the page's data.
function showZone() {
  if (![...$("zone").options].some((option) => option.value === zone)) $("zone").append(make("option", { value: zone, textContent: zone }));
  $("zone").value = zone;
  for (const node of document.querySelectorAll("[data-at]")) node.textContent = stamp(node.dataset.at === "" ? null : Number(node.dataset.at));
  for (const node of document.querySelectorAll("[data-from]")) {
    const [from, to] = [node.dataset.from, node.dataset.to].map((text) => (text === "" ? null : Number(text)));
    node.textContent = span(from, to);
  }
  for (const node of document.querySelectorAll(".zone")) node.textContent = zone;
  controls();
  grids.forEach((grid) => grid.draw());
}

// ------------------------------------------------------------------ start
theme(THEMES.includes(remember("groupscope-theme")) ? remember("groupscope-theme") : "system");
zoneChoices();
const asked = readAddress();
fill($("by-group"), [...new Set(rows.map((row) => row.group))].sort().map((name) => [name, name]));
fill($("by-cause"), [...new Map(rows.map((row) => [row.cause, row.title]))].sort((a, b) => (a[1] < b[1] ? -1 : 1)));
fill($("clients"), [...new Set(rows.flatMap((row) => [...row.who, ...row.blockers]))].sort().slice(0, 2000).map((name) => [name, ""]));
showZone();
drawRows();

for (const [id, key] of [["find", "find"], ["by-client", "client"]]) $(id).addEventListener("input", (event) => soon(() => { view[key] = event.target.value; }));
for (const [id, key] of [["by-group", "group"], ["by-cause", "cause"]]) $(id).addEventListener("change", (event) => { view[key] = event.target.value; applyFilters(); });
for (const id of ["from", "to"]) $(id).addEventListener("change", readTimeFields);
$("unplanned").addEventListener("change", (event) => { view.unplanned = event.target.checked; applyFilters(); });
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("reset").addEventListener("click", () => {
  Object.assign(view, CLEAR);
  applyFilters();
  $("find").focus();
});
$("more").addEventListener("click", moreRows);
nearEnd($("more"));
$("csv").addEventListener("click", () => downloadRows("csv"));
$("json").addEventListener("click", () => downloadRows("json"));
$("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf($("theme").dataset.now) + 1) % THEMES.length];
  remember("groupscope-theme", next);
  theme(next);
  redraw().then(rethemeWaterfalls);
});
$("zone").addEventListener("change", (event) => {
  setZone(event.target.value);
  showZone();
  writeAddress();
  drawRows();
  redraw();
});
for (const head of $("table").querySelectorAll("th[data-key] button")) {
  head.addEventListener("click", () => {
    const { key } = head.parentElement.dataset;
    view.down = view.sort === key ? !view.down : key === "seconds";
    view.sort = key;
    drawRows();
  });
}
if (configuration) configuration.addEventListener("change", redraw);
for (const button of document.querySelectorAll("button.show")) {
  button.addEventListener("click", () => {
    Object.assign(view, CLEAR, { incident: Number(button.dataset.incident) });
    applyFilters();
    $("rebalances").scrollIntoView();
    $("rebalances-title").focus({ preventScroll: true });
  });
}
for (const button of document.querySelectorAll("button.around")) {
  button.addEventListener("click", () => {
    const [from, to] = [button.dataset.since, button.dataset.until].map((text) => (text === "" ? Math.max(...rows.map((row) => row.at || 0)) : Number(text)) / 1000);
    Object.assign(view, CLEAR, { from: from - AROUND, to: Math.max(from, to) + AROUND });
    applyFilters();
    $("filters").scrollIntoView();
  });
}
for (const button of document.querySelectorAll("button.print")) {
  button.addEventListener("click", () => {
    const card = button.closest(".incident");
    card.classList.add("printed");
    document.documentElement.dataset.print = "one";
    addEventListener("afterprint", () => {
      card.classList.remove("printed");
      delete document.documentElement.dataset.print;
    }, { once: true });
    print();
  });
}
// The menu moves the view and leaves the filters in the address.
for (const link of document.querySelectorAll("nav a, a[href^='#i'], a.skip")) {
  link.addEventListener("click", (event) => {
    const goal = $(link.hash.slice(1));
    if (!goal) return;
    event.preventDefault();
    if (goal.tagName === "DETAILS") goal.open = true;
    if (!goal.hasAttribute("tabindex")) goal.tabIndex = -1;
    goal.scrollIntoView();
    goal.focus({ preventScroll: true });
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw().then(rethemeWaterfalls));
// Paper is white: pictures take the light colours for as long as printing lasts, and nothing stays folded.
let folded = [];
addEventListener("beforeprint", () => {
  printing = true;
  document.documentElement.dataset.theme = "light";
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
  drawRows(Math.max(view.shown, PRINTED));
  drawAll().then(rethemeWaterfalls);
});
addEventListener("afterprint", () => {
  printing = false;
  theme($("theme").dataset.now);
  for (const one of folded) one.open = false;
  drawRows();
  drawAll().then(rethemeWaterfalls);
});
addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) return;
  const first = readAddress();
  showZone();
  applyFilters();
  if (first) reveal(first);
});

controls();
if (asked) reveal(asked);
for (const holder of holders) sight.observe(holder);
// Incidents and tables can be read first; pictures follow, and where one is in sight, the page is not ready without it.
await new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
const ready = () => { document.documentElement.dataset.ready = "yes"; performance.mark("ready"); };
if (!inSight.size) ready();
if (holders.length) {
  await new Promise((then) => setTimeout(then));
  await unpackPlotly().then(plotlyThere, plotlyMissing).then(redraw);
}
if (document.documentElement.dataset.ready !== "yes") ready();
