
// ------------------------------------------------------------------ table of rebalances
const COLUMNS = 9;
const PRINTED = 1000;
const dot = (colour) => {
  const node = make("span", { className: "dot" });
  node.style.background = colour;
  node.setAttribute("aria-hidden", "true");
  return node;
};
const colourOf = (family) => (data.families[family] || data.families.unknown)[1];
const cell = (content, className = "") => make("td", { className }, content);

function lineOf(row) {
  const open = view.open.has(row.id);
  const button = make("button", { type: "button", className: "open", textContent: stamp(row.at) });
  button.setAttribute("aria-expanded", String(open));
  button.setAttribute("aria-label", `Details of the rebalance of ${row.group} at ${stamp(row.at)}`);
  button.addEventListener("click", () => toggle(row.id));
  const cause = make("td", { className: "cause" }, dot(colourOf(row.family)), row.title);
  if (row.rootTitle) cause.append(make("span", { className: "root", textContent: `behind it: ${row.rootTitle}` }));
  const line = make("tr", {},
    cell(button, "nowrap"), cell(row.group + (row.topic ? ` · ${row.topic}` : ""), "log"), cell(row.generations, "nowrap"), cause,
    cell(people(row.who), "log"), cell(row.lasted, "number"), cell(people(row.blockers), "log"), cell(row.outcome), cell(share(row.confidence), "number"));
  line.dataset.id = row.id;
  return open ? [line, openedLine(row)] : [line];
}

const people = (names) => (names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ") || "–");

function openedLine(row) {
  const inside = make("div", { className: "inside" });
  const line = make("tr", { className: "detail" }, make("td", { colSpan: COLUMNS }, inside));
  line.dataset.detail = row.id;
  detailOf(row).then((detail) => fillDetail(inside, row, detail));
  return line;
}

function toggle(id) {
  if (view.open.has(id)) view.open.delete(id); else view.open.add(id);
  const line = $("table").querySelector(`tr[data-id="${CSS.escape(id)}"]`);
  if (line) {
    const open = view.open.has(id);
    line.querySelector("button.open").setAttribute("aria-expanded", String(open));
    if (open) line.after(openedLine(byId.get(id))); else line.nextElementSibling.remove();
  }
  writeAddress();
}

function drawRows(limit = view.shown) {
  const found = sorted([...selected()]);
  const body = $("table").tBodies[0];
  body.replaceChildren(...found.slice(0, limit).flatMap(lineOf));
  if (!found.length) body.append(make("tr", {}, make("td", { colSpan: COLUMNS, textContent: rows.length ? "No rebalance passes these filters." : "No rebalance was found." })));
  $("count").textContent = `${counted(found.length)} of ${counted(rows.length)} rebalances` + (found.length > limit ? `, the first ${counted(limit)} shown` : "");
  $("more").hidden = found.length <= limit;
  for (const head of $("table").querySelectorAll("th[data-key]")) {
    if (head.dataset.key === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

// The next rows come when the end of the table is scrolled to, or by its button.
function moreRows() {
  const found = sorted([...selected()]);
  $("table").tBodies[0].append(...found.slice(view.shown, view.shown + PAGE).flatMap(lineOf));
  view.shown += PAGE;
  $("count").textContent = `${counted(found.length)} of ${counted(rows.length)} rebalances` + (found.length > view.shown ? `, the first ${counted(view.shown)} shown` : "");
  $("more").hidden = found.length <= view.shown;
}

function reveal(id) {
  const row = byId.get(id);
  if (!row) return;
  view.open.add(id);
  if (!selected().includes(row)) {
    Object.assign(view, CLEAR);
    changed();
  }
  const place = sorted([...selected()]).indexOf(row);
  view.shown = Math.max(view.shown, Math.ceil((place + 1) / PAGE) * PAGE);
  writeAddress();
  drawRows();
  const line = $("table").querySelector(`tr[data-id="${CSS.escape(id)}"]`);
  line.scrollIntoView({ block: "center" });
  line.querySelector("button.open").focus({ preventScroll: true });
}
