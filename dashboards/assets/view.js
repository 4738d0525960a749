
// ------------------------------------------------------------------ the state of the view, kept in the address
const PAGE = 100;
const AROUND = 5 * 60 * 1000;
const CLEAR = { find: "", group: "", cause: "", client: "", from: null, to: null, unplanned: false, incident: 0 };
const view = { ...CLEAR, sort: "at", down: false, open: new Set(), shown: PAGE, moment: null };

function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  Object.assign(view, CLEAR, { open: new Set() });
  view.find = wanted.get("find") || "";
  view.group = wanted.get("group") || "";
  view.cause = wanted.get("cause") || "";
  view.client = wanted.get("client") || "";
  view.unplanned = wanted.get("unplanned") === "1";
  view.incident = Number(wanted.get("incident")) || 0;
  readTimes(wanted.get("t") || "");
  const moment = Date.parse(wanted.get("at") || "");
  view.moment = Number.isNaN(moment) ? null : moment * 1000;
  if (wanted.get("tz")) setZone(wanted.get("tz"));
  for (const id of (wanted.get("open") || "").split(",")) if (byId.has(id)) view.open.add(id);
  const generation = wanted.get("gen");
  const found = generation && rows.find((row) => row.generations.endsWith(` ${generation}`) && (!view.group || row.group === view.group));
  if (found) view.open.add(found.id);
  return [...view.open][0];
}

// `t` is a stretch `from..to`, or one moment, which is shown with five minutes on each side.
function readTimes(text) {
  const [from, to] = text.split("..").map((part) => Date.parse(part));
  if (Number.isNaN(from)) return;
  [view.from, view.to] = to === undefined || Number.isNaN(to) ? [from - AROUND, from + AROUND] : [from, to];
}

function writeAddress() {
  const wanted = new URLSearchParams();
  for (const key of ["group", "cause", "client", "find"]) if (view[key]) wanted.set(key, view[key]);
  if (view.unplanned) wanted.set("unplanned", "1");
  if (view.incident) wanted.set("incident", view.incident);
  if (view.from !== null) wanted.set("t", `${new Date(view.from).toISOString()}..${new Date(view.to).toISOString()}`);
  if (view.moment !== null) wanted.set("at", new Date(view.moment / 1000).toISOString());
  if (zone !== data.zone) wanted.set("tz", zone);
  if (view.open.size && view.open.size <= 20) wanted.set("open", [...view.open].join(","));
  try { history.replaceState(null, "", `#${wanted}`); } catch { /* not allowed everywhere */ }
}

function setZone(name) {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    zone = name;
  } catch { /* a link may name a zone that this browser does not know */ }
}

// ------------------------------------------------------------------ which rebalances pass the filters
const isFiltered = () => Object.entries(CLEAR).some(([key, value]) => view[key] !== value);
const searchable = new Map();
function textOf(row) {
  if (!searchable.has(row)) {
    const parts = [row.id, row.cluster, row.group, row.topic, row.generations, row.title, row.cause, row.rootTitle, row.outcome, ...row.who, ...row.blockers];
    searchable.set(row, parts.join("\n").toLowerCase());
  }
  return searchable.get(row);
}

function passing() {
  const words = view.find.toLowerCase().split(/\s+/).filter(Boolean);
  const client = view.client.toLowerCase();
  const incident = view.incident && new Set(data.incidents[view.incident]);
  return rows.filter((row) =>
    (!incident || incident.has(row.place)) && (!view.group || row.group === view.group) && (!view.cause || row.cause === view.cause) &&
    (!view.unplanned || !row.expected) && inTime(row) &&
    (!client || [...row.who, ...row.blockers].some((name) => name.toLowerCase().includes(client))) &&
    words.every((word) => textOf(row).includes(word) || (row.at !== null && stamp(row.at).includes(word))));
}

// A rebalance is in a stretch of time when any part of it is.
function inTime(row) {
  if (view.from === null) return true;
  return row.at !== null && row.at / 1000 <= view.to && row.at / 1000 + (row.seconds || 0) * 1000 >= view.from;
}

// The incidents that a card stands for; a card is shown when one of their rebalances passes.
const incidentsOf = (card) => card.dataset.incidents.split(" ").map(Number);
const hasNoRows = (numbers) => numbers.every((number) => !(number in data.incidents));

function sorted(found) {
  const key = view.sort;
  const sign = view.down ? -1 : 1;
  const rank = (value) => (value === null ? Infinity : value);
  return found.sort((a, b) => sign * (rank(a[key]) < rank(b[key]) ? -1 : rank(a[key]) > rank(b[key]) ? 1 : 0) || a.place - b.place);
}

let kept = null; // the rebalances that pass, until a filter changes
const selected = () => (kept ??= passing());
