// The connection to the server, the clock, and who draws what when.

import { drawGrid, drawHistogram, drawJoints, drawTimeline } from './plots.js';
import { showCameras, showDeadline, showDiagnostics, showFacts, showHeader, showPool, showRates,
         showWords } from './panels.js';
import { connectPlayer, showPlayer } from './player.js';

const KEPT_S = 30;
const DRAW_MS = 66;

// Everything there is to show; `values` are newest entries by key, the rest grows at its end.
const state = { run: '', number: 0, values: {}, samples: [], cycles: [], pieces: [], facts: [] };
const clock = { server: 0, at: 0 };
let stream = null;
let lastDraw = 0;

/** Time of the server, s, also between two of its messages. */
function now() {
  return clock.server + (performance.now() - clock.at) / 1000;
}

function take(update) {
  if (update.run !== state.run) {
    Object.assign(state, { run: update.run, values: {}, samples: [], cycles: [], pieces: [], facts: [] });
  }
  state.number = update.number;
  clock.server = update.now;
  clock.at = performance.now();
  Object.assign(state.values, update.values);
  for (const kind of ['samples', 'cycles', 'pieces', 'facts']) {
    if (update[kind]) state[kind].push(...update[kind]);
  }
  for (const kind of ['samples', 'cycles']) {
    const first = state[kind].findIndex((entry) => entry.t > update.now - KEPT_S);
    state[kind].splice(0, first < 0 ? state[kind].length : first);
  }
  state.pieces.splice(0, state.pieces.length - 3000);
  state.facts.splice(0, state.facts.length - 300);
  show(update);
}

function show(update) {
  const values = state.values;
  showCameras(values, now());
  showHeader(values, now());
  if (update.pieces) showWords(state.pieces);
  if (update.facts) showFacts(state.facts);
  if (update.values) {
    showDeadline(values);
    showPool(values);
    showRates(values);
    showDiagnostics(values);
    showPlayer(values);
  }
}

function connect() {
  stream = new EventSource(`events?run=${state.run}&since=${state.number}`);
  stream.onmessage = (event) => {
    document.getElementById('lost').hidden = true;
    take(JSON.parse(event.data));
  };
  stream.onerror = () => {
    document.getElementById('lost').hidden = false;
    stream.close();
    setTimeout(() => { if (!document.hidden) connect(); }, 1000);
  };
}

// A page that nobody sees costs the robot nothing.
document.addEventListener('visibilitychange', () => {
  stream.close();
  if (!document.hidden) connect();
});

document.getElementById('stop').addEventListener('click', async () => {
  const answer = document.getElementById('answer');
  answer.textContent = 'stopping ...';
  try {
    answer.textContent = await (await fetch('stop', { method: 'POST' })).text();
  } catch (error) {
    answer.textContent = `the server did not answer (${error.message}); stop the robot by other means`;
  }
});

function draw(time) {
  if (time - lastDraw >= DRAW_MS) {
    lastDraw = time;
    drawJoints(state.samples, state.values.plan, now());
    drawTimeline(state.cycles, state.pieces, state.values.engine, now());
    drawHistogram(state.values.deadline);
    drawGrid(state.values.engine);
  }
  requestAnimationFrame(draw);
}

connectPlayer();
connect();
requestAnimationFrame(draw);
