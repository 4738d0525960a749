
// ------------------------------------------------------------------ one rebalance: story, waterfall, evidence
const MARKED = ["group", "offender", "blocker", "words"];
const MARK_TITLES = ["the group", "who set it off", "who held it up", "what happened"];
const ROLES = { trigger: "set it off", joined: "joined", left: "left", blocker: "held the others up", leader: "leader", bystander: "" };

function fillDetail(holder, row, detail) {
  holder.append(make("div", { className: "story" }, ...detail.story.map((sentence) => make("p", { textContent: timed(sentence) }))));
  if (row.seconds > 0 || detail.members.length) {
    const picture = make("div", { className: "chart fall" });
    picture.setAttribute("role", "group");
    picture.setAttribute("aria-label", inWords(row, detail));
    holder.append(make("h3", { textContent: "Step by step" }), picture, membersOf(detail));
    whenPlotly.then(() => waterfall(picture, row, detail), () => picture.remove());
  }
  if (detail.said) holder.append(make("h3", { textContent: "The coordinator's words" }), make("p", { className: "log", textContent: detail.said }));
  const cause = data.causes[row.root] || data.causes[row.cause];
  if (cause.advice.length) holder.append(make("h3", { textContent: "What to do" }), adviceOf(cause));
  const key = make("p", { className: "key marks" }, ...MARKED.map((className, i) => make("mark", { className, textContent: MARK_TITLES[i] })));
  holder.append(make("h3", { textContent: `Evidence (${detail.evidence.length + detail.more} lines)` }), key, evidenceOf(detail));
  if (detail.proof) holder.append(proofOf(detail.proof));
  const link = make("a", { href: `#open=${encodeURIComponent(row.id)}`, textContent: `id ${row.id}` });
  holder.append(make("p", { className: "key" }, "Link to this rebalance: ", link));
}

const inWords = (row, { phases }) => ["initial delay", "waiting for members", "assignment"].map((name, i) => `${name} ${duration(phases[i])}`).join(", ");

function membersOf({ members }) {
  if (!members.length) return "";
  const list = members.map(([name, role, stays, delay]) => {
    const did = [ROLES[role] ?? role, delay === null ? (stays ? "" : "not there afterwards") : `back after ${duration(delay)}`].filter(Boolean).join(", ");
    return `${name}${did ? ` (${did})` : ""}`;
  });
  const inside = make("details", { className: "key" }, make("summary", { textContent: `The ${members.length === 1 ? "member" : `${members.length} members`} in words` }), make("p", { className: "log", textContent: list.join(", ") }));
  return inside;
}

