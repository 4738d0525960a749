
// ------------------------------------------------------------------ charts
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Pictures keep the width that they are drawn with: this one fits A4 and Letter, upright, with usual margins.
const PAPER = 660;
const NARROW = 640;
const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { format: "png", scale: 2 } };
let printing = false;

const holders = [...document.querySelectorAll("[data-chart]")];
const stale = new Set(holders);
let plotlyThere;
let plotlyMissing;
const whenPlotly = new Promise((there, missing) => { plotlyThere = there; plotlyMissing = missing; });
whenPlotly.catch(() => {});

async function unpackPlotly() {
  document.head.append(make("script", { textContent: await inflate($("plotly").textContent) }));
  $("plotly").remove();
}

function themed(layout) {
  const copy = structuredClone(layout);
  const axis = { gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line") };
  copy.font = { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: colour("--ink") };
  copy.hoverlabel = { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left" };
  for (const name of Object.keys(copy)) if (/^[xy]axis\d*$/.test(name)) Object.assign(copy[name], axis);
  if (printing) Object.assign(copy, { width: PAPER, autosize: false });
  return copy;
}

// The points of a trace for which `keep` holds. Lists that run along the points are cut alike; all else stays.
function cutTrace(trace, keep) {
  const places = trace.y.map((_, place) => place).filter(keep);
  const cut = (value) => (Array.isArray(value) && value.length === trace.y.length ? places.map((place) => value[place]) : value);
  const copy = { ...trace, marker: trace.marker && { ...trace.marker, color: cut(trace.marker.color) } };
  for (const key of ["x", "y", "base", "width", "text", "customdata"]) if (key in copy) copy[key] = cut(copy[key]);
  return copy;
}

function placed(trace) {
  const key = trace.meta && trace.meta.times;
  const copy = { ...trace };
  if (key) copy[key] = trace[key].map((time) => wall(time));
  if (trace.customdata) copy.customdata = trace.customdata.map(([row, text]) => [row, timed(text)]);
  return copy;
}

// What of a chart passes the filters: lanes of the chosen group, points of the rebalances that pass.
function filtered(chart) {
  const passes = isFiltered() ? new Set(selected().map((row) => row.place)) : null;
  const groups = passes && new Set(selected().map((row) => row.lane));
  const chosen = (key) => key === null || ((!view.group || data.words[key[1]] === view.group) && (!passes || view.group || groups.has(key.join(" "))));
  let lanes = chart.lanes.filter(([, key]) => chosen(key)).map(([label]) => label);
  if (chart.bins) return heatOf(chart, lanes.slice(0, chart.lanesMax), passes);
  const candidates = new Set(lanes);
  const isRow = (about) => Array.isArray(about) && typeof about[0] === "number";
  let traces = chart.data.filter(isChosen).map((trace) => cutTrace(trace, (place) => {
    const about = trace.customdata && trace.customdata[place];
    return candidates.has(trace.y[place]) && (!passes || !isRow(about) || passes.has(about[0]));
  }));
  if (chart === data.charts.timeline) traces = thinned(chart, traces, lanes);
  const drawn = new Set(traces.flatMap((trace) => trace.y));
  lanes = lanes.filter((label) => drawn.has(label)).slice(0, chart.lanesMax);
  const shown = new Set(lanes);
  traces = traces.map((trace) => cutTrace(trace, (place) => shown.has(trace.y[place]))).filter((trace) => trace.y.length);
  return { lanes, traces };
}

// Of a picture of several configurations, what belongs to all or to the one that is chosen.
const configuration = $("configuration");
const isChosen = ({ meta }) => !meta || meta.configuration === undefined || meta.configuration === Number(configuration.value);

// More rebalances than this can't be told apart in one picture: strips show how many there are, until the reader zooms in.
const DENSE = 400;
const STRIPS = 160;

// The traces with strips in place of single rebalances, where these would hide each other. Strips count all that pass, also those never drawn.
function thinned(chart, traces, lanes) {
  const known = selected().filter((row) => row.at !== null);
  if (known.length <= DENSE || !data.span) return traces;
  const [from, to] = view.from !== null ? [view.from, view.to] : data.span;
  const width = (to - from) / STRIPS || 1;
  const labels = new Map(chart.lanes.filter(([label, key]) => key !== null && lanes.includes(label)).map(([label, key]) => [key.join(" "), label]));
  const counts = new Map();
  for (const row of known) {
    const place = Math.floor((row.at / 1000 - from) / width);
    if (!labels.has(row.lane) || place < 0 || place > STRIPS) continue;
    const line = counts.get(row.lane) || counts.set(row.lane, new Map()).get(row.lane);
    line.set(Math.min(place, STRIPS - 1), (line.get(Math.min(place, STRIPS - 1)) || 0) + 1);
  }
  const strips = [...counts].flatMap(([lane, line]) => [...line].map(([place, count]) => [labels.get(lane), from + place * width, count]));
  const most = Math.max(1, ...strips.map(([, , count]) => count));
  const density = {
    type: "bar", orientation: "h", name: "Rebalances, darker where there are more", meta: { times: "base" }, width: 0.62,
    y: strips.map(([label]) => label), base: strips.map(([, start]) => start), x: strips.map(() => width),
    text: strips.map(([, , count]) => count), textposition: "none",
    customdata: strips.map(([, , count]) => [null, count === 1 ? "1 rebalance" : `${count} rebalances; zoom in to see each`]),
    hovertemplate: "%{customdata[1]}<extra></extra>",
    marker: { color: strips.map(([, , count]) => between(colour("--heat-low"), colour("--heat-high"), most === 1 ? 1 : (count - 1) / (most - 1))), line: { width: 0 } },
  };
  return [...traces.filter((trace) => !trace.legendgroup), density];
}

// A colour between two that are given as #rrggbb.
function between(low, high, share) {
  const part = (text, place) => parseInt(text.slice(place, place + 2), 16);
  return `rgb(${[1, 3, 5].map((place) => Math.round(part(low, place) + (part(high, place) - part(low, place)) * share)).join(",")})`;
}

function heatOf(chart, lanes, passes) {
  const [first, width, count] = chart.bins;
  const [trace] = chart.data;
  let z = new Map(trace.y.map((label, place) => [label, trace.z[place]]));
  if (passes) {
    const labels = new Map(chart.lanes.map(([label, key]) => [key.join(" "), label]));
    z = new Map(lanes.map((label) => [label, Array(count).fill(null)]));
    for (const row of selected()) {
      const line = row.at !== null && z.get(labels.get(row.lane));
      if (line) line[Math.floor((row.at / 1000 - first) / width)] += 1;
    }
  }
  // From bottom to top, as the axis runs: plotly.js puts the numbers by position.
  const shown = lanes.filter((label) => z.get(label).some((number) => number)).reverse();
  const copy = { ...trace, y: shown, z: shown.map((label) => z.get(label)), colorscale: [[0, colour("--heat-low")], [1, colour("--heat-high")]] };
  if (count * shown.length <= 600) Object.assign(copy, { texttemplate: "%{z}", showscale: false });
  return { lanes: [...shown].reverse(), traces: shown.length ? [copy] : [] };
}

// Where there is little room, a lane is called by its group alone, and of a long name both ends stay.
function inShort(label) {
  const name = label.slice(label.lastIndexOf(" / ") + 1).replace(/^\/ /, "");
  return name.length > 18 ? `${name.slice(0, 8)}…${name.slice(-9)}` : name;
}

function prepared(holder) {
  const chart = data.charts[holder.dataset.chart];
  const { lanes, traces } = filtered(chart);
  const layout = themed(chart.layout);
  const narrow = (printing ? PAPER : holder.clientWidth) < NARROW;
  layout.height = chart.room + chart.laneHeight * Math.max(lanes.length, 2);
  Object.assign(layout.yaxis, { categoryarray: [...lanes].reverse(), range: [-0.6, lanes.length - 0.4] });
  if (narrow) {
    Object.assign(layout.yaxis, { tickmode: "array", tickvals: lanes, ticktext: lanes.map(inShort), tickfont: { size: 11 } });
    layout.height += 17 * new Set(traces.filter((trace) => trace.showlegend !== false && layout.showlegend !== false).map((trace) => trace.name)).size;
    if (layout.xaxis2) { layout.xaxis.domain = [0, 1]; delete layout.xaxis2; }
  } else if (lanes.length) Object.assign(layout.yaxis, { tickmode: "array", tickvals: lanes, ticktext: lanes });
  for (const name of ["xaxis", "xaxis2"]) {
    if (!layout[name] || layout[name].type !== "date") continue;
    layout[name].title = { text: `time (${zone})`, font: { size: 12 } };
    const range = view.from !== null ? [view.from, view.to] : holder.dataset.chart !== "coverage" && data.span;
    if (range) Object.assign(layout[name], { range: range.map(wall), autorange: false });
  }
  return { lanes, traces: traces.filter((trace) => layout.xaxis2 || trace.xaxis !== "x2").map(placed), layout };
}

function drawPicture(holder) {
  stale.delete(holder);
  const { lanes, traces, layout } = prepared(holder);
  const empty = holder.nextElementSibling;
  empty.hidden = lanes.length > 0;
  holder.hidden = !lanes.length;
  if (!lanes.length) return Promise.resolve();
  const first = !holder.classList.contains("js-plotly-plot");
  if (first) holder.replaceChildren();
  return Plotly.react(holder, traces, layout, CONFIG).then(() => { if (first) listen(holder); });
}

function listen(holder) {
  holder.on("plotly_click", (event) => {
    const about = event.points[0] && event.points[0].customdata;
    if (Array.isArray(about) && typeof about[0] === "number") reveal(rows[about[0]].id);
  });
  // To zoom into a stretch of time is to choose it: all else follows.
  holder.on("plotly_relayout", (change) => {
    const axis = ["xaxis2", "xaxis"].find((name) => `${name}.range[0]` in change || `${name}.autorange` in change);
    if (!axis || data.charts[holder.dataset.chart].layout[axis].type !== "date") return;
    const at = (place) => Math.round(unwall(Date.parse(`${String(change[`${axis}.range[${place}]`]).replace(" ", "T").slice(0, 23)}Z`)));
    Object.assign(view, change[`${axis}.autorange`] ? { from: null, to: null } : { from: at(0), to: at(1) });
    applyFilters();
  });
}

// Pictures in sight are drawn at once, the others when they come near or nothing else is to do.
const inSight = new Set();
const sight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) inSight.add(entry.target); else inSight.delete(entry.target);
    if (entry.isIntersecting && stale.has(entry.target)) whenPlotly.then(() => drawPicture(entry.target));
  }
}, { rootMargin: "300px 0px" });

function redraw() {
  for (const holder of holders) stale.add(holder);
  return whenPlotly.then(() => Promise.all([...inSight].map(drawPicture))).then(later).catch(() => {});
}

const idle = window.requestIdleCallback || ((then) => setTimeout(then, 50));
function later() {
  const [next] = stale;
  document.documentElement.dataset.drawn = next ? "no" : "yes";
  if (!next && !performance.getEntriesByName("drawn").length) performance.mark("drawn");
  if (next) idle(() => { if (stale.has(next)) drawPicture(next).then(later); else later(); }, { timeout: 1000 });
}

const drawAll = () => whenPlotly.then(() => Promise.all(holders.map(drawPicture))).then(later);

// Waterfalls of opened rebalances take the colours and the width of their surroundings too.
function rethemeWaterfalls() {
  for (const holder of document.querySelectorAll(".fall.js-plotly-plot")) {
    const { width, autosize, ...layout } = holder.layout;
    Plotly.react(holder, holder.data, themed({ ...layout, autosize: true }), CONFIG);
  }
}
