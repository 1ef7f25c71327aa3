// The table of pairs: sorted, searched and filled up from the columns that the page carries.

function ranks(labels) {
  const order = labels.map((_, i) => i).sort((a, b) => NAMES.compare(labels[a].text, labels[b].text));
  const rank = new Array(labels.length);
  order.forEach((label, place) => { rank[label] = place; });
  return rank;
}

function pairTable(data) {
  const table = document.getElementById("pairs");
  const body = table.tBodies[0];
  const more = document.getElementById("more");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const heads = [...table.tHead.querySelectorAll("th")];
  const rank = ranks(data.labels);
  const haystack = data.labels.map((name) => (name.whole || name.text).toLowerCase());
  const state = { key: "auc", rising: true, query: "", limit: data.first_rows, model: null };

  const value = {
    positive: (i) => rank[state.model.pairs.positive[i]],
    negative: (i) => rank[state.model.pairs.negative[i]],
    auc: (i) => state.model.pairs.auc[i],
    effect: (i) => state.model.pairs.effect[i],
    n_positive: (i) => data.counts[state.model.pairs.positive[i]],
    n_negative: (i) => data.counts[state.model.pairs.negative[i]],
  };

  function found() {
    const { positive, negative, auc } = state.model.pairs;
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (i, word) => haystack[positive[i]].includes(word) || haystack[negative[i]].includes(word);
    const rows = auc.map((_, i) => i).filter((i) => words.every((word) => has(i, word)));
    const of = value[state.key];
    const sign = state.rising ? 1 : -1;
    // Pairs come with the smallest area first, and stay so among equals.
    return rows.sort((a, b) => sign * (of(a) - of(b)) || a - b);
  }

  function rowElement(i) {
    const { positive, negative, auc, effect } = state.model.pairs;
    const row = document.createElement("tr");
    for (const label of [positive[i], negative[i]]) row.insertCell().append(nameElement(data.labels[label]));
    const counts = [value.n_positive(i), value.n_negative(i)].map((count) => count.toLocaleString("en"));
    for (const text of [areaText(auc[i]), effect[i].toFixed(3), ...counts]) {
      const cell = row.insertCell();
      cell.className = "number";
      cell.textContent = text;
    }
    return row;
  }

  function draw() {
    const rows = found();
    const first = rows.slice(0, state.limit);
    body.replaceChildren(...first.map(rowElement));
    say(rows, first);
  }

  function say(rows, first) {
    const all = rows.length.toLocaleString("en");
    const worst = state.key === "auc" && state.rising ? "the worst " : "";
    const match = state.query.trim() ? " that match" : "";
    const count = first.length.toLocaleString("en");
    const some = first.length < rows.length;
    shown.textContent = some ? `${worst}${count} of ${all} pairs${match}` : `${all} ${rows.length === 1 ? "pair" : "pairs"}${match}`;
    more.hidden = !some;
    more.textContent = `Show the other ${(rows.length - first.length).toLocaleString("en")}`;
    for (const head of heads) {
      if (head.dataset.key !== state.key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
    }
  }

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.dataset.title = head.textContent; // for paper
    button.addEventListener("click", () => {
      state.rising = head.dataset.key === state.key ? !state.rising : true;
      state.key = head.dataset.key;
      draw();
    });
    head.replaceChildren(button);
  }
  search.addEventListener("input", () => { state.query = search.value; state.limit = data.first_rows; draw(); });
  more.addEventListener("click", () => { state.limit = Infinity; draw(); table.closest(".box").focus(); });

  // The rows that the page comes with are those of the model it opens with.
  state.model = data.models[data.selected];
  say(state.model.pairs.auc, state.model.pairs.auc.slice(0, state.limit));
  return { show(model) { state.model = model; draw(); } };
}
