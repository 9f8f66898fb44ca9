// Play, pause and position of a recording; a live robot has none of it.

const player = document.getElementById('player');
const button = document.getElementById('play');
const slider = document.getElementById('position');
const time = document.getElementById('time');
let dragging = false;
let paused = false;

function clockText(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}

function ask(request) {
  return fetch('play', { method: 'POST', body: JSON.stringify(request) });
}

export function connectPlayer() {
  button.addEventListener('click', () => ask({ paused: !paused }));
  slider.addEventListener('input', () => { dragging = true; });
  slider.addEventListener('change', async () => {
    await ask({ position: Number(slider.value) });
    dragging = false;
  });
}

export function showPlayer(values) {
  const playing = values.player?.value;
  player.hidden = !playing;
  if (!playing) return;
  paused = playing.paused;
  button.textContent = paused ? 'Play' : 'Pause';
  slider.max = playing.duration;
  if (!dragging) slider.value = playing.position;
  time.textContent = `${clockText(playing.position)} of ${clockText(playing.duration)}`;
}
