import type { Plot } from '../rows/finding.ts';

const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 20;
const TOP = 40;
const BOTTOM = 50;
const Y_STEPS = 5;
const COLOURS = ['#1f6feb', '#cf222e', '#1a7f37', '#9a6700'];

/** A line plot as SVG: x by powers of ten, y from zero. */
export function linePlot({ title, yLabel, series }: Plot): string {
  const xs = series.flatMap(({ points }) => points.map(([x]) => Math.log10(x)));
  const ys = series.flatMap(({ points }) => points.map(([, y]) => y)).filter(Number.isFinite);
  const [xMin, xMax] = [Math.floor(Math.min(...xs)), Math.ceil(Math.max(...xs))];
  const step = niceStep(Math.max(...ys, 0) / Y_STEPS);
  const yMax = step * Math.max(1, Math.ceil(Math.max(...ys, 0) / step));
  const toX = (x: number): number =>
    LEFT + ((Math.log10(x) - xMin) / Math.max(1, xMax - xMin)) * (WIDTH - LEFT - RIGHT);
  const toY = (y: number): number => HEIGHT - BOTTOM - (y / yMax) * (HEIGHT - TOP - BOTTOM);

  const parts: string[] = [];
  for (let y = 0; y <= yMax + step / 2; y += step) {
    parts.push(rule(LEFT, toY(y), WIDTH - RIGHT, toY(y)));
    parts.push(label(LEFT - 8, toY(y) + 4, 'end', String(Number(y.toPrecision(6)))));
  }
  for (let power = xMin; power <= xMax; power++) {
    parts.push(
      label(
        toX(10 ** power),
        HEIGHT - BOTTOM + 20,
        'middle',
        (10 ** power).toLocaleString('en-US'),
      ),
    );
  }
  for (const [index, { name, points }] of series.entries()) {
    const colour = COLOURS[index % COLOURS.length] ?? 'black';
    const seen = points.filter(([, y]) => Number.isFinite(y));
    const path = seen.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`);
    parts.push(
      `<polyline points="${path.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    );
    for (const at of path) {
      const [x = '', y = ''] = at.split(',');
      parts.push(`<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}"/>`);
    }
    if (series.length > 1) parts.push(label(WIDTH - RIGHT, TOP + 16 * index, 'end', name));
  }
  parts.push(label(WIDTH / 2, 22, 'middle', title));
  parts.push(label(WIDTH / 2, HEIGHT - 10, 'middle', 'turns in the store'));
  parts.push(label(LEFT - 8, TOP - 12, 'end', yLabel));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** 1, 2 or 5 times a power of ten, not below `step`. */
export function niceStep(step: number): number {
  if (step <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= step * 0.999) ?? 10);
}

function rule(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${x1}" y1="${y1.toFixed(1)}" x2="${x2}" y2="${y2.toFixed(1)}" stroke="#d0d7de"/>`;
}

function label(x: number, y: number, anchor: 'middle' | 'end', text: string): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${safe}</text>`;
}
