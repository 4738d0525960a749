
// ------------------------------------------------------------------ the states of groups at a moment
// A slider below the lanes says what each group's coordinator held at that moment: state, generation, members, rebalance.
const MOMENTS_SHOWN = 12;
const lanesAt = data.states.map(([cluster, group, differences, states, generations, members, inferred]) => {
  let at = 0;
  const times = differences.map((difference) => (at += difference));
  return { lane: `${cluster} ${group}`, group: data.words[group], times, states, generations, members, inferred };
}).filter((lane) => lane.times.length);
const rowsOfLane = Map.groupBy ? Map.groupBy(rows, (row) => row.lane) : new Map(lanesAt.map(({ lane }) => [lane, rows.filter((row) => row.lane === lane)]));

// The lanes that pass the filters, and the stretch that the slider covers, in microseconds.
function momentLanes() {
  const groups = isFiltered() ? new Set(selected().map((row) => row.lane)) : null;
  return lanesAt.filter((lane) => (!view.group || lane.group === view.group) && (!groups || groups.has(lane.lane)));
}
function momentSpan() {
  const [from, to] = view.from !== null ? [view.from, view.to] : data.span || [0, 0];
  return [from * 1000, to * 1000];
}

// The place of the last change at or before a time, -1 before the first.
function placeAt(times, at) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function stateText(lane, at) {
  const place = placeAt(lane.times, at);
  if (place < 0) return "not known yet";
  const parts = [data.words[lane.states[place]]];
  if (lane.generations[place] !== null) parts.push(`generation ${lane.generations[place]}`);
  if (lane.members[place] !== null) parts.push(lane.members[place] === 1 ? "1 member" : `${counted(lane.members[place])} members`);
  return `${parts.join(", ")}${lane.inferred[place] ? " (inferred)" : ""}, since ${stamp(lane.times[place])}`;
}

// The rebalance of a group that was going on then, as a button that opens it.
function goingOn(lane, at) {
  const row = (rowsOfLane.get(lane.lane) || []).find((one) => one.at !== null && one.at <= at && at < one.at + (one.seconds || 0) * 1e6);
  if (!row) return [];
  const waits = row.blockers.length ? `, waiting for ${row.blockers.join(" or ")}` : "";
  const button = make("button", { type: "button", className: "quiet small", textContent: `${row.title}${waits}` });
  button.addEventListener("click", () => reveal(row.id));
  return [" ", button];
}

function showMoment() {
  const holder = $("moment");
  if (!holder) return;
  const lanes = momentLanes();
  const [from, to] = momentSpan();
  holder.hidden = !lanes.length || from >= to;
  if (holder.hidden) return;
  const at = Math.min(Math.max(view.moment ?? to, from), to);
  $("moment-at").value = Math.round(((at - from) / (to - from)) * 1000);
  $("moment-time").textContent = fullTime(at);
  $("moment-at").setAttribute("aria-valuetext", fullTime(at));
  const shown = lanes.slice(0, MOMENTS_SHOWN).map((lane) => make("li", {}, make("strong", { textContent: lane.group }), `: ${stateText(lane, at)}`, ...goingOn(lane, at)));
  if (lanes.length > MOMENTS_SHOWN) shown.push(make("li", { textContent: `${counted(lanes.length - MOMENTS_SHOWN)} more groups; choose one above` }));
  $("moment-states").replaceChildren(...shown);
}

function moveMoment(at) {
  view.moment = Math.round(at);
  showMoment();
  writeAddress();
}

// To the nearest change of a state before (-1) or after (1) the moment.
function stepMoment(way) {
  const [from, to] = momentSpan();
  const now = view.moment ?? to;
  const near = momentLanes().map(({ times }) => times[way > 0 ? placeAt(times, now) + 1 : placeAt(times, now - 1)]);
  const known = near.filter((at) => at !== undefined && at >= from && at <= to);
  if (known.length) moveMoment(way > 0 ? Math.min(...known) : Math.max(...known));
}

if ($("moment")) {
  $("moment-at").addEventListener("input", (event) => {
    const [from, to] = momentSpan();
    moveMoment(from + ((to - from) * Number(event.target.value)) / 1000);
  });
  $("moment-before").addEventListener("click", () => stepMoment(-1));
  $("moment-after").addEventListener("click", () => stepMoment(1));
}
