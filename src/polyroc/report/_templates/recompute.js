// Costs -> curves for the cost explorer: in a worker if that may take long, else here.

import { openModels, resultOf } from "./fit.js";

const SLOW_CLASSES = 20; // of more classes a frame takes longer than a page may stand still

// `explorer` is data.explorer. Returned are
//   costs, prevalence    the last question, k x k by rows and k factors
//   set(costs, prevalence)   ask for all models' numbers; the newest question wins, and one is worked on at a time
//   settle()                 the same until the fit converges, as in the package
//   on(callback)             called with { settled, models: [{ auc, mean_auc, curve, mean_curve }] }
export function makeExplorer(explorer) {
  const k = explorer.classes.length, callbacks = [];
  const question = { costs: Float64Array.from(explorer.costs.flat()), prevalence: new Float64Array(k).fill(1) };
  let work = null; // made when somebody first asks
  let version = 0, isRest = false, isBusy = false;

  const tell = (settled, models) => {
    for (const callback of callbacks) callback({ settled, models });
  };

  // To rest, one model after the other: dragging on interrupts after the current one.
  async function answer(mine, rest) {
    const { costs, prevalence } = question, models = [];
    if (!rest) return work({ costs, prevalence, rest, only: null });
    for (let m = 0; m < explorer.models.length && mine === version; m++) {
      models.push(...(await work({ costs, prevalence, rest, only: m })));
    }
    return models;
  }

  async function next() {
    if (isBusy) return;
    isBusy = true;
    work ??= makeWork(explorer);
    try {
      for (let done = -1; done !== version; ) {
        const mine = version, rest = isRest, models = await answer(mine, rest);
        done = mine;
        // A frame is shown although there is a newer question; an unfinished rest is not.
        if (models.length === explorer.models.length) tell(rest && mine === version, models);
      }
    } finally {
      isBusy = false;
    }
  }

  function ask(rest) {
    isRest = rest;
    version += 1;
    next();
  }

  return {
    get costs() { return question.costs; },
    get prevalence() { return question.prevalence; },
    set(costs, prevalence) {
      question.costs = Float64Array.from(costs);
      question.prevalence = Float64Array.from(prevalence);
      ask(false);
    },
    settle() { ask(true); },
    on(callback) { callbacks.push(callback); },
  };
}

// A function from a question to a promise of its results.
function makeWork(explorer) {
  const isLong = explorer.classes.length > SLOW_CLASSES || explorer.models.length > 1;
  const here = workHere(explorer), worker = isLong ? openWorker() : null;
  return worker === null ? here : workThere(explorer, worker, here);
}

function openWorker() {
  const script = document.getElementById("fit");
  try {
    const address = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
    return new Worker(address);
  } catch {
    return null; // pages in some frames may not make any
  }
}

function workHere(explorer) {
  let models = null;
  return async ({ costs, prevalence, rest, only }) => {
    await new Promise((resolve) => setTimeout(resolve)); // what was dragged is drawn first
    models ??= openModels(explorer);
    const chosen = only === null ? models : [models[only]];
    return chosen.map((model) => resultOf(model, costs, prevalence, rest));
  };
}

// A worker that cannot be loaded says so later: then everything is done here.
function workThere(explorer, worker, here) {
  let waiting = null, hasFailed = false;
  worker.onmessage = ({ data: { results } }) => waiting.resolve(results);
  worker.onerror = (event) => {
    event.preventDefault();
    hasFailed = true;
    worker.terminate();
    if (waiting) waiting.resolve(here(waiting.question));
  };
  worker.postMessage({ explorer });
  return (question) => {
    if (hasFailed) return here(question);
    return new Promise((resolve) => {
      waiting = { question, resolve };
      worker.postMessage(question);
    });
  };
}
