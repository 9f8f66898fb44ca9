// Everything on canvas. Colours come from the style sheet, so both themes work.

const JOINT_WINDOW_S = 10;
const PLAN_SHOWN_S = 1.5;
const CYCLE_WINDOW_S = 3;
const JOINT_GAP_S = 0.5;          // a longer silence is a gap in the line, not a straight line

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

/** Return a context in CSS pixels, cleared; null while the canvas has no size. */
function begin(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return null;
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
  return { context, width, height };
}

function line(context, points, style, { dash = [], width = 1.6 } = {}) {
  context.strokeStyle = style;
  context.lineWidth = width;
  context.lineJoin = 'round';
  context.setLineDash(dash);
  context.beginPath();
  let last = null;
  for (const point of points) {
    if (last === null || point.t - last > JOINT_GAP_S) context.moveTo(point.x, point.y);
    else context.lineTo(point.x, point.y);
    last = point.t;
  }
  context.stroke();
  context.setLineDash([]);
}

// ---- joints

const joints = new Map();

function jointFigure(name) {
  if (joints.has(name)) return joints.get(name);
  const body = document.querySelector('#joints .body');
  if (!joints.size) body.replaceChildren();
  const root = document.createElement('div');
  root.className = 'joint';
  const head = document.createElement('div');
  const label = document.createElement('b');
  const value = document.createElement('span');
  const canvas = document.createElement('canvas');
  label.textContent = name;
  head.append(label, value);
  root.append(head, canvas);
  body.append(root);
  const figure = { canvas, value };
  joints.set(name, figure);
  return figure;
}

export function drawJoints(samples, planEntry, now) {
  const series = new Map();      // joint -> { state: [[t, value]], command: ... }
  for (const sample of samples) {
    if (sample.t < now - JOINT_WINDOW_S) continue;
    sample.names.forEach((name, index) => {
      if (!series.has(name)) series.set(name, { state: [], command: [] });
      series.get(name)[sample.kind].push([sample.t, sample.values[index]]);
    });
  }
  for (const [name, values] of series) drawJoint(jointFigure(name), values, planOf(planEntry, name, now), now);
}

function planOf(entry, name, now) {
  const plan = entry?.value;
  const column = plan ? plan.names.indexOf(name) : -1;
  if (column < 0) return [];
  return plan.rows.map((row, index) => [plan.start + index * plan.dt, row[column]])
    .filter(([t]) => t >= now - 0.05 && t <= now + PLAN_SHOWN_S);
}

function drawJoint({ canvas, value }, { state, command }, plan, now) {
  const drawn = begin(canvas);
  if (!drawn) return;
  const { context, width, height } = drawn;
  const all = [...state, ...command, ...plan].map(([, number]) => number);
  const middle = (Math.max(...all) + Math.min(...all)) / 2;
  const span = Math.max(0.05, Math.max(...all) - Math.min(...all)) * 1.15;
  const right = width * JOINT_WINDOW_S / (JOINT_WINDOW_S + PLAN_SHOWN_S);
  const place = ([t, number]) => ({
    t, x: right + (t - now) * right / JOINT_WINDOW_S,
    y: height / 2 - (number - middle) / span * (height - 8) });
  context.fillStyle = colour('--wash');
  context.fillRect(0, 0, right, height);
  line(context, state.map(place), colour('--blue'));
  line(context, command.map(place), colour('--orange'));
  line(context, plan.map(place), colour('--plan'), { width: 1.6, dash: [3, 3] });
  context.fillStyle = colour('--soft');
  context.textBaseline = 'top';
  context.fillText((middle + span / 2).toFixed(2), 4, 3);
  context.textBaseline = 'bottom';
  context.fillText((middle - span / 2).toFixed(2), 4, height - 2);
  const newest = state.at(-1) ?? command.at(-1);
  value.textContent = newest ? newest[1].toFixed(3) : '';
}

// ---- cycles

