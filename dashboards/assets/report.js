"use strict";
// Everything that comes from logs enters the page by textContent or value; nothing here builds markup from text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 200;
  const PRINTED = 1000;
  const byId = new Map(data.rebalances.map((row) => [row.id, row]));
  const $ = (id) => document.getElementById(id);
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const remember = (key, value) => {
    try {
      if (value === undefined) return localStorage.getItem(key);
      localStorage.setItem(key, value);
    } catch { /* pages opened from disk may have no storage */ }
    return null;
  };

  // ------------------------------------------------------------------ the state of the view, kept in the address
  const view = { find: "", group: "", cause: "", unexpected: false, chosen: null, chosenName: "", sort: "order", down: false, open: new Set(), shown: PAGE };

  function readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    view.find = wanted.get("find") || "";
    view.group = wanted.get("group") || "";
    view.cause = wanted.get("cause") || "";
    view.unexpected = wanted.get("unplanned") === "1";
    for (const id of (wanted.get("open") || "").split(",")) if (byId.has(id)) view.open.add(id);
    return wanted.get("open");
  }

  function writeAddress() {
    const wanted = new URLSearchParams();
    if (view.find) wanted.set("find", view.find);
    if (view.group) wanted.set("group", view.group);
    if (view.cause) wanted.set("cause", view.cause);
    if (view.unexpected) wanted.set("unplanned", "1");
    if (view.open.size && view.open.size <= 20) wanted.set("open", [...view.open].join(","));
    try { history.replaceState(null, "", `#${wanted}`); } catch { /* not allowed everywhere */ }
  }

  // ------------------------------------------------------------------ table of rebalances
  const searchable = new Map();
  function text(row) {
    if (!searchable.has(row.id)) {
      const parts = [row.id, row.cluster, row.group, row.topic, row.generations, row.start, row.title, row.cause, row.rootTitle, row.outcome, row.said, ...row.who, ...row.blockers];
      searchable.set(row.id, parts.join("\n").toLowerCase());
    }
    return searchable.get(row.id);
  }

  function selected() {
    const words = view.find.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = data.rebalances.filter((row) =>
      (!view.chosen || view.chosen.has(row.id)) && (!view.group || row.group === view.group) && (!view.cause || row.cause === view.cause) &&
      (!view.unexpected || !row.expected) && words.every((word) => text(row).includes(word)));
    const key = view.sort;
    const sign = view.down ? -1 : 1;
    return rows.sort((a, b) => sign * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) || a.order - b.order || (a.id < b.id ? -1 : 1));
  }

  const dot = (family) => {
    const node = make("span", { className: "dot" });
    node.style.background = data.colours[family] || "#808080";
    node.setAttribute("aria-hidden", "true");
    return node;
  };
  const cell = (content, className = "") => make("td", { className }, content);

  function rowOf(row) {
    const open = view.open.has(row.id);
    const button = make("button", { type: "button", className: "open", textContent: row.start });
    button.setAttribute("aria-expanded", String(open));
    button.setAttribute("aria-label", `Details of the rebalance of ${row.group} at ${row.start}`);
    button.addEventListener("click", () => toggle(row.id));
    const cause = make("td", { className: "cause" }, dot(row.family), row.title);
    if (row.rootTitle) cause.append(make("span", { className: "root", textContent: `behind it: ${row.rootTitle}` }));
    const line = make("tr", {},
      cell(button, "nowrap"), cell(row.group + (row.topic ? ` · ${row.topic}` : ""), "log"), cell(row.generations, "nowrap"), cause,
      cell(row.who.join(", ") || "–", "log"), cell(row.lasted, "number"), cell(row.blockers.join(", ") || "–", "log"), cell(row.outcome), cell(row.sure, "number"));
    line.dataset.id = row.id;
    return open ? [line, detailOf(row)] : [line];
  }

  function detailOf(row) {
    const told = make("div", { className: "story" }, ...row.story.map((sentence) => make("p", { textContent: sentence })));
    const parts = [told];
    const total = row.phases.reduce((sum, part) => sum + part, 0);
    if (total > 0) {
      const names = ["initial delay", "waiting for members", "assignment"];
      const bar = make("div", { className: "fall" });
      bar.setAttribute("role", "img");
      bar.setAttribute("aria-label", names.map((name, i) => `${name} ${row.phaseTexts[i]}`).join(", "));
      const key = make("p", { className: "key" });
      row.phases.forEach((part, i) => {
        if (part <= 0) return;
        const piece = make("span", { className: `p${i}` });
        piece.style.flex = `${part} 0 0`;
        bar.append(piece);
        const mark = make("span", { className: "dot" });
        mark.style.background = ["#9aa0a6", "#dc4a3d", "#d99a00"][i];
        key.append(mark, `${names[i]} ${row.phaseTexts[i]}`);
      });
      parts.push(make("h4", { textContent: "Where the time went" }), bar, key);
    }
    if (row.said) parts.push(make("h4", { textContent: "The coordinator's words" }), make("p", { className: "log", textContent: row.said }));
    const cause = data.causes[`${row.system}/${row.root || row.cause}`] || data.causes[`${row.system}/${row.cause}`];
    if (cause) parts.push(make("h4", { textContent: "What to do" }), adviceOf(cause));
    parts.push(make("h4", { textContent: `Evidence (${row.evidence.length + row.more} lines)` }), evidenceOf(row));
    const link = make("p", { className: "key" }, `id ${row.id}`);
    parts.push(link);
    const line = make("tr", { className: "detail" }, make("td", { colSpan: 9 }, ...parts));
    line.dataset.detail = row.id;
    return line;
  }

  function adviceOf(cause) {
    const list = make("ul", { className: "advice" });
    for (const [what, settings] of cause.advice) {
      const item = make("li", { textContent: `${what} ` });
      for (const [name, where, since] of settings) item.append(make("code", { textContent: name }), make("span", { className: "since", textContent: ` on ${where}, since ${since} ` }));
      list.append(item);
    }
    return list;
  }

  function evidenceOf(row) {
    const list = make("ol", { className: "evidence" });
    for (const [path, number, offset, shown, inferred, raw] of row.evidence) {
      const place = `${data.paths[path]}:${number} (byte ${offset})`;
      const copy = make("button", { type: "button", className: "quiet small", textContent: "copy" });
      copy.setAttribute("aria-label", `Copy the line ${place}`);
      copy.addEventListener("click", () => copyText(`${place}\n${raw === undefined ? shown : raw}`, copy));
      const head = make("div", { className: "place" }, make("span", { className: "log", textContent: place }), copy);
      if (inferred) head.append(make("span", { className: "badge info", textContent: "implies it" }));
      list.append(make("li", {}, head, make("pre", { textContent: shown })));
    }
    if (row.more) list.append(make("li", { className: "key", textContent: `${row.more} more lines are named by analyze --json.` }));
    return list;
  }

  function copyText(what, button) {
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
    const byHand = () => {
      const field = make("textarea", { value: what });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      done();
    };
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(what).then(done, byHand);
    else byHand();
  }

  function toggle(id) {
    if (view.open.has(id)) view.open.delete(id); else view.open.add(id);
    const line = $("table").querySelector(`tr[data-id="${CSS.escape(id)}"]`);
    if (line) {
      const open = view.open.has(id);
      line.querySelector("button.open").setAttribute("aria-expanded", String(open));
      if (open) line.after(detailOf(byId.get(id))); else line.nextElementSibling.remove();
    }
    writeAddress();
  }

  function draw(limit = view.shown) {
    const rows = selected();
    const body = $("table").tBodies[0];
    body.replaceChildren(...rows.slice(0, limit).flatMap(rowOf));
    if (!rows.length) body.append(make("tr", {}, make("td", { colSpan: 9, textContent: data.rebalances.length ? "No rebalance fits these filters." : "No rebalance was found." })));
    const all = data.rebalances.length;
    $("count").textContent = `${rows.length.toLocaleString("en")} of ${all.toLocaleString("en")} rebalances` + (rows.length > limit ? `, the first ${limit} shown` : "");
    $("more").hidden = rows.length <= limit;
    for (const head of $("table").querySelectorAll("th[data-key]")) {
      if (head.dataset.key === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  function filtered() {
    view.shown = PAGE;
    writeAddress();
    draw();
  }

  function choose(ids, name) {
    view.chosen = ids && new Set(ids);
    view.chosenName = name;
    $("chosen").hidden = !ids;
    $("chosen-name").textContent = name;
    filtered();
  }

  function fill(select, pairs, value) {
    for (const [key, label] of pairs) select.append(make("option", { value: key, textContent: label }));
    select.value = value;
  }

  function reveal(id) {
    if (!byId.has(id)) return;
    view.find = view.group = view.cause = "";
    view.unexpected = false;
    view.open.add(id);
    const position = (view.chosen = null, selected()).findIndex((row) => row.id === id);
    view.shown = Math.max(view.shown, Math.ceil((position + 1) / PAGE) * PAGE);
    controls();
    $("chosen").hidden = true;
    writeAddress();
    draw();
    const line = $("table").querySelector(`tr[data-id="${CSS.escape(id)}"]`);
    line.scrollIntoView({ block: "center" });
    line.querySelector("button.open").focus({ preventScroll: true });
  }

  function controls() {
    $("find").value = view.find;
    $("by-group").value = view.group;
    $("by-cause").value = view.cause;
    $("unexpected").checked = view.unexpected;
  }

  // ------------------------------------------------------------------ downloads
  // A cell that a spreadsheet would take for a formula gets a quote mark in front.
  const csvCell = (value) => {
    const safe = /^[=+\-@\t\r]/.test(value) && !/^-?[\d.]+$/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  function download(name, type, content) {
    const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  function asCsv() {
    const head = ["id", "cluster", "group", "topic", "generations", `start (${data.zone})`, "seconds", "cause", "root_cause", "confidence", "offenders", "blockers", "outcome"];
    const rows = selected().map((row) => [row.id, row.cluster, row.group, row.topic, row.generations, row.start, row.seconds, row.cause, row.root, row.confidence, row.who.join("; "), row.blockers.join("; "), row.outcome]);
    download("rebalances.csv", "text/csv", [head, ...rows].map((row) => row.map((value) => csvCell(String(value))).join(",")).join("\r\n") + "\r\n");
  }
  const asJson = () => download("rebalances.json", "application/json", JSON.stringify(selected(), null, 1));

  // ------------------------------------------------------------------ other tables
  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = (row) => {
          const at = row.cells[column];
          return "sort" in at.dataset ? Number(at.dataset.sort) : at.textContent;
        };
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  // ------------------------------------------------------------------ pictures
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function themed(layout) {
    const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line") };
    const copy = structuredClone(layout);
    copy.font = { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: colour("--ink") };
    copy.hoverlabel = { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left" };
    Object.assign(copy.xaxis, axis);
    Object.assign(copy.yaxis, axis);
    if (printing) Object.assign(copy, { width: PAPER, autosize: false });
    return copy;
  }
  // Pictures keep the width that they are drawn with: this one fits A4 and Letter, upright, with usual margins.
  const PAPER = 660;
  let printing = false;
  const holders = [...document.querySelectorAll("[data-chart]")];
  const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { format: "png", scale: 2 } };

  async function unpack() {
    const packed = $("plotly").textContent;
    if (!packed || typeof DecompressionStream === "undefined") throw new Error("no DecompressionStream");
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = make("script", { textContent: await new Response(stream).text() });
    document.head.append(script);
    $("plotly").remove();
  }

  function redraw() {
    if (typeof Plotly === "undefined") return Promise.resolve();
    return Promise.all(holders.map((holder) => {
      const chart = data.charts[holder.dataset.chart];
      return Plotly.react(holder, chart.data, themed(chart.layout), CONFIG);
    }));
  }

  async function pictures() {
    if (!holders.length) return;
    try {
      await unpack();
    } catch {
      holders.forEach((holder) => holder.replaceChildren(make("p", { className: "waiting", textContent: "This browser can't unpack the pictures. The tables hold all that they show." })));
      return;
    }
    holders.forEach((holder) => holder.replaceChildren());
    await redraw();
    holders.forEach((holder) => holder.on("plotly_click", (event) => {
      const about = event.points[0] && event.points[0].customdata;
      if (Array.isArray(about)) reveal(about[0]);
    }));
  }

  // ------------------------------------------------------------------ colours
  const THEMES = ["system", "light", "dark"];
  function theme(name) {
    if (name === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
    $("theme").textContent = `Colours: ${name}`;
    $("theme").dataset.now = name;
  }

  // ------------------------------------------------------------------ start
  theme(THEMES.includes(remember("groupscope-theme")) ? remember("groupscope-theme") : "system");
  const asked = readAddress();
  fill($("by-group"), [...new Set(data.rebalances.map((row) => row.group))].sort().map((name) => [name, name]), view.group);
  fill($("by-cause"), [...new Map(data.rebalances.map((row) => [row.cause, row.title]))].sort((a, b) => (a[1] < b[1] ? -1 : 1)), view.cause);
  controls();
  draw();

  $("find").addEventListener("input", (event) => { view.find = event.target.value; filtered(); });
  $("by-group").addEventListener("change", (event) => { view.group = event.target.value; filtered(); });
  $("by-cause").addEventListener("change", (event) => { view.cause = event.target.value; filtered(); });
  $("unexpected").addEventListener("change", (event) => { view.unexpected = event.target.checked; filtered(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => choose(null, ""));
  $("more").addEventListener("click", () => { view.shown += PAGE; draw(); });
  $("csv").addEventListener("click", asCsv);
  $("json").addEventListener("click", asJson);
  $("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf($("theme").dataset.now) + 1) % THEMES.length];
    remember("groupscope-theme", next);
    theme(next);
    redraw();
  });
  for (const head of $("table").querySelectorAll("th[data-key] button")) {
    head.addEventListener("click", () => {
      const key = head.parentElement.dataset.key;
      view.down = view.sort === key ? !view.down : key === "seconds";
      view.sort = key;
      draw();
    });
  }
  for (const button of document.querySelectorAll("button.show")) {
    button.addEventListener("click", () => {
      choose(button.dataset.ids.split(" "), button.dataset.name);
      $("rebalances").scrollIntoView();
      $("rebalances-title").tabIndex = -1;
      $("rebalances-title").focus({ preventScroll: true });
    });
  }
  document.querySelectorAll("table.sortable").forEach(sortable);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is white: pictures take the light colours for as long as printing lasts.
  addEventListener("beforeprint", () => {
    printing = true;
    document.documentElement.dataset.theme = "light";
    draw(Math.max(view.shown, PRINTED));
    redraw();
  });
  addEventListener("afterprint", () => {
    printing = false;
    theme($("theme").dataset.now);
    draw();
    redraw();
  });
  addEventListener("hashchange", () => { if (/[=]/.test(location.hash)) { view.open.clear(); readAddress(); controls(); draw(); } });
  pictures().then(() => {
    document.documentElement.dataset.ready = "yes";
    const first = asked && asked.split(",")[0];
    if (first && byId.has(first)) reveal(first);
  });
})();
