// Panels made of words and tables. Text from the robot is set as text, never as HTML.

const STOPPED_AFTER_S = 1.0;     // a camera without a new picture for this long
const ABSENT_AFTER_S = 3.5;      // a node reports once a second
const TEXTS_SHOWN = 3;
const ENGINE_STATES = ['starting', 'ready', 'hung', 'restarting', 'stopped', 'failed'];
const LEVELS = ['good', 'warn', 'bad', 'idle'];

const byId = (id) => document.getElementById(id);

function element(tag, text = '', className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function fill(parent, children) {
  parent.replaceChildren(...children);
}

export const ms = (seconds, digits = 0) => `${(seconds * 1e3).toFixed(digits)} ms`;

function figures(list, pairs) {
  fill(list, pairs.map(([name, text, title]) => {
    const pair = element('div');
    pair.title = title ?? '';
    pair.append(element('dt', name), element('dd', text));
    return pair;
  }));
}

// ---- header

export function showHeader(values, now) {
  const source = values.source?.value ?? {};
  byId('node').textContent = source.title ?? 'oxygen';
  document.title = `${source.title ?? 'oxygen'} · oxygen view`;
  byId('instruction').textContent = values.subtask?.value.text || values.instruction?.value || '';
  byId('stop').hidden = !source.can_stop;
  const heard = Math.max(values.deadline?.t ?? -1e9, values.diagnostics?.t ?? -1e9);
  const absent = now - heard > ABSENT_AFTER_S;
  for (const id of ['joints', 'cycles', 'deadline', 'pool', 'words']) byId(id).classList.toggle('old', absent);
  fill(byId('chips'), chips(values, absent).map(([text, level]) => element('li', text, level)));
}

function chips(values, absent) {
  const recorded = values.source?.value.mode === 'recording';
  if (absent) {
    const heard = values.deadline || values.diagnostics;
    return [recorded ? ['no status at this time', 'idle']
      : [heard ? 'node absent: it has stopped reporting' : 'node absent: not heard yet', 'bad']];
  }
  const made = recorded ? [['recording', 'idle']] : [];
  const node = (values.diagnostics?.value ?? []).find((part) => part.name.endsWith(': node'));
  if (node) made.push([node.values.state ?? node.message, node.level ? 'warn' : 'good']);
  const engine = values.engine?.value;
  if (engine) {
    made.push([`engine ${ENGINE_STATES[engine.state]}${engine.restarts ? `, ${engine.restarts} restarts` : ''}`,
               engine.state === 1 ? 'good' : engine.state === 5 ? 'bad' : 'warn']);
    if (!engine.trained) made.push(['random weights: motions and words mean nothing', 'warn']);
  }
  const deadline = values.deadline?.value;
  if (deadline?.verdict) {
    const cause = deadline.cause ? `: ${deadline.cause.replaceAll('_', ' ')}` : '';
    const level = { fresh: 'good', carried: 'good', fallback: 'warn', stopped: 'bad' }[deadline.verdict];
    made.push([`${deadline.verdict}${cause}`, level]);
  }
  return made;
}

// ---- cameras

const cameras = new Map();

export function showCameras(values, now) {
  const rates = values.rates?.value ?? {};
  const names = Object.keys(values).filter((key) => key.startsWith('camera ')).sort();
  for (const [key, figure] of cameras) {
    if (!names.includes(key)) { figure.root.remove(); cameras.delete(key); }
  }
  for (const key of names) {
    const figure = cameras.get(key) ?? addCamera(key);
    const entry = values[key];
    if (figure.t !== entry.t) {
      figure.t = entry.t;
      figure.image.src = `data:image/jpeg;base64,${entry.value.jpeg}`;
      figure.size.textContent = `${entry.value.width} × ${entry.value.height}`;
    }
    const age = now - entry.t;
    const stopped = age > STOPPED_AFTER_S;
    figure.root.classList.toggle('stopped', stopped);
    figure.badge.textContent = stopped ? `stopped, last picture ${age.toFixed(1)} s ago` : '';
    figure.rate.textContent = stopped ? '' : `${(rates[key.slice(7)] ?? 0).toFixed(0)} Hz`;
  }
}

function addCamera(key) {
  const figure = { root: element('figure'), image: new Image(), badge: element('div', '', 'badge'),
                   size: element('span'), rate: element('span', '', 'hz'), t: -1 };
  const view = element('div', '', 'view');
  const caption = element('figcaption');
  figure.root.dataset.camera = key.slice(7);
  figure.image.alt = `picture of camera ${key.slice(7)}`;
  view.append(figure.image, figure.badge);
  caption.append(element('b', key.slice(7)), figure.size, figure.rate);
  figure.root.append(view, caption);
  const body = byId('cameras').querySelector('.body');
  if (!cameras.size) body.replaceChildren();
  cameras.set(key, figure);
  body.append(figure.root);
  return figure;
}

// ---- words

export function showWords(pieces) {
  const texts = new Map();       // request -> text, in order of their first piece
  for (const piece of pieces) {
    const text = texts.get(piece.request_id) ?? { task: piece.task, text: piece.index ? '… ' : '' };
    text.text += piece.text;
    text.end = piece.final ? piece : null;
    if (piece.final && piece.full_text) text.text = piece.full_text;
    texts.set(piece.request_id, text);
  }
  const tasks = new Map();
  for (const text of texts.values()) tasks.set(text.task, [text, ...(tasks.get(text.task) ?? [])]);
  const columns = [...tasks].sort().map(([task, list]) => {
    const column = element('div', '', 'task');
    const title = element('h3', task);
    const last = list.find((text) => text.end);
    if (last) title.append(element('span', `first word after ${ms(last.end.time_to_first_token)}`));
    column.dataset.task = task;
    column.append(title, ...list.slice(0, TEXTS_SHOWN).map(textElement));
    return column;
  });
  fill(byId('words').querySelector('.body'), columns);
}

function textElement(text) {
  const made = element('p', text.text.trim(), text.end ? 'text done' : 'text running');
  if (text.end && !['eos', 'length', 'stop'].includes(text.end.reason)) {
    made.append(element('em', ` ${text.end.reason}${text.end.detail ? `: ${text.end.detail}` : ''}`));
  }
  return made;
}

// ---- facts

export function showFacts(facts) {
  const holding = new Map();       // thing -> its newest fact
  const older = [];
  for (const fact of [...facts].sort((a, b) => b.fact_id - a.fact_id)) {
    const thing = `${fact.subject}\n${fact.relation}`.toLowerCase();
    if (holding.has(thing) || fact.superseded) older.push(fact);
    else holding.set(thing, fact);
  }
  const rows = [...[...holding.values()].map((fact) => factRow(fact, '')),
                ...older.map((fact) => factRow(fact, 'superseded'))];
  const table = element('table');
  const head = element('tr');
  head.append(...['seen', 'thing', '', 'what'].map((name) => element('th', name)));
  table.append(head, ...rows);
  fill(byId('facts').querySelector('.body'), rows.length ? [table] : [element('p', 'No fact yet.', 'empty')]);
  byId('fact-count').textContent = `${holding.size} hold, ${older.length} superseded`;
}

function factRow(fact, className) {
  const row = element('tr', '', className);
  row.append(element('td', timeText(fact.stamp)), element('td', fact.subject),
             element('td', fact.relation), element('td', fact.object));
  return row;
}

function timeText(stamp) {
  return stamp > 1e9 ? new Date(stamp * 1e3).toTimeString().slice(0, 8) : `${stamp.toFixed(1)} s`;
}

// ---- figures of the engine and of the control timer

const VERDICTS = [['fresh', 'fresh', 'an action of the newest chunk'],
                  ['carried', 'carried', 'an action of an older chunk'],
                  ['fallback', 'fallback', 'no action was due: the fallback command'],
                  ['stopped', 'stopped-tick', 'told to stand still'],
                  ['missed', 'missed', 'no command: the timer woke up too late']];

export function showDeadline(values) {
  const deadline = values.deadline?.value;
  if (!deadline) return;
  const shown = VERDICTS.filter(([name]) => deadline[name] || name === 'fresh');
  fill(byId('verdicts'), shown.map(([name, className]) => {
    const part = element('i', '', className);
    part.style.flexGrow = deadline[name];
    return part;
  }));
  fill(byId('verdict-counts'), shown.map(([name, className, title]) => {
    const item = element('li');
    item.title = title;
    item.append(element('i', '', `dot ${className}`), element('b', String(deadline[name])), ` ${name}`);
    return item;
  }));
  byId('rate').textContent = `${deadline.rate.toFixed(0)} Hz, ${deadline.realtime_priority
    ? 'real-time priority' : 'normal priority'}`;
  const causes = deadline.causes.map((cause, index) => `${cause}: ${deadline.cause_counts[index]} ticks`);
  figures(byId('lateness'), [
    ['late, p50', ms(deadline.lateness_p50, 2)], ['p99', ms(deadline.lateness_p99, 2)],
    ['worst', ms(deadline.lateness_max, 1)], ['clamped', String(deadline.clamped), 'ticks changed by a limit']]);
  byId('verdict-counts').title = causes.join('\n');
}

export function showRates(values) {
  const engine = values.engine?.value;
  if (!engine) return;
  byId('rhythm').textContent = `${engine.token_rate.toFixed(0)} tokens/s, gap p50 ${ms(engine.token_gap_p50)}`
    + ` p99 ${ms(engine.token_gap_p99)}`;
  byId('replans').textContent = `${engine.replan_rate.toFixed(1)} replans/s, `
    + `${engine.action_frequency.toFixed(0)} actions/s`;
  const perFrame = engine.frames ? engine.encodes / engine.frames : 0;
  figures(byId('cycle-figures'), [
    ['encode', ms(engine.encode_time_p50), 'median'], ['act', ms(engine.denoise_time_p50), 'median'],
    ['decode step', ms(engine.decode_time_p50), 'median'],
    ['seen to chunk', `${ms(engine.action_latency_p50)}`, `p99 ${ms(engine.action_latency_p99)}`],
    ['encodes/frame', perFrame.toFixed(2), 'one look feeds actions and all texts']]);
}

export function showPool(values) {
  const engine = values.engine?.value;
  if (!engine) return;
  byId('pages').textContent = `${engine.kv_pages_used} of ${engine.kv_pages_total} pages`;
  figures(byId('pool-figures'), [
    ['frames kept', String(engine.kv_prefixes), 'encoded frames that an action or a text still reads'],
    ['texts inside', String(engine.kv_generations), 'texts with a place in the pool'],
    ['texts waiting', String(engine.texts_queued)],
    ['peak', bytes(engine.kv_bytes_peak)],
    ['copied', bytes(engine.kv_bytes_copied), 'bytes moved to form batches']]);
}

function bytes(count) {
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]) {
    if (count >= size) return `${(count / size).toFixed(1)} ${unit}`;
  }
  return `${count} B`;
}

export function showDiagnostics(values) {
  const parts = values.diagnostics?.value;
  if (!parts) return;
  fill(byId('diagnostics').querySelector('.body'), parts.map((part) => {
    const line = element('div');
    line.title = Object.entries(part.values).map(([key, value]) => `${key}: ${value}`).join('\n');
    line.append(element('i', '', `dot ${LEVELS[part.level] ?? 'idle'}`),
                element('b', part.name.split(': ').slice(1).join(': ') || part.name), part.message);
    return line;
  }));
}
