
// ------------------------------------------------------------------ what the page holds
const $ = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

async function inflate(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function unpackIndex() {
  try {
    return JSON.parse(await inflate($("index").textContent));
  } catch (problem) {
    document.body.prepend(make("p", { className: "empty", textContent: "This browser can't unpack the tables and pictures of this page. Its incidents can be read." }));
    throw problem;
  }
}

const data = await unpackIndex();
zone = data.zone;

// A row per rebalance, from the columns. `at` is null where the time is unknown.
const rows = (() => {
  const { rows: column, words } = data;
  let last = 0;
  return column.id.map((id, place) => {
    const difference = column.at[place];
    if (difference !== null) last += difference;
    const cause = words[column.cause[place]];
    const root = column.root[place] < 0 ? "" : words[column.root[place]];
    return {
      place, id, cause, root,
      at: difference === null ? null : last,
      cluster: words[column.cluster[place]],
      group: words[column.group[place]],
      topic: words[column.topic[place]],
      lane: `${column.cluster[place]} ${column.group[place]}`,
      generations: words[column.generations[place]],
      seconds: column.seconds[place],
      stopped: column.stopped[place],
      lasted: (column.least[place] && column.seconds[place] !== null ? "≥ " : "") + duration(column.seconds[place]),
      title: data.causes[cause].title,
      rootTitle: root && data.causes[root].title,
      family: data.causes[cause].family,
      expected: column.expected[place],
      confidence: column.confidence[place],
      who: column.who[place].map((word) => words[word]),
      blockers: column.blockers[place].map((word) => words[word]),
      outcome: words[column.outcome[place]],
    };
  });
})();
const byId = new Map(rows.map((row) => [row.id, row]));

// Stories and evidence lie in chunks, each unpacked when one of its rebalances is first opened.
const packs = [...document.querySelectorAll("script.chunk")];
const unpacked = new Map();
function detailOf(row) {
  const number = Math.floor(row.place / data.chunk);
  if (!unpacked.has(number)) unpacked.set(number, inflate(packs[number].textContent).then(JSON.parse));
  return unpacked.get(number).then((chunk) => {
    const [story, said, others, evidence, more, phases, members, proof] = chunk.rows[row.place % data.chunk];
    return { story, said, others, evidence, more, phases, members, proof, paths: chunk.paths };
  });
}