export function drawTimeline(cycles, pieces, engineEntry, now) {
  const drawn = begin(document.getElementById('timeline'));
  if (!drawn) return;
  const { context, width, height } = drawn;
  const recent = pieces.filter((piece) => piece.end > now - CYCLE_WINDOW_S);
  const tasks = [...new Set(pieces.slice(-400).map((piece) => piece.task))].sort();
  const lanes = ['encode', 'act', ...tasks];
  const left = Math.min(90, 12 + Math.max(...lanes.map((lane) => context.measureText(lane).width)));
  const bottom = height - 18;
  const laneHeight = Math.min(38, bottom / lanes.length);
  const x = (t) => left + (t - now + CYCLE_WINDOW_S) / CYCLE_WINDOW_S * (width - left);
  axis(context, { left, width, bottom, height, now, x });
  context.textBaseline = 'middle';
  lanes.forEach((lane, index) => {
    context.fillStyle = colour('--soft');
    context.fillText(lane, 0, (index + 0.5) * laneHeight);
    context.fillStyle = colour('--wash');
    context.fillRect(left, index * laneHeight + 3, width - left, laneHeight - 6);
  });
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, bottom);
  context.clip();
  const bar = (lane, from, to, style) => {
    context.fillStyle = style;
    context.fillRect(x(from), lane * laneHeight + 3, Math.max(1.5, x(to) - x(from)), laneHeight - 6);
  };
  for (const cycle of cycles) {
    const acting = cycle.end - cycle.act;
    // From what was seen to the chunk: the age that the robot acts on.
    context.fillStyle = colour('--line');
    context.fillRect(x(cycle.observed), 0, 1, 2 * laneHeight);
    bar(0, acting - cycle.encode, acting, colour('--teal'));
    bar(1, acting, cycle.end, colour('--violet'));
  }
  const step = engineEntry?.value.decode_time_p50 ?? 0;
  for (const piece of recent) {
    bar(2 + tasks.indexOf(piece.task), piece.end - step, piece.end, colour(piece.final ? '--soft' : '--orange'));
  }
  context.restore();
}

function axis(context, { left, width, bottom, height, now, x }) {
  context.fillStyle = colour('--soft');
  context.textBaseline = 'bottom';
  for (let second = 0; second < CYCLE_WINDOW_S; second += 0.5) {
    const at = x(now - second);
    const text = second ? `−${second.toFixed(1)} s` : 'now';
    const half = context.measureText(text).width / 2;
    if (at - half > left) context.fillText(text, Math.min(at - half, width - 2 * half), height);
    context.fillRect(at, bottom, 1, 3);
  }
}

// ---- lateness

export function drawHistogram(entry) {
  const deadline = entry?.value;
  const drawn = deadline && begin(document.getElementById('histogram'));
  if (!drawn) return;
  const { context, width, height } = drawn;
  const counts = deadline.lateness_counts;
  const bottom = height - 16;
  const top = Math.log10(Math.max(10, ...counts) + 1);
  const step = width / Math.max(1, counts.length);
  counts.forEach((count, index) => {
    const tall = count ? Math.max(2, Math.log10(count + 1) / top * (bottom - 14)) : 0;
    const edge = deadline.lateness_edges[index] ?? Infinity;
    context.fillStyle = colour(edge <= 1e-3 ? '--good' : edge <= 1e-2 ? '--warn' : '--bad');
    context.fillRect(index * step + 1, bottom - tall, step - 2, tall);
    if (count) {
      context.fillStyle = colour('--soft');
      context.textBaseline = 'bottom';
      context.textAlign = 'center';
      context.fillText(short(count), (index + 0.5) * step, bottom - tall - 1);
      context.textAlign = 'left';
    }
  });
  context.fillStyle = colour('--line');
  context.fillRect(0, bottom, width, 1);
  context.fillStyle = colour('--soft');
  context.textBaseline = 'bottom';
  context.textAlign = 'center';
  for (const [edge, text] of [[1e-5, '10 µs'], [1e-4, '0.1 ms'], [1e-3, '1 ms'], [1e-2, '10 ms'], [1e-1, '100 ms']]) {
    const index = deadline.lateness_edges.findIndex((value) => Math.abs(value / edge - 1) < 0.01);
    if (index >= 0) context.fillText(text, Math.max(16, (index + 1) * step), height);
  }
  context.textAlign = 'left';
}

function short(count) {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 1e4 ? 1 : 0)}k`;
}

// ---- KV pool

const MOST_SQUARES = 400;

export function drawGrid(entry) {
  const engine = entry?.value;
  const drawn = engine && begin(document.getElementById('grid'));
  if (!drawn || !engine.kv_pages_total) return;
  const { context, width, height } = drawn;
  const squares = Math.min(MOST_SQUARES, engine.kv_pages_total);
  const used = Math.ceil(engine.kv_pages_used * squares / engine.kv_pages_total);
  const size = Math.min(18, Math.floor(Math.sqrt(width * height / squares)));
  const perRow = Math.max(1, Math.floor(width / size));
  for (let index = 0; index < squares; index += 1) {
    context.fillStyle = colour(index < used ? '--teal' : '--wash');
    context.fillRect((index % perRow) * size, Math.floor(index / perRow) * size, size - 2, size - 2);
  }
}
