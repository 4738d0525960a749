// Everything that comes from logs enters the page by textContent or value; nothing here builds markup from text.

// ------------------------------------------------------------------ times, durations and shares as people read them
// Times are microseconds UTC. A wall clock is that time as if the zone's clock showed UTC: what date axes and ISO texts need.
let zone = "UTC";
const offsets = new Map();

function offsetOf(ms) {
  if (zone === "UTC") return 0;
  const quarter = Math.floor(ms / 900000); // zones change at full quarter hours only
  const key = `${zone} ${quarter}`;
  if (!offsets.has(key)) {
    const shown = Object.fromEntries(partsOf(quarter * 900000).map((part) => [part.type, part.value]));
    const clock = Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour % 24, shown.minute, shown.second);
    offsets.set(key, clock - quarter * 900000);
  }
  return offsets.get(key);
}

function partsOf(ms) {
  const form = { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", timeZoneName: "short" };
  return new Intl.DateTimeFormat("en-GB", form).formatToParts(ms);
}

const wall = (ms) => ms + offsetOf(ms);
const unwall = (clock) => clock - offsetOf(clock - offsetOf(clock));
const stamp = (us) => (us === null ? "–" : new Date(wall(us / 1000)).toISOString().slice(0, 23).replace("T", " "));

function zoneAt(us) {
  if (zone === "UTC") return "UTC";
  const minutes = offsetOf(us / 1000) / 60000;
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const offset = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  const name = partsOf(us / 1000).find((part) => part.type === "timeZoneName").value;
  return /^(GMT|UTC)?[+-]?[\d:]*$/.test(name) ? offset : `${name} (${offset})`;
}

const fullTime = (us) => `${stamp(us)} ${zoneAt(us)}`;
// Sentences of the report hold marks where a time stands, so that they can be told in any zone.
const timed = (text) => text.replace(/\u0001(-?\d+)\u0002/g, (_, us) => fullTime(Number(us)));

function span(from, to) {
  if (from === null || to === null) return (from ?? to) === null ? "at unknown times" : fullTime(from ?? to);
  const [first, last] = [stamp(from).slice(0, 19), stamp(to).slice(0, 19)];
  if (first === last) return `${first} ${zoneAt(to)}`;
  return `${first} to ${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last} ${zoneAt(to)}`;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  for (const [size, unit, smaller, smallerUnit] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / smaller);
    return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${smallerUnit}` : ""}`;
  }
  return `${whole} s`;
}

function share(value) {
  const percent = Math.round(value * 100);
  return `${value < 1 ? Math.min(percent, 99) : percent} %`;
}

const counted = (number) => number.toLocaleString("en");
