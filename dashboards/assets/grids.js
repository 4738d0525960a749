
// ------------------------------------------------------------------ downloads
// A cell that a spreadsheet would take for a formula gets a quote mark in front.
const csvCell = (value) => {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^-?[\d.]+$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const asCsv = (lines) => lines.map((line) => line.map((value) => csvCell(String(value ?? ""))).join(",")).join("\r\n") + "\r\n";
function download(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
const utc = (us) => (us === null ? "" : `${new Date(us / 1000).toISOString().slice(0, 19)}.${String(((us % 1e6) + 1e6) % 1e6).padStart(6, "0")}Z`);
const record = (row) => ({
  id: row.id, cluster: row.cluster, group: row.group, topic: row.topic, generations: row.generations, started_at: utc(row.at), seconds: row.seconds,
  cause: row.cause.split("/")[1], root_cause: row.root.split("/")[1] || "", confidence: row.confidence, offenders: row.who, blockers: row.blockers, outcome: row.outcome,
});
function downloadRows(form) {
  const found = sorted([...selected()]).map(record);
  if (form === "json") return download("rebalances.json", "application/json", JSON.stringify(found, null, 1));
  const head = Object.keys(record(rows[0] || { id: "", at: null, cause: "", root: "" }));
  const lines = found.map((one) => head.map((key) => (Array.isArray(one[key]) ? one[key].join("; ") : one[key])));
  return download("rebalances.csv", "text/csv", asCsv([head, ...lines]));
}

// ------------------------------------------------------------------ the other tables: all rows are data, those in sight are elements
class Grid {
  constructor(holder) {
    this.name = holder.dataset.grid;
    this.table = holder.querySelector("table");
    Object.assign(this, { holder, ...data.tables[this.name], sort: -1, down: false, shown: PAGE });
    [...this.table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => this.sortBy(column));
    });
    this.more = make("button", { type: "button", className: "quiet more", textContent: "Show more" });
    this.more.addEventListener("click", () => { this.shown += PAGE; this.draw(); });
    this.table.after(this.more);
    for (const form of ["CSV", "JSON"]) {
      const button = make("button", { type: "button", className: "quiet small", textContent: form });
      button.setAttribute("aria-label", `${form}: download ${this.name}`);
      button.addEventListener("click", () => this.download(form.toLowerCase()));
      holder.querySelector(".tools").append(button);
    }
    nearEnd(this.more);
    this.draw();
  }

  sortBy(column) {
    this.down = this.sort === column ? !this.down : this.columns[column][1] === "number";
    this.sort = column;
    [...this.table.tHead.rows[0].cells].forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.draw();
  }

  selected() {
    const found = this.group === null || !view.group ? [...this.rows] : this.rows.filter((row) => row[this.group] === view.group);
    if (this.sort < 0) return found;
    const value = (row) => (Array.isArray(row[this.sort]) ? row[this.sort][this.columns[this.sort][1] === "number" ? 1 : 0] : row[this.sort] ?? Infinity);
    const sign = this.down ? -1 : 1;
    return found.sort((a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
  }

  draw() {
    const found = this.selected();
    const lines = found.slice(0, this.shown).map((row) => make("tr", {}, ...row.map((value, column) => this.cell(value, column))));
    if (!lines.length) lines.push(make("tr", {}, make("td", { colSpan: this.columns.length, textContent: "Nothing here is about the chosen group." })));
    this.table.tBodies[0].replaceChildren(...lines);
    this.more.hidden = found.length <= this.shown;
  }

  cell(value, column) {
    const kind = this.columns[column][1];
    const node = make("td", { className: kind === "places" ? "log places" : kind });
    if (kind === "places") value.forEach((place, i) => node.append(...(i ? [make("br")] : []), place));
    else node.textContent = kind === "number" ? value[0] : kind === "stamp" ? stamp(value) : value;
    return node;
  }

  download(form) {
    const plain = (value, [, kind]) => (kind === "number" ? value[1] : kind === "stamp" ? utc(value) : kind === "places" ? value.join("; ") : value);
    const heads = this.columns.map(([title]) => title.toLowerCase().replaceAll(" ", "_").replaceAll(".", ""));
    const lines = this.selected().map((row) => row.map((value, column) => plain(value, this.columns[column])));
    if (form === "csv") return download(`${this.name}.csv`, "text/csv", asCsv([heads, ...lines]));
    const records = lines.map((line) => Object.fromEntries(line.map((value, column) => [heads[column], value])));
    return download(`${this.name}.json`, "application/json", JSON.stringify(records, null, 1));
  }
}

// A button at the end of a table presses itself when it is scrolled into sight.
const ends = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting && !entry.target.hidden) entry.target.click();
}, { rootMargin: "0px" });
const nearEnd = (button) => ends.observe(button);
