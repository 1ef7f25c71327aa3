// One selection for the whole page: a model, and a class or a pair of classes. The hash of the address keeps it, so that a
// link leads to what somebody looks at.

const HASH_PARTS = { model: /^\d{1,7}$/, class: /^\d{1,7}$/, pair: /^\d{1,7},\d{1,7}$/ };

// What a hash selects; null for plain anchors such as #summary, and for what this page does not have.
function readSelection(hash, data) {
  const parts = {};
  for (const part of hash.replace(/^#/, "").replace(/%2C/gi, ",").split("&")) {
    const [key, value, ...more] = part.split("=");
    if (!Object.hasOwn(HASH_PARTS, key) || more.length || !HASH_PARTS[key].test(value ?? "") || key in parts) return null;
    parts[key] = value.split(",").map(Number);
  }
  const selected = { model: parts.model?.[0] ?? data.selected, pair: parts.pair ?? null, class: parts.class?.[0] ?? null };
  return isSelection(selected, data) ? selected : null;
}

function isSelection(selected, data) {
  const isClass = (c) => Number.isInteger(c) && c >= 0 && c < data.labels.length;
  const isPair = (pair) => pair.length === 2 && pair.every(isClass) && pair[0] !== pair[1];
  if (!Number.isInteger(selected.model) || selected.model < 0 || selected.model >= data.models.length) return false;
  if (selected.pair !== null && selected.class !== null) return false;
  return (selected.pair === null || isPair(selected.pair)) && (selected.class === null || isClass(selected.class));
}

function hashOf(selected) {
  const what = selected.pair ? `&pair=${selected.pair.join(",")}` : selected.class !== null ? `&class=${selected.class}` : "";
  return `#model=${selected.model}${what}`;
}

export function makeSelection(data) {
  let now = readSelection(location.hash, data) || { model: data.selected, pair: null, class: null };
  const callbacks = [];

  // Frames of notebooks may not change their address; there the selection works without.
  function keep() {
    const isPlain = now.model === data.selected && now.pair === null && now.class === null;
    if (isPlain && readSelection(location.hash, data) === null) return; // an anchor stays
    try {
      history.replaceState(null, "", location.href.split("#")[0] + (isPlain ? "" : hashOf(now)));
    } catch { /* as said */ }
  }

  function turnTo(next, { kept }) {
    if (hashOf(next) === hashOf(now)) return;
    const before = now;
    now = next;
    if (kept) keep();
    for (const callback of callbacks) callback({ ...now }, { ...before });
  }

  // A class takes the place of a pair and the other way round; null clears, what is not named stays.
  function set(change) {
    const next = { ...now, ...change };
    if (change.pair) next.class = change.class ?? null;
    else if (Number.isInteger(change.class)) next.pair = null;
    if (isSelection(next, data)) turnTo(next, { kept: true });
  }

  addEventListener("hashchange", () => {
    const next = readSelection(location.hash, data);
    if (next) turnTo(next, { kept: false });
  });
  document.addEventListener("keydown", (event) => {
    // There Escape empties a field, or closes a list.
    const isTyping = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && !event.defaultPrevented && !isTyping) set({ pair: null, class: null });
  });
  return { get: () => ({ ...now }), set, on: (callback) => callbacks.push(callback) };
}

export const isSamePair = (pair, other) => pair !== null && other !== null && pair[0] === other[0] && pair[1] === other[1];