// What the coordinator's model wrote beside the log, and how each cause fared; times are those of the page as it was written.
function proofOf(parts) {
  const inside = parts.map(([kind, text]) => (kind === "heading" ? make("h4", { textContent: text }) : make("p", { className: `proof ${kind}${kind === "line" ? " log" : ""}`, textContent: text })));
  return make("details", { className: "key" }, make("summary", { textContent: `Proof: the coordinator's model beside the log (times in ${data.zone})` }), ...inside);
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

function evidenceOf(detail) {
  const list = make("ol", { className: "evidence" });
  for (const [path, number, offset, shown, inferred, marked, raw] of detail.evidence) {
    const place = `${detail.paths[path]}:${number} (byte ${offset})`;
    const copy = make("button", { type: "button", className: "quiet small", textContent: "copy" });
    copy.setAttribute("aria-label", `Copy the line ${place}`);
    copy.addEventListener("click", () => copyText(`${place}\n${raw === undefined ? shown : raw}`, copy));
    const head = make("div", { className: "place" }, make("span", { className: "log", textContent: place }), copy);
    if (inferred) head.append(make("span", { className: "badge info", textContent: "implies it" }));
    list.append(make("li", {}, head, make("pre", {}, ...markedText(shown, marked))));
  }
  if (detail.more) list.append(make("li", { className: "key", textContent: `${detail.more} more lines are named by analyze --json.` }));
  return list;
}

// The words that the verdict stands on. Places count characters, of which some take two places in a text of this language.
function markedText(text, marked) {
  const wide = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const cut = (from, to) => (wide ? wide.slice(from, to).join("") : text.slice(from, to));
  const parts = [];
  let end = 0;
  for (let i = 0; i < marked.length; i += 3) {
    const [start, length, kind] = marked.slice(i, i + 3);
    parts.push(cut(end, start), make("mark", { className: MARKED[kind], textContent: cut(start, start + length) }));
    end = start + length;
  }
  return [...parts, cut(end)];
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

// A bar per step and member, in the order in which things happened; seconds since the trigger.
function waterfall(holder, row, detail) {
  const [delay, waiting, assignment] = detail.phases;
  const joined = delay + waiting;
  const colours = data.stepColours;
  const lanes = [];
  const bars = [];
  const dots = [];
  const lane = (name) => {
    const label = told(labelOf(name, holder.clientWidth < 600 ? 18 : 44), lanes);
    lanes.push(label);
    return label;
  };
  const bar = (y, from, to, colour, text, pattern = "") => bars.push({ y, from, to, colour, text, pattern });
  const trigger = lane("Trigger");
  dots.push({ y: trigger, x: 0, colour: colourOf(row.family), symbol: "diamond", text: row.title });
  if (delay > 0) bar(lane("Initial delay"), 0, delay, colours.delay, "expected waiting");
  for (const [name, role, stays, back] of detail.members.slice(0, WATERFALL_MAX)) {
    const y = lane(name + ({ blocker: " · held up", trigger: " · set it off", left: " · left" }[role] || ""));
    const colour = role === "blocker" ? colours.blocker : role === "trigger" ? colourOf(row.family) : colours.member;
    const did = ROLES[role] ? `${labelOf(name, 40)} ${ROLES[role]}` : labelOf(name, 40);
    if (back !== null) {
      bar(y, 0, Math.max(back, 0), colour, `${did}; back after ${duration(back)}`);
      dots.push({ y, x: Math.max(back, 0), colour, symbol: "circle", text: `${did}; back after ${duration(back)}` });
    } else if (stays || role === "blocker") {
      bar(y, 0, joined, colour, `${did}; ${stays ? "when it came back is not logged" : "it never came back"}`, "/");
    } else dots.push({ y, x: 0, colour, symbol: "triangle-left", text: `${did}; not there afterwards` });
  }
  if (waiting > 0) bar(lane("Waiting for members"), delay, joined, colours.waiting, "join phase");
  if (assignment > 0) bar(lane("Leader's assignment"), joined, joined + assignment, colours.assignment, "sync phase");
  const end = joined + assignment;
  const last = lane(row.outcome === "stable" ? "Stable" : `Ended: ${row.outcome}`);
  dots.push({ y: last, x: end, colour: colours.end, symbol: row.outcome === "stable" ? "star" : "x", text: `${row.outcome} after ${row.lasted}` });
  const traces = [
    {
      type: "bar", orientation: "h", y: bars.map((one) => one.y), base: bars.map((one) => one.from), x: bars.map((one) => one.to - one.from),
      marker: { color: bars.map((one) => one.colour), pattern: { shape: bars.map((one) => one.pattern), size: 5 } },
      customdata: bars.map((one) => `${one.text}, ${duration(one.to - one.from)}`), hovertemplate: "%{customdata}<extra></extra>", width: 0.5,
    },
    {
      type: "scatter", mode: "markers", y: dots.map((one) => one.y), x: dots.map((one) => one.x), cliponaxis: false,
      marker: { color: dots.map((one) => one.colour), symbol: dots.map((one) => one.symbol), size: 11, line: { width: 1, color: colours.outline } },
      customdata: dots.map((one) => one.text), hovertemplate: "%{customdata}<extra></extra>",
    },
  ];
  const layout = {
    showlegend: false, hovermode: "closest", height: 64 + 24 * lanes.length, margin: { l: 8, r: 20, t: 6, b: 40 }, barmode: "overlay",
    paper_bgcolor: colours.paper, plot_bgcolor: colours.paper,
    xaxis: { automargin: true, title: { text: "seconds since the trigger", font: { size: 12 } }, rangemode: "tozero" },
    yaxis: { automargin: true, type: "category", categoryorder: "array", categoryarray: [...lanes].reverse(), range: [-0.6, lanes.length - 0.4], ticklabelstandoff: 6 },
  };
  Plotly.newPlot(holder, traces, themed(layout), CONFIG);
}
const WATERFALL_MAX = 30;

// Plotly reads labels as markup of its own: the signs that it obeys are shown by look-alikes.
const LOOKALIKES = { "<": "‹", ">": "›", "&": "＆", $: "＄" };
const labelOf = (text, length) => shortened(text, length).replace(/[<>&$]/g, (sign) => LOOKALIKES[sign]);
const shortened = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
function told(label, taken) {
  let candidate = label;
  for (let number = 2; taken.includes(candidate); number++) candidate = `${label} (${number})`;
  return candidate;
}
